"""The part of exchanges and session notes."""

from __future__ import annotations

from datetime import timedelta

from keeps.memory.conversations.batches import MessageBatches
from keeps.memory.conversations.consolidation import SessionConsolidation
from keeps.memory.conversations.service import ConversationService
from keeps.memory.memories.service import MemoryService
from keeps.part import Core, EndpointHandler, Job, Part, UserJob, serves
from keeps.state.sessions.service import SessionService
from keeps_client.models import conversations as api
from keeps_client.models import memories, sessions


def make(core: Core) -> None:
    core.add(
        ConversationService(
            core.database,
            core.introducer,
            core.get(MemoryService),
            core.get(SessionService),
            core.cache,
            core.clock,
            timedelta(hours=core.settings.session_hours),
        )
    )
    core.add(MessageBatches(core.introducer, core.get(MemoryService), core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service, batches = core.get(ConversationService), core.get(MessageBatches)
    return (
        serves(
            memories.REMEMBER_MANY,
            lambda s, _, b: batches.remember_many(s, b.items, index_now=b.index == "now", learn=b.learn),
        ),
        serves(api.STORE_EXCHANGE, lambda s, _, b: service.store(s, b)),
        serves(api.LOG_ACTIVITY, lambda s, _, b: service.log_activity(s, b)),
        serves(api.SESSION_NOTES, lambda s, p, _: service.notes(s, p.session_id)),
        serves(api.END_SESSION, lambda s, p, _: service.end(s, p.session_id)),
        serves(sessions.DELETE_SESSION, lambda s, p, _: service.delete_session(s, p.session_id)),
    )


def _consolidate_sessions(core: Core) -> UserJob:
    return SessionConsolidation(
        core.database,
        core.get(ConversationService),
        core.get(MemoryService),
        core.chat_for("sessions"),
    ).consolidate_user


PART = Part(
    "conversations", make, endpoints, jobs=(Job("sessions", timedelta(hours=1), _consolidate_sessions, undoable=True),)
)
