"""How often a user and a tenant may ask, in memory or shared in Redis."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from limits import RateLimitItemPerMinute
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from keeps.cache.breaker import Breaker
from keeps.cache.redis import TIMEOUT_SECONDS
from keeps.scope import Scope
from keeps_client.errors import NotConfiguredError, RateLimitedError

if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool


TENANT_SHARE = 20
"""A tenant may ask so many times as often as one of its users."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a minute, for the RateLimit headers."""

    limit: int
    remaining: int
    reset_seconds: int


class TooManyError(RateLimitedError):
    """A minute is used up; with what the RateLimit headers say."""

    def __init__(self, detail: str, allowance: Allowance) -> None:
        super().__init__(detail, retry_after_seconds=allowance.reset_seconds)
        self.allowance = allowance


class WrongCredentials:
    """Counts by address who sends credentials that open nothing: a guesser gets few tries."""

    MOST, SECONDS, ADDRESSES = 300, 60.0, 10_000

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def check(self, address: str) -> None:
        """Raises RateLimitedError for an address that was wrong too often within a minute."""
        since, count = self._counts.get(address, (0.0, 0))
        left = since + self.SECONDS - time.monotonic()
        if count >= self.MOST and left > 0:
            raise RateLimitedError(
                f"{count} wrong credentials came from this address; try again in {math.ceil(left)} s",
                retry_after_seconds=math.ceil(left),
            )

    def count(self, address: str) -> None:
        now = time.monotonic()
        since, count = self._counts.pop(address, (now, 0))
        self._counts[address] = (since, count + 1) if now - since < self.SECONDS else (now, 1)
        if len(self._counts) > self.ADDRESSES:
            self._counts.popitem(last=False)


class Rates:
    """Counts requests by user and by tenant, in windows of a minute. While Redis is away each process counts for
    itself."""

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
        """Replaced by that of the process's cache, which speaks to the same server."""
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
