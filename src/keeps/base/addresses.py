"""Which addresses of the network are public: what callers name may reach no others."""

from __future__ import annotations

import ipaddress
import re

from yarl import URL

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NEVER = tuple(
    map(ipaddress.ip_network, ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10", "2001::/32", "5f00::/16"))
)
"""IPv4 inside IPv6 of old or translated, local NAT64, site-local, Teredo, segment routing: ways to a private address,
or to none."""


def host_of(url: str) -> str | None:
    """The host that an HTTP client will connect to, as it reads the URL: full-width digits are digits. None where the
    URL cannot be used."""
    try:
        parsed = URL(url)
        usable = parsed.scheme in ("http", "https") and parsed.user is None and parsed.port is not None
        host = parsed.host  # of `xn--<` it is read only now, and cannot be
    except ValueError:
        return None
    return host if usable and host and not set(host) & set(" \t/\\@") else None


def is_public(host: str) -> bool | None:
    """Whether an address is public; None for a name, which has to be resolved first."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        # What looks like a number, as in 127.1 or 0x7f000001, is read as an address by some, and is no name.
        numeric = re.fullmatch(r"[0-9.]+|0x[0-9a-f]+(\.[0-9a-fx]+)*\.?", host.lower()) is not None
        return False if numeric or host.lower().rstrip(".").endswith("localhost") else None
    if isinstance(address, ipaddress.IPv6Address):
        if any(address in network for network in _NEVER):
            return False
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return address.is_global and not address.is_multicast
