"""How often a user and a tenant may ask, in memory or shared in Redis."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from limits import RateLimitItemPerMinute
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from keeps.scope import Scope
from keeps_client.errors import NotConfiguredError, RateLimitedError, UnavailableError

TENANT_SHARE = 20
"""A tenant may ask so many times as often as one of its users."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a minute, for the RateLimit headers."""

    limit: int
    remaining: int
    reset_seconds: int


class Rates:
    """Counts requests by user and by tenant, in windows of a minute."""

    def __init__(self, *, reads_per_minute: int, writes_per_minute: int, redis_url: str | None = None) -> None:
        self._redis = _connections(redis_url) if redis_url else None
        options: dict[str, Any] = {"implementation": "redispy", "wrap_exceptions": True, "connection_pool": self._redis}
        storage = (
            storage_from_string(f"async+{redis_url}", **options)
            if redis_url
            else storage_from_string("async+memory://")
        )
        self._limiter = FixedWindowRateLimiter(storage)  # pyright: ignore[reportArgumentType]
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
        user, tenant = self._items[kind]
        # `limits` joins its parts with slashes, which an id may hold, too.
        tenant_id = quote(scope.tenant_id, safe="")
        who = (kind, tenant_id, quote(scope.user_id, safe=""))
        try:
            if not await self._limiter.hit(user, *who):
                raise await self._refusal(user, who, "you")
            if not await self._limiter.hit(tenant, kind, tenant_id):
                raise await self._refusal(tenant, (kind, tenant_id), "your tenant")
            stats = await self._limiter.get_window_stats(user, *who)
        except StorageError as error:
            raise UnavailableError("the rate limiter's Redis cannot be reached; try again") from error
        return Allowance(user.amount, stats.remaining, max(1, math.ceil(stats.reset_time - time.time())))

    async def _refusal(self, item: RateLimitItemPerMinute, who: tuple[str, ...], whose: str) -> RateLimitedError:
        stats = await self._limiter.get_window_stats(item, *who)
        wait = max(1, math.ceil(stats.reset_time - time.time()))
        return RateLimitedError(
            f"{whose} may {who[0]} {item.amount} times a minute; try again in {wait} s", retry_after_seconds=wait
        )


def _connections(redis_url: str) -> Any:
    try:
        from redis.asyncio import ConnectionPool
    except ImportError:
        raise NotConfiguredError("KEEPS_REDIS_URL needs the package redis: pip install redis") from None
    return ConnectionPool.from_url(redis_url)
