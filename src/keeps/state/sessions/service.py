"""Sessions: create, get, list, update, delete."""

from __future__ import annotations

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor, write_cursor
from keeps.base.scope import Scope
from keeps.state.sessions import store
from keeps.store.db.answers import Answer, StoredAnswer, plain
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import Deleted, NewSession, Page, Session, SessionChange


async def _given(tx: Tx, found: JsonValue) -> Session:
    held = await store.get(tx, str(found))
    if held is None:
        raise NotFoundError(f"no session {found!r}")
    return held


SESSION: Answer[Session] = Answer(lambda made: StoredAnswer(made.session_id, [f"session:{made.session_id}"]), _given)
DONE = plain(bool)


class SessionService:
    """The conversations of a user."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock

    async def create(self, scope: Scope, new: NewSession) -> Session:
        """Store a new session. Raises ConflictError with the stored session if its id is taken."""
        session_id = new.session_id or str(new_id())

        write = self._introducer.writing(scope, SESSION)
        async for attempt in write:
            async with attempt as tx:
                now = self._clock()
                session = Session(
                    session_id=session_id,
                    tenant_id=scope.tenant_id,
                    user_id=scope.user_id,
                    agent_id=new.agent_id or scope.agent_id,
                    name=new.name,
                    metadata=new.metadata,
                    plan_count=0,
                    last_interaction=now,
                    last_activity=now,
                    version=1,
                    created_at=now,
                    updated_at=now,
                )
                if not await store.insert(tx, session):
                    stored = await self._held(tx, session_id)
                    raise ConflictError(
                        f"session {session_id!r} already exists",
                        current_version=stored.version,
                        current=stored.model_dump(mode="json"),
                    )
                write.result = session
        return write.result

    async def get(self, scope: Scope, session_id: str) -> Session:
        async with self._database.scoped(scope) as tx:
            return await self._held(tx, session_id)

    async def page(self, scope: Scope, ended: bool | None, limit: int, cursor: str | None) -> Page[Session]:
        """Return one page, newest first; with `ended` only sessions that have ended, or only those that have not."""
        after = read_cursor(cursor) if cursor else None
        async with self._database.scoped(scope) as tx:
            sessions, more = await store.page(tx, ended, after, limit)
        last = sessions[-1] if more else None
        return Page(items=sessions, next_cursor=write_cursor(last.created_at, last.session_id) if last else None)

    async def update(self, scope: Scope, session_id: str, change: SessionChange) -> Session:
        """Change the given fields. Raises ConflictError if the stored version is not `expected_version`."""
        write = self._database.writing(scope, SESSION)
        async for attempt in write:
            async with attempt as tx:
                stored = await self._held(tx, session_id)
                if change.expected_version not in (None, stored.version):
                    raise ConflictError(
                        f"session {session_id!r} has version {stored.version}, not {change.expected_version}",
                        current_version=stored.version,
                        current=stored.model_dump(mode="json"),
                    )
                now = self._clock()
                changes = {name: getattr(change, name) for name in change.model_fields_set - {"expected_version"}}
                moved = {
                    "version": stored.version + 1,
                    "updated_at": now,
                    "last_interaction": now,
                    "last_activity": now,
                }
                session = stored.model_copy(update=changes | moved)
                await store.replace(tx, session)
                write.result = session
        return write.result

    async def delete(self, scope: Scope, session_id: str) -> Deleted:
        write = self._database.writing(scope, DONE)
        async for attempt in write:
            async with attempt as tx:
                if not await store.delete(tx, session_id, self._clock()):
                    raise NotFoundError(f"no session {session_id!r}")
                write.result = True
        return Deleted(message=f"session {session_id!r} is deleted; its plans stay")

    async def _held(self, tx: Tx, session_id: str) -> Session:
        held = await store.get(tx, session_id)
        if held is None:
            raise NotFoundError(f"no session {session_id!r}")
        return held
