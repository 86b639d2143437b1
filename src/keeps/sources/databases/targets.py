"""Locations of databases, and whether they may be reached.

A name is resolved once, each address is checked, and the connection uses the checked address. Only public addresses and
those that the operator lists in KEEPS_DATABASES_ALLOW may be reached: networks, addresses, host names, and folders of
SQLite files. Keeps' own server is never queried, under any name: the process that connects compares what the server
says of itself (keeps.sources.databases.host).
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from keeps.base.addresses import is_public
from keeps.sources.databases.rules import Dialect
from keeps_client.errors import DatabaseFailedError, ForbiddenError, NotConfiguredError, ValidationFailedError

_DIALECTS: dict[str, Dialect] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "mysql": "mysql",
    "mariadb": "mysql",
}
_PORTS: dict[Dialect, int] = {"postgresql": 5_432, "sqlite": 0, "mysql": 3_306}
_TLS = ("disable", "prefer", "require", "verify-full")
PACKAGES = ("pymysql", "sqlalchemy", "sqlglot")
"""Packages of the extra `databases`."""
RESOLVE_SECONDS, RESOLVED_AT_ONCE = 5.0, 4


@dataclass(frozen=True, slots=True)
class Target:
    """A database: `host` and `port`, or for SQLite the file as `name`.

    It is displayed as `location`, without secrets.
    """

    dialect: Dialect
    name: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    tls: str = "prefer"

    @property
    def location(self) -> str:
        return self.name if self.dialect == "sqlite" else f"{self.host}:{self.port}/{self.name}"

    def job(self, address: str) -> dict[str, Any]:
        """Return the job for the process that connects."""
        names = ("dialect", "name", "host", "port", "user", "password", "tls")
        return {**{name: getattr(self, name) for name in names}, "address": address}


def check_packages() -> None:
    """Raise NotConfiguredError unless the extra `databases` is installed."""
    if any(find_spec(name) is None for name in PACKAGES):
        raise NotConfiguredError("databases need an extra: pip install 'keeps[databases]'")


def target_of(url: str) -> Target:
    """Parse a URL.

    Raises:
        NotConfiguredError: The extra `databases` is not installed.
        ValidationFailedError: The URL has mistakes. The message never repeats it, since it holds a password.
    """
    check_packages()
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        read = make_url(url)
    except (ArgumentError, ValueError):
        raise ValidationFailedError(
            "url is not a URL; write postgresql://user:password@host/database, mysql://… or sqlite:////folder/file.db"
        ) from None
    if any("\0" in str(each) for each in (read.database, read.host, read.username, read.password)):
        raise ValidationFailedError("url contains a NUL character")
    if read.port is not None and not 0 < read.port < 65_536:
        raise ValidationFailedError("url has an invalid port")
    dialect = _DIALECTS.get(read.drivername)
    if dialect is None:
        raise ValidationFailedError("url must start with postgresql://, mysql://, mariadb:// or sqlite://")
    options = dict(read.query)
    tls = str(options.pop("sslmode", "prefer"))
    if options or tls not in _TLS:
        raise ValidationFailedError(f"url accepts one option, sslmode, with one of {', '.join(_TLS)}")
    name = read.database or ""
    if dialect == "sqlite":
        if not name.startswith("/") or read.host:
            raise ValidationFailedError("a SQLite url needs an absolute path: sqlite:////folder/file.db")
        return Target(dialect, name)
    if not (read.host and read.username and name) or read.host.startswith("/"):
        raise ValidationFailedError("url needs a user, a host and a database: postgresql://user:password@host/database")
    return Target(dialect, name, read.host, read.port or _PORTS[dialect], read.username, str(read.password or ""), tls)


def _found(target: Target) -> list[Any]:
    return socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)


class Reach:
    """The locations that the operator allows."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._folders = [Path(item).resolve() for item in allowed if item.startswith("/")]
        # Threads of its own: names that resolve slowly block nothing else.
        self._resolving = ThreadPoolExecutor(RESOLVED_AT_ONCE, "keeps-resolve")
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        self._names: set[str] = set()
        for item in allowed:
            if item.startswith("/"):
                continue
            try:
                self._networks.append(ipaddress.ip_network(item))
            except ValueError:
                self._names.add(item.lower().rstrip("."))

    def close(self) -> None:
        self._resolving.shutdown(wait=False, cancel_futures=True)

    async def address(self, target: Target) -> str:
        """Return the address to connect to, or the file to open. Raises ForbiddenError if it may not be reached."""
        if target.dialect == "sqlite":
            return await asyncio.to_thread(self._file, target.name)
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                places = await asyncio.get_running_loop().run_in_executor(self._resolving, _found, target)
        except (OSError, UnicodeError, TimeoutError):
            raise DatabaseFailedError(f"the host {target.host!r} has no address", "connect") from None
        named = target.host.lower().rstrip(".") in self._names
        for _, _, _, _, place in places:
            address = str(place[0])
            if named or is_public(address) or self._allows(address):
                return address
        raise ForbiddenError(
            f"{target.host} is not a public address; the operator of this server can allow it in KEEPS_DATABASES_ALLOW"
        )

    def _allows(self, address: str) -> bool:
        held = ipaddress.ip_address(address.partition("%")[0])
        inner = held.ipv4_mapped if isinstance(held, ipaddress.IPv6Address) else None
        return any((inner or held) in each for each in self._networks)

    def _file(self, name: str) -> str:
        path = os.path.realpath(name)
        if not any(Path(path).is_relative_to(each) for each in self._folders):
            raise ForbiddenError(
                "SQLite files must be in a folder that the operator of this server lists in KEEPS_DATABASES_ALLOW"
            )
        if not os.path.isfile(path):
            raise DatabaseFailedError("there is no such SQLite file", "connect")
        return path
