"""The part of the event log."""

from __future__ import annotations

from keeps.base.scope import Scope
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.store.events.feed import Feed
from keeps.store.events.service import EventService, split_names
from keeps_client.models import Event, proof
from keeps_client.models import events as api
from keeps_client.validation import event_types, memory_kinds


def make(core: Core) -> None:
    core.open(EventService(core.database, Feed(core.database), core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(EventService)

    async def page(scope: Scope, query: api.EventQuery, _: None) -> list[Event]:
        types, kinds = event_types(split_names(query.types)), memory_kinds(split_names(query.kinds))
        return await service.page(scope, after=query.after, types=types, kinds=kinds, limit=query.limit)

    return (
        serves(api.LIST_EVENTS, page),
        serves(api.VERIFY_EVENTS, lambda s, _, __: service.verify(s)),
        serves(proof.VERIFY_CHAIN, lambda s, _, b: service.verify_chain(s, b.anchors)),
        serves(proof.GET_CHAIN_HEAD, lambda s, _, __: service.chain_head(s)),
        serves(
            proof.LIST_EVENT_LINKS,
            lambda s, p, _: service.links(s, after=p.after, limit=p.limit, contents=p.contents),
        ),
        serves(api.REPLAY_EVENTS, lambda s, p, _: service.replay(s, p.until)),
        serves(api.RETIRE_EVENTS, lambda _, p, __: service.retire(p.older_than_days)),
    )


PART = Part("events", make, endpoints)
