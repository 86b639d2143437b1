"""The client's address and scheme behind trusted proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from starlette.types import Scope

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPV6_PREFIX = 64
"""Prefix bits of an IPv6 address that one customer shares; the customer chooses the rest."""


class TrustedProxies:
    """The networks of KEEPS_TRUSTED_PROXIES. X-Forwarded headers of other senders are ignored."""

    def __init__(self, networks: Sequence[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(each, strict=False) for each in networks]

    def client(self, scope: Scope) -> str:
        """Return the address that invalid credentials count for: the nearest that is not a trusted proxy.

        An IPv6 address counts with its whole /64 network.
        """
        peer = (scope.get("client") or ("", 0))[0]
        nearest = _address(peer)
        if nearest is None:
            return peer
        if self._trusted(nearest):
            for hop in reversed(_values(scope, b"x-forwarded-for")):
                if not self._trusted(nearest) or (address := _address(hop)) is None:
                    break
                nearest = address
        return _counted_as(nearest)

    def scheme(self, scope: Scope) -> str:
        """Return the scheme that the client used, `https` or `http`, as the nearest trusted proxy reports it."""
        peer = _address((scope.get("client") or ("", 0))[0])
        said = _values(scope, b"x-forwarded-proto")
        if peer is not None and self._trusted(peer) and said and said[-1] in ("http", "https"):
            return said[-1]
        return "https" if scope.get("scheme") == "https" else "http"

    def _trusted(self, address: _Address) -> bool:
        return any(address in network for network in self._networks)


def _values(scope: Scope, wanted: bytes) -> list[str]:
    """Return the values of a header that lists them, over all its lines."""
    lines = (value.decode("latin-1") for name, value in scope["headers"] if name == wanted)
    return [each.strip() for each in ",".join(lines).split(",") if each.strip()]


@lru_cache(maxsize=4_096)
def _counted_as(address: _Address) -> str:
    if address.version == 6:
        return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)


@lru_cache(maxsize=4_096)
def _address(text: str) -> _Address | None:
    """Parse an address as proxies write it: bare, in brackets, or with a port. IPv4 within IPv6 becomes IPv4."""
    host = text.strip('"')
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
