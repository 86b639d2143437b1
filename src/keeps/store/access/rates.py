"""Request rates of users and tenants, in memory or shared in Redis."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from limits import RateLimitItemPerMinute
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from keeps.base.cache.breaker import Breaker
from keeps.base.cache.redis import TIMEOUT_SECONDS
from keeps.base.scope import Scope
from keeps_client.errors import NotConfiguredError, RateLimitedError

if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool


TENANT_SHARE = 20
"""A tenant's limit, as a multiple of a user's."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The rest of a minute's requests, for the RateLimit headers."""

    limit: int
    remaining: int
    reset_seconds: int


class TooManyError(RateLimitedError):
    """A minute's requests are used up; has the values of the RateLimit headers."""

    def __init__(self, detail: str, allowance: Allowance) -> None:
        super().__init__(detail, retry_after_seconds=allowance.reset_seconds)
        self.allowance = allowance


class WrongCredentials:
    """Counts invalid credentials by address.

    A guesser gets few attempts; a caller with a valid credential is never refused.
    """

    MOST, SECONDS, ADDRESSES, CREDENTIALS = 300, 60.0, 10_000, 50_000
    LOOKUPS, LOOKUP_SECONDS = 2, 5.0
    """Unknown keys looked up at a time for all addresses over the limit, and the seconds that one lookup waits."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._counted: OrderedDict[tuple[str, bytes], float] = OrderedDict()
        self._lookups = asyncio.Semaphore(self.LOOKUPS)

    @asynccontextmanager
    async def lookup(self, address: str) -> AsyncGenerator[None]:
        """Hold a place while an unknown key is looked up.

        Raises RateLimitedError when an address over the limit floods it.
        """
        if not self._seconds_left(address):
            yield
            return
        try:
            async with asyncio.timeout(self.LOOKUP_SECONDS):
                await self._lookups.acquire()
        except TimeoutError:
            raise self._refusal(address) from None
        try:
            yield
        finally:
            self._lookups.release()

    def count(self, address: str, credential: str) -> None:
        """Count an invalid credential; its repeats within a minute count once.

        Raises RateLimitedError over the limit.
        """
        if self._seconds_left(address):
            raise self._refusal(address)
        now = time.monotonic()
        key = address, hashlib.sha256(credential.encode("utf-8", "replace")).digest()[:16]
        if now - self._counted.get(key, -math.inf) < self.SECONDS:
            return
        self._counted[key] = now
        self._counted.move_to_end(key)
        since, count = self._counts.pop(address, (now, 0))
        self._counts[address] = (since, count + 1) if now - since < self.SECONDS else (now, 1)
        if len(self._counts) > self.ADDRESSES:
            self._counts.popitem(last=False)
        if len(self._counted) > self.CREDENTIALS:
            self._counted.popitem(last=False)

    def _seconds_left(self, address: str) -> int:
        """Return the seconds for which an address stays over the limit; 0 if it is not."""
        since, count = self._counts.get(address, (0.0, 0))
        return max(0, math.ceil(since + self.SECONDS - time.monotonic())) if count >= self.MOST else 0

    def _refusal(self, address: str) -> RateLimitedError:
        seconds = max(1, self._seconds_left(address))
        return RateLimitedError(
            f"{self.MOST} wrong credentials came from this address; try again in {seconds} s",
            retry_after_seconds=seconds,
        )


class Rates:
    """Counts requests by user and by tenant, in windows of a minute.

    While Redis is away each process counts for itself.
    """

    def __init__(self, *, reads_per_minute: int, writes_per_minute: int, redis_url: str | None = None) -> None:
        self._redis = _connections(redis_url) if redis_url else None
        self._own = FixedWindowRateLimiter(storage_from_string("async+memory://"))  # pyright: ignore[reportArgumentType]
        options: dict[str, Any] = {"implementation": "redispy", "wrap_exceptions": True, "connection_pool": self._redis}
        self._shared = (
            FixedWindowRateLimiter(storage_from_string(f"async+{redis_url}", **options))  # pyright: ignore[reportArgumentType]
            if redis_url
            else None
        )
        self.breaker = Breaker()
        """Replaced by the breaker of the process's cache, which uses the same server."""
        self._items = {
            "read": (RateLimitItemPerMinute(reads_per_minute), RateLimitItemPerMinute(reads_per_minute * TENANT_SHARE)),
            "write": (
                RateLimitItemPerMinute(writes_per_minute),
                RateLimitItemPerMinute(writes_per_minute * TENANT_SHARE),
            ),
        }

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.disconnect()

    async def take(self, scope: Scope, kind: str) -> Allowance:
        """Count one request. Raises RateLimitedError when the user's or the tenant's minute is used up."""
        if self._shared is not None and not self.breaker.is_open():
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    allowance = await self._take(self._shared, scope, kind)
            except (StorageError, TimeoutError):
                self.breaker.failed()
            else:
                self.breaker.succeeded()
                return allowance
        return await self._take(self._own, scope, kind)

    async def _take(self, limiter: FixedWindowRateLimiter, scope: Scope, kind: str) -> Allowance:
        user, tenant = self._items[kind]
        # `limits` joins its parts with slashes, which an id may hold, too.
        tenant_id = quote(scope.tenant_id, safe="")
        who = (kind, tenant_id, quote(scope.user_id, safe=""))
        if not await limiter.hit(user, *who):
            raise await self._refusal(limiter, user, who, "you")
        if not await limiter.hit(tenant, kind, tenant_id):
            raise await self._refusal(limiter, tenant, (kind, tenant_id), "your tenant")
        stats = await limiter.get_window_stats(user, *who)
        return Allowance(user.amount, stats.remaining, max(1, math.ceil(stats.reset_time - time.time())))

    async def _refusal(
        self, limiter: FixedWindowRateLimiter, item: RateLimitItemPerMinute, who: tuple[str, ...], whose: str
    ) -> RateLimitedError:
        stats = await limiter.get_window_stats(item, *who)
        wait = max(1, math.ceil(stats.reset_time - time.time()))
        return TooManyError(
            f"{whose} may {who[0]} {item.amount} times a minute; try again in {wait} s", Allowance(item.amount, 0, wait)
        )


def _connections(redis_url: str) -> ConnectionPool:
    try:
        from redis.asyncio import ConnectionPool
    except ImportError:
        raise NotConfiguredError("KEEPS_REDIS_URL needs the package redis: pip install redis") from None
    return ConnectionPool.from_url(redis_url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
