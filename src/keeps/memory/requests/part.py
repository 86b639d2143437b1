"""The part of the log of requests."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from keeps.base.scope import Scope
from keeps.memory.requests import store
from keeps.memory.requests.buffer import RequestBuffer
from keeps.memory.requests.export import EXPORTS
from keeps.memory.requests.service import RequestService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.store.db.session import Database
from keeps_client.models import requests as api


def make(core: Core) -> None:
    days = core.settings.logged_days
    buffer = core.open(RequestBuffer(core.database, core.clock, enabled=days > 0))
    core.add(RequestService(core.database, buffer, core.clock))
    core.sweeps.append(partial(_forget, core.database, timedelta(days=days)))
    core.erasure_listeners.append(buffer.drop)


async def _forget(database: Database, kept: timedelta, scope: Scope, now: datetime) -> int:
    """Remove the user's old requests. They are no memories, so they are not counted."""
    async for attempt in database.writing(scope):
        async with attempt as tx:
            await store.forget(tx, now - kept)
    return 0


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(RequestService)
    return (
        serves(api.LIST_REQUESTS, lambda s, p, _: service.page(s, p)),
        serves(api.GET_REQUEST, lambda s, p, _: service.get(s, p.request_id, p.user_id)),
    )


PART = Part("requests", make, endpoints, exports=EXPORTS)
