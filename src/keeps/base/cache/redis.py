"""Redis or Valkey as an optional cache in front of the database.

PostgreSQL holds the truth, so losing the cache loses no data. Each call has a time limit of a fraction of a second, and
after three failures in a row the cache is skipped for a while (one breaker per process). A value that could not be
updated while the cache was away must not be read later: each value carries an epoch, and the first caller that reaches
the cache again begins a new epoch.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from pydantic import JsonValue

from keeps.base.cache.breaker import Breaker
from keeps.base.clock import new_id
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import Metrics
from keeps_client.errors import NotConfiguredError

TIMEOUT_SECONDS = 0.25
EPOCH = "mem:epoch"
SESSIONS = "mem:session:"
DROPPED = "mem:dropped:"
DROPPED_SECONDS = 30
"""Seconds during which a dropped key accepts no value, since an earlier reader may still be about to write."""
_PUT = """
for at = 3, #KEYS do if redis.call('EXISTS', KEYS[at]) == 1 then return 0 end end
redis.call('SET', KEYS[1], ARGV[1], 'NX')
local epoch = redis.call('GET', KEYS[1])
local held = redis.call('GET', KEYS[2])
if held then
    held = cjson.decode(held)
    if held.epoch == epoch and held.version > tonumber(ARGV[2]) then return 0 end
end
redis.call('SET', KEYS[2], '{"epoch":"' .. epoch .. '","version":' .. ARGV[2] .. ',"value":' .. ARGV[4] .. '}', 'EX', ARGV[3])
return 1
"""


def session_key(tenant_id: str, user_id: str, session_id: str) -> str:
    """Return `mem:session:{tenant}:{user}/{session}`. The user is included because two users may use the same id."""
    return f"{SESSIONS}{quote(tenant_id, safe='')}:{quote(user_id, safe='')}/{quote(session_id, safe='')}"


def tenant_keys(tenant_id: str) -> str:
    """Return the common prefix of a tenant's keys."""
    return f"{SESSIONS}{quote(tenant_id, safe='')}:"


def _dropped(key: str) -> str:
    """Return the key that marks another key as dropped. It is hashed, so that it does not reveal the owner."""
    return DROPPED + hashlib.sha256(key.encode()).hexdigest()


def _prefixes(key: str) -> list[str]:
    """Return the key of a conversation, and the key prefixes of its user and its tenant.

    Names contain neither slash nor colon.
    """
    tenant = key[: key.index(":", len(SESSIONS)) + 1]
    return [key, key.rpartition("/")[0] + "/", tenant]


class RedisCache:
    """JSON documents by key. While the cache is away, every method behaves as if it were empty."""

    def __init__(self, url: str, metrics: Metrics) -> None:
        try:
            from redis.asyncio import Redis
            from redis.exceptions import RedisError
        except ImportError:
            raise NotConfiguredError("KEEPS_REDIS_URL needs the package redis: pip install 'keeps[redis]'") from None
        self._redis: Any = Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS, max_connections=64
        )
        self._errors = (RedisError, OSError, TimeoutError, asyncio.TimeoutError)
        self.breaker = Breaker()
        self._metrics = metrics
        self._missed = False
        """True after a failed write: cached values may be outdated."""

    async def get(self, key: str) -> dict[str, JsonValue] | None:
        values = await self._ask(lambda: self._redis.mget(EPOCH, key))
        document = json.loads(values[1]) if values and None not in values else None
        fresh = document is not None and document["epoch"] == values[0].decode()
        self._metrics.cache.labels("notes", "hit" if fresh else "miss").inc()
        return document["value"] if document is not None and fresh else None

    async def put(self, key: str, value: dict[str, object], version: int, kept: timedelta) -> None:
        """Store a document for `kept`, unless a higher version is already stored."""
        seconds = max(1, int(kept.total_seconds()))
        encoded = json.dumps(value)
        names = [EPOCH, key, *map(_dropped, _prefixes(key))]
        values = [str(new_id()), version, seconds, encoded]
        if await self._ask(lambda: self._redis.eval(_PUT, len(names), *names, *values)) is _AWAY:
            self._missed = True

    async def drop(self, key: str, *, all_below: bool = False) -> None:
        """Remove a value, and reject later writes of values that were read before.

        `all_below`: remove every key with this prefix.
        """
        if await self._ask(lambda: self._redis.set(_dropped(key), 1, ex=DROPPED_SECONDS)) is _AWAY:
            self._missed = True
        if not all_below:
            if await self._ask(lambda: self._redis.delete(key)) is _AWAY:
                self._missed = True
            return
        pattern, cursor = re.sub(r"([*?\[\]\\])", r"\\\1", key) + "*", 0
        while True:
            answer = await self._ask(lambda at=cursor: self._redis.scan(at, match=pattern, count=1_000))
            if answer is _AWAY:
                self._missed = True
                return
            cursor, keys = answer
            if keys and await self._ask(lambda names=keys: self._redis.delete(*names)) is _AWAY:
                self._missed = True
            if cursor == 0:
                return

    async def close(self) -> None:
        await self._redis.aclose()

    async def _ask(self, call: Callable[[], Awaitable[Any]]) -> Any:
        if self.breaker.is_open():
            return _AWAY
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                if self._missed:
                    await self._redis.set(EPOCH, str(new_id()))
                    self._missed = False
                answer = await call()
        except self._errors as error:
            self.breaker.failed()
            if self.breaker.is_open():
                log().warning("cache", error=type(error).__name__)
            return _AWAY
        self.breaker.succeeded()
        return answer


class _Away:
    """Returned instead of an answer while the cache is away."""

    def __bool__(self) -> bool:
        return False


_AWAY = _Away()
