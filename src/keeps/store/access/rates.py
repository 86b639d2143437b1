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
from typing import Any
from urllib.parse import quote

from keeps.base.cache.breaker import Breaker
from keeps.base.cache.redis import TIMEOUT_SECONDS
from keeps.base.scope import Scope
from keeps_client.errors import NotConfiguredError, RateLimitedError

WINDOW_SECONDS = 60.0
TENANT_SHARE = 20
"""A tenant's limit, as a multiple of a user's."""
_COUNT = """
local function count(key)
  local requests = redis.call('INCR', key)
  if requests == 1 then redis.call('PEXPIRE', key, ARGV[1]) end
  return requests, redis.call('PTTL', key)
end
local most, most_of_tenant = tonumber(ARGV[2]), tonumber(ARGV[3])
if tonumber(redis.call('GET', KEYS[2]) or '0') >= most_of_tenant then
  return {0, redis.call('PTTL', KEYS[2])}
end
local requests, milliseconds = count(KEYS[1])
if requests <= most then count(KEYS[2]) end
return {requests, milliseconds}
"""


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
            f"{self.MOST} sign-ins failed from this address; try again in {seconds} s",
            retry_after_seconds=seconds,
        )


class Windows:
    """Counts requests by key, in windows of a minute that begin with the first request."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def count(self, user: str, tenant: str, most: int, most_of_tenant: int) -> tuple[int, float]:
        """Count a request; return the requests in the user's window, and the seconds until it ends.

        A request over the tenant's limit is not counted, so that made-up users take no memory: it returns 0 and the
        seconds of the tenant's window. One over the user's limit does not count for the tenant.
        """
        now = time.monotonic()
        while self._windows and next(iter(self._windows.values()))[0] <= now:  # The oldest window is the first.
            self._windows.popitem(last=False)
        ends_at, requests = self._windows.get(tenant, (now, 0))
        if requests >= most_of_tenant:
            return 0, ends_at - now
        requests, seconds = self._count(user, now)
        if requests <= most:
            self._count(tenant, now)
        return requests, seconds

    def _count(self, key: str, now: float) -> tuple[int, float]:
        ends_at, requests = self._windows.get(key, (now + WINDOW_SECONDS, 0))
        self._windows[key] = ends_at, requests + 1
        return requests + 1, ends_at - now


class SharedWindows:
    """Windows in Redis, shared by several processes. Raises one of `errors` when Redis is away."""

    def __init__(self, redis_url: str) -> None:
        try:
            from redis.asyncio import Redis
            from redis.exceptions import RedisError
        except ImportError:
            raise NotConfiguredError("KEEPS_REDIS_URL needs the package redis: pip install 'keeps[redis]'") from None
        self._redis: Any = Redis.from_url(
            redis_url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
        )
        self.errors = (RedisError, OSError, TimeoutError)

    async def count(self, user: str, tenant: str, most: int, most_of_tenant: int) -> tuple[int, float]:
        """Count a request as `Windows.count` does."""
        keys = f"keeps:rate:{user}", f"keeps:rate:{tenant}"
        async with asyncio.timeout(TIMEOUT_SECONDS):
            requests, milliseconds = await self._redis.eval(
                _COUNT, 2, *keys, int(WINDOW_SECONDS * 1_000), most, most_of_tenant
            )
        return requests, milliseconds / 1_000

    async def close(self) -> None:
        await self._redis.aclose()


class Rates:
    """Limits the requests of users and of tenants in each minute.

    While Redis is away each process counts for itself.
    """

    def __init__(self, *, reads_per_minute: int, writes_per_minute: int, redis_url: str | None = None) -> None:
        self._limits = {"read": reads_per_minute, "write": writes_per_minute}
        self._own = Windows()
        self._shared = SharedWindows(redis_url) if redis_url else None
        self.breaker = Breaker()
        """Replaced by the breaker of the process's cache, which uses the same server."""

    async def close(self) -> None:
        if self._shared is not None:
            await self._shared.close()

    async def take(self, scope: Scope, kind: str) -> Allowance:
        """Count one request. Raises RateLimitedError when the user's or the tenant's minute is used up."""
        if self._shared is not None and not self.breaker.is_open():
            try:
                allowance = await self._take(self._shared, scope, kind)
            except self._shared.errors:
                self.breaker.failed()
            else:
                self.breaker.succeeded()
                return allowance
        return await self._take(self._own, scope, kind)

    async def _take(self, windows: Windows | SharedWindows, scope: Scope, kind: str) -> Allowance:
        limit = self._limits[kind]
        # A colon is quoted in ids, so that no two callers share a key.
        tenant = f"{kind}:{quote(scope.tenant_id, safe='')}"
        of_tenant = limit * TENANT_SHARE
        requests, seconds = await windows.count(f"{tenant}:{quote(scope.acting, safe='')}", tenant, limit, of_tenant)
        if requests == 0:
            raise _refusal("your tenant", kind, of_tenant, seconds)
        if requests > limit:
            raise _refusal("you", kind, limit, seconds)
        return Allowance(limit, limit - requests, max(1, math.ceil(seconds)))


def _refusal(whose: str, kind: str, limit: int, seconds: float) -> TooManyError:
    wait = max(1, math.ceil(seconds))
    return TooManyError(f"{whose} may {kind} {limit} times a minute; try again in {wait} s", Allowance(limit, 0, wait))
