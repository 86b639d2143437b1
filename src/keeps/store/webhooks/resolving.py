"""Resolves names to public addresses only. Imported on demand, since the HTTP client takes long to load."""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from keeps.base.addresses import is_public


class PublicResolver(AbstractResolver):
    """Resolves names, and omits every address that is not public."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the public addresses of a name. Raises OSError if there are none."""
        found = [each for each in await self._inner.resolve(host, port, family) if is_public(each["host"])]
        if not found:
            raise OSError(f"{host} has no public address")
        return found

    async def close(self) -> None:
        await self._inner.close()
