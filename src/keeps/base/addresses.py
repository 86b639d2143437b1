"""Public network addresses. URLs given by callers may not reach any other address."""

from __future__ import annotations

import ipaddress
import re

from yarl import URL

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NEVER = tuple(
    map(ipaddress.ip_network, ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10", "2001::/32", "5f00::/16"))
)
"""Ranges that lead to private addresses or nowhere.

Obsolete or translated IPv4 in IPv6, local NAT64, site-local, Teredo, and segment routing.
"""


def host_of(url: str) -> str | None:
    """Return the host that an HTTP client will connect to; None for an unusable URL.

    It is read as the client reads it: full-width digits count as digits.
    """
    try:
        parsed = URL(url)
        usable = parsed.scheme in ("http", "https") and parsed.user is None and parsed.port is not None
        host = parsed.host  # An invalid IDNA host such as `xn--<` raises only here.
    except ValueError:
        return None
    return host if usable and host and not set(host) & set(" \t/\\@") else None


def is_public(host: str) -> bool | None:
    """Return whether an address is public; None for a name, which must be resolved first."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        # Some resolvers read numbers such as 127.1 or 0x7f000001 as addresses, so they are never names.
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
