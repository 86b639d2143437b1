"""Run the statements on sessions."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

from keeps.base.clock import new_id
from keeps.base.scope import Scope
from keeps.base.text.trust import origin_of
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import fetch_page
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import Note, Session, SessionNotes
from keeps_client.models.events import EventType

QUERIES = Statements("keeps.state.sessions")


async def get(tx: Tx, session_id: str) -> Session | None:
    row = await tx.fetch_row(QUERIES["session_get"], tx.scope.tenant_id, tx.scope.user_id, session_id)
    return None if row is None else session_from_row(row)


async def page(
    tx: Tx, ended: bool | None, after: tuple[datetime, str] | None, limit: int
) -> tuple[list[Session], bool]:
    """Return one page, newest first, and whether there are more."""
    created_at, session_id = after or (None, None)
    asked = (tx.scope.tenant_id, tx.scope.user_id, created_at, session_id, limit + 1, ended)
    kept, more = await fetch_page(tx, QUERIES["session_list"], *asked, limit=limit, columns=("metadata",))
    return [session_from_row(row) for row in kept], more


async def insert(tx: Tx, session: Session) -> bool:
    """Store a new session with its event. Return False if it already exists."""
    image = _image(session)
    if await tx.fetch_row(QUERIES["session_insert"], image) is None:
        return False
    await _log(tx, "session.created", session, image)
    return True


async def ensure(tx: Tx, session_id: str, now: datetime) -> None:
    """Create a session that is referred to, unless it exists."""
    await insert(
        tx,
        Session(
            session_id=session_id,
            tenant_id=tx.scope.tenant_id,
            user_id=tx.scope.user_id,
            agent_id=tx.scope.agent_id,
            metadata={},
            plan_count=0,
            last_interaction=now,
            last_activity=now,
            version=1,
            created_at=now,
            updated_at=now,
        ),
    )


async def replace(tx: Tx, session: Session) -> None:
    image = _image(session)
    await tx.execute(QUERIES["session_replace"], image)
    await _log(tx, "session.updated", session, image)


async def delete(tx: Tx, session_id: str, now: datetime) -> bool:
    """Delete a session and redact its events; its plans stay, without a session."""
    who = (tx.scope.tenant_id, tx.scope.user_id, session_id)
    plans = await tx.fetch(QUERIES["session_leave"], *who)
    if await tx.fetch_row(QUERIES["session_delete"], *who) is None:
        return False
    await tx.execute(QUERIES["session_redact"], session_id)
    agent = tx.scope.agent_id
    news = [
        NewEvent(new_id(), "plan.updated", row["plan_id"], now, "private", agent, {"plan": json.loads(row["image"])})
        for row in plans
    ]
    data = {"session_id": session_id}
    await events.append(tx, [*news, NewEvent(new_id(), "session.deleted", session_id, now, "private", agent, data)])
    return True


def session_from_row(row: Row) -> Session:
    values = dict(row)
    values["metadata"] = json.loads(values["metadata"])
    return Session.model_construct(last_interaction=values["last_activity"], **values)


def _image(session: Session) -> str:
    return session.model_dump_json(exclude={"plan_count", "last_activity"})


async def _log(tx: Tx, kind: EventType, session: Session, image: str) -> None:
    data = {"session": json.loads(image)}
    await events.append(
        tx, [NewEvent(new_id(), kind, session.session_id, session.updated_at, "private", tx.scope.agent_id, data)]
    )


async def get_notes(tx: Tx, session_id: str, now: datetime) -> SessionNotes | None:
    who = (tx.scope.tenant_id, tx.scope.user_id, session_id, notes_owner(tx.scope))
    row = await tx.fetch_row(QUERIES["session_notes_get"], *who, now)
    return None if row is None else SessionNotes.model_validate_json(row["notes"])


async def put_notes(tx: Tx, notes: SessionNotes, consolidate_at: datetime) -> None:
    who = (tx.scope.tenant_id, tx.scope.user_id, notes.session_id, notes_owner(tx.scope))
    await tx.execute(QUERIES["session_notes_put"], *who, notes.model_dump_json(), consolidate_at, notes.expires_at)


async def notes_due(tx: Tx, now: datetime, limit: int) -> list[tuple[str, SessionNotes]]:
    """Return the notes of ended or abandoned conversations that are not consolidated yet, each with its owner."""
    rows = await tx.fetch(QUERIES["session_notes_due"], tx.scope.tenant_id, tx.scope.user_id, now, limit)
    return [(row["agent_id"], SessionNotes.model_validate_json(row["notes"])) for row in rows]


async def notes_done(tx: Tx, notes: SessionNotes, agent_id: str, again_at: datetime | None = None) -> None:
    """Mark notes as consolidated, or with `again_at` as due later. Notes that have changed since are left alone."""
    who = (tx.scope.tenant_id, tx.scope.user_id, notes.session_id, agent_id)
    await tx.execute(QUERIES["session_notes_consolidated"], *who, notes.message_count, again_at)


async def messages(tx: Tx, session_id: str, limit: int, agent_id: str = "") -> list[tuple[UUID, Note]]:
    """Return the last messages of a conversation, oldest first, each with its memory id.

    `agent_id`: only messages of this agent.
    """
    who = (tx.scope.tenant_id, tx.scope.user_id, session_id)
    rows = await tx.fetch(QUERIES["session_messages"], *who, limit, agent_id)
    return [(row["memory_id"], note_from_row(row)) for row in reversed(rows)]


def note_from_row(row: Row) -> Note:
    """Return a message as a note."""
    own = origin_of(row["role"], row["source"], json.loads(row["metadata"])) == "own"
    return Note(
        kind="message", text=row["content"], role=(row["role"] or "user") if own else "tool", at=row["valid_from"]
    )


async def drop_notes(tx: Tx, session_id: str) -> None:
    """Delete notes derived from something forgotten. They are rebuilt on demand."""
    await tx.execute(QUERIES["session_notes_drop"], tx.scope.tenant_id, tx.scope.user_id, session_id)


async def derived_from(tx: Tx, memory_id: UUID, session_id: str | None) -> list[UUID]:
    """Return what was derived from a message: its facts, and the summaries of its conversation."""
    who = (tx.scope.tenant_id, tx.scope.user_id)
    rows = await tx.fetch(QUERIES["memories_derived_from"], *who, str(memory_id), session_id)
    return [row["memory_id"] for row in rows]


def notes_owner(scope: Scope) -> str:
    """Return the agent of an agent's token, which has its own notes of what it may see; empty for the user's."""
    return scope.bound_agent
