"""Transcripts: create, read, append, delete. Concurrent appends lose no entry and no key."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor, read_name, write_cursor, write_name
from keeps.base.scope import Scope
from keeps.state.transcripts import store
from keeps.state.transcripts.store import OF_THE_USER, TranscriptRow
from keeps.state.working import store as working
from keeps.store.db.answers import Answer, StoredAnswer, plain
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import (
    Appended,
    AppState,
    Deleted,
    NewStates,
    NewTranscript,
    Page,
    RemovedEntry,
    Transcript,
    TranscriptChange,
    TranscriptInfo,
)
from keeps_client.models.transcripts import MAX_PART_BYTES, MAX_STATE_BYTES, TranscriptPart

DONE = plain(bool)


class TranscriptService:
    """Verbatim conversations, with the state that agents store with them."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock

    async def create(self, scope: Scope, app: str, new: NewTranscript) -> Transcript:
        """Create a transcript. Raises ConflictError if its id is taken."""
        transcript_id = new.transcript_id or str(new_id())
        answer: Answer[Transcript] = Answer(lambda made: _kept(app, made.transcript_id), self._given)
        write = self._introducer.writing(scope, answer)
        async for attempt in write:
            async with attempt as tx:
                row = self._begun(scope, app, transcript_id, new.agent_id, new.at)
                if not await store.insert(tx, row, self._clock()):
                    raise ConflictError(f"transcript {transcript_id!r} already exists; use another id")
                await self._put_states(tx, row, new)
                write.result = await self._whole(tx, row)
        return write.result

    async def get(self, scope: Scope, part: TranscriptPart) -> Transcript:
        """Return a transcript with a part of its entries. Raises NotFoundError."""
        async with self._database.scoped(scope) as tx:
            row = await _held(tx, part.app, part.transcript_id)
            entries = await store.entries(
                tx,
                part.app,
                part.transcript_id,
                after=part.after,
                since=part.since,
                last=part.last,
                limit=part.limit,
            )
            whole = await self._whole(tx, row)
        more = bool(entries) and entries[-1].position < row.entry_count
        return whole.model_copy(update={"entries": entries, "next_after": entries[-1].position if more else None})

    async def apps(self, scope: Scope, after: str, limit: int) -> list[str]:
        """Return the apps in which the user has transcripts, in order, after one of them."""
        async with self._database.scoped(scope) as tx:
            return await store.apps(tx, after, limit)

    async def page(self, scope: Scope, app: str, limit: int, cursor: str | None) -> Page[TranscriptInfo]:
        """Return one page, least recently changed first."""
        after = read_cursor(cursor) if cursor else None
        async with self._database.scoped(scope) as tx:
            found = await store.page(tx, app, after, limit + 1)
            infos, _ = await _infos(tx, app, found[:limit])
        last = infos[-1] if len(found) > len(infos) else None
        return Page(items=infos, next_cursor=write_cursor(last.updated_at, last.transcript_id) if last else None)

    async def page_of_all(self, scope: Scope, app: str, limit: int, cursor: str | None) -> Page[TranscriptInfo]:
        """Return one page of the transcripts of all users of the tenant. Each is read as its owner."""
        start, _, place = read_name(cursor).partition("\x1f") if cursor else ("", "", "")
        infos: list[TranscriptInfo] = []
        used = 0
        async with self._database.scoped(scope) as tx:
            for user_id in await store.owners(tx, app, start, limit + 1):
                await tx.become(Scope(scope.tenant_id, user_id))
                after = read_cursor(place) if place and user_id == start else None
                found = await store.page(tx, app, after, limit - len(infos) + 1)
                taken, used = await _infos(tx, app, found[: limit - len(infos)], user_state=True, used=used)
                infos += taken
                if len(found) > len(taken):
                    place = write_cursor(taken[-1].updated_at, taken[-1].transcript_id) if taken else ""
                    return Page(items=infos, next_cursor=write_name(f"{user_id}\x1f{place}"))
        return Page(items=infos)

    async def append(self, scope: Scope, app: str, transcript_id: str, change: TranscriptChange) -> Appended:
        """Append entries and set keys, all or none. An entry that is already stored unchanged is skipped.

        Raises:
            ConflictError: Others wrote since `expected_version`.
            NotFoundError: There is no such transcript.
        """
        answer: Answer[Appended] = Answer(
            lambda done: _kept(app, transcript_id, appended=done.appended), _appended_before
        )
        write = self._introducer.writing(scope, answer)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._append(tx, app, transcript_id, change)
        return write.result

    async def _append(self, tx: Tx, app: str, transcript_id: str, change: TranscriptChange) -> Appended:
        now = self._clock()
        row, begun = await self._held_or_begun(tx, app, transcript_id, change)
        known = await store.known(tx, app, transcript_id, change.entries) if change.entries else set[str]()
        new = [each for each in change.entries if each.entry_id not in known]
        if change.entries and not new:
            return _appended(row, 0)
        if not begun and change.expected_version not in (None, row.version):
            raise ConflictError(
                f"transcript {transcript_id!r} has version {row.version}, not {change.expected_version}: others"
                " appended to it; read it again",
                current_version=row.version,
            )
        await self._put_states(tx, row, change)
        await store.add_entries(tx, row, new, now)
        row = replace(
            row,
            entry_count=row.entry_count + len(new),
            version=row.version + 1,
            updated_at=(new[-1].at or now) if new else now,
        )
        await store.replace(tx, row, now)
        return _appended(row, len(new))

    async def remove_last_entry(self, scope: Scope, app: str, transcript_id: str) -> RemovedEntry:
        """Remove the last entry, also from the log, and return it. Raises NotFoundError."""
        answer: Answer[RemovedEntry] = Answer(
            lambda done: _kept(app, transcript_id, removed=done.entry.position if done.entry else 0), _removed_before
        )
        write = self._database.writing(scope, answer)
        async for attempt in write:
            async with attempt as tx:
                row = await _held(tx, app, transcript_id)
                last = await store.entries(tx, app, transcript_id, after=0, since=None, last=1, limit=1)
                if last:
                    row = await self._shortened(tx, row, row.entry_count - 1)
                write.result = RemovedEntry(
                    app=app,
                    transcript_id=transcript_id,
                    entry=last[0] if last else None,
                    entry_count=row.entry_count,
                    version=row.version,
                    updated_at=row.updated_at,
                )
        return write.result

    async def clear(self, scope: Scope, app: str, transcript_id: str) -> Appended:
        """Remove all entries, also from the log; the transcript and its state stay. Raises NotFoundError."""
        answer: Answer[Appended] = Answer(lambda _: _kept(app, transcript_id), _appended_before)
        write = self._database.writing(scope, answer)
        async for attempt in write:
            async with attempt as tx:
                row = await _held(tx, app, transcript_id)
                write.result = _appended(await self._shortened(tx, row, 0) if row.entry_count else row, 0)
        return write.result

    async def delete(self, scope: Scope, app: str, transcript_id: str) -> Deleted:
        """Remove a transcript with its state, also from the log. Raises NotFoundError."""
        write = self._database.writing(scope, DONE)
        async for attempt in write:
            async with attempt as tx:
                await store.delete(tx, await _held(tx, app, transcript_id), self._clock())
                write.result = True
        return Deleted(message=f"transcript {transcript_id!r} is deleted")

    async def state(self, scope: Scope, app: str) -> AppState:
        async with self._database.scoped(scope) as tx:
            found = await store.states(tx, app, [OF_THE_USER])
            return AppState(app=app, user_state=found[OF_THE_USER], shared_state=await self._shared(tx, app))

    def _begun(
        self, scope: Scope, app: str, transcript_id: str, agent_id: str | None, at: datetime | None
    ) -> TranscriptRow:
        began = at or self._clock()
        return TranscriptRow(
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            app=app,
            transcript_id=transcript_id,
            row_id=new_id(),
            agent_id=agent_id or scope.agent_id,
            entry_count=0,
            version=1,
            created_at=began,
            updated_at=began,
        )

    async def _held_or_begun(
        self, tx: Tx, app: str, transcript_id: str, change: TranscriptChange
    ) -> tuple[TranscriptRow, bool]:
        """Return the transcript to append to, and whether it was created here because it did not exist."""
        row = await store.get(tx, app, transcript_id)
        if row is not None:
            return row, False
        if not change.create or change.expected_version:
            raise _missing(app, transcript_id)
        row = self._begun(tx.scope, app, transcript_id, None, None)
        await store.insert(tx, row, row.created_at)
        return row, True

    async def _shortened(self, tx: Tx, row: TranscriptRow, entry_count: int) -> TranscriptRow:
        """Remove the entries after `entry_count`."""
        now = self._clock()
        await store.remove_entries(tx, row, entry_count, now)
        row = replace(row, entry_count=entry_count, version=row.version + 1, updated_at=now)
        await store.replace(tx, row, now)
        return row

    async def _put_states(self, tx: Tx, row: TranscriptRow, new: NewStates) -> None:
        now = self._clock()
        for transcript_id, values in ((row.transcript_id, new.state), (OF_THE_USER, new.user_state)):
            if values:
                agent_id = None if transcript_id == OF_THE_USER else row.agent_id
                await store.put_values(tx, row.app, transcript_id, values, now, agent_id)
                if (await store.sizes(tx, row.app, [transcript_id]))[transcript_id] > MAX_STATE_BYTES:
                    raise ValidationFailedError(
                        f"state: would be larger than {MAX_STATE_BYTES // 1024 // 1024} MiB in total; set less"
                    )
        for key, value in new.shared_state.items():
            await working.put(tx, _plan(row.app), key, value, expires_at=None, now=now, expected=None)

    async def _shared(self, tx: Tx, app: str) -> dict[str, JsonValue]:
        return await working.values(tx, _plan(app), self._clock())

    async def _whole(self, tx: Tx, row: TranscriptRow) -> Transcript:
        found = await store.states(tx, row.app, [row.transcript_id, OF_THE_USER])
        return Transcript.model_construct(
            **dict(row.info(found[row.transcript_id], found[OF_THE_USER])),
            shared_state=await self._shared(tx, row.app),
            entries=[],
        )

    async def _given(self, tx: Tx, kept: Any) -> Transcript:
        return await self._whole(tx, await _held(tx, kept["app"], kept["transcript_id"]))


async def _held(tx: Tx, app: str, transcript_id: str) -> TranscriptRow:
    row = await store.get(tx, app, transcript_id)
    if row is None:
        raise _missing(app, transcript_id)
    return row


def _missing(app: str, transcript_id: str) -> NotFoundError:
    return NotFoundError(f"no transcript {transcript_id!r} in the app {app!r}")


async def _infos(
    tx: Tx, app: str, rows: list[TranscriptRow], *, user_state: bool = False, used: int = 0
) -> tuple[list[TranscriptInfo], int]:
    """Return transcripts with their states, and the bytes used so far.

    At least one is returned, then as many as fit the limit of one answer.
    """
    more = [OF_THE_USER] if user_state and rows else []
    sizes = await store.sizes(tx, app, [*more, *(row.transcript_id for row in rows)])
    for count, row in enumerate(rows):
        size = 500 + sizes.get(row.transcript_id, 0) + sizes.get(OF_THE_USER, 0)
        if used and used + size > MAX_PART_BYTES:
            rows = rows[:count]
            break
        used += size
    found = await store.states(tx, app, [*more, *(row.transcript_id for row in rows)])
    return [row.info(found[row.transcript_id], found.get(OF_THE_USER)) for row in rows], used


def _appended(row: TranscriptRow, count: int) -> Appended:
    return Appended(
        app=row.app,
        transcript_id=row.transcript_id,
        entry_count=row.entry_count,
        appended=count,
        version=row.version,
        updated_at=row.updated_at,
    )


async def _appended_before(tx: Tx, stored: Any) -> Appended:
    """Return the answer to a repeated request, with the transcript as it is now."""
    row = await _held(tx, stored["app"], stored["transcript_id"])
    return _appended(row, int(stored.get("appended", 0)))


async def _removed_before(_tx: Tx, stored: Any) -> RemovedEntry:
    raise NotFoundError(f"this request already removed entry {stored['removed']}; its content is gone")


def _kept(app: str, transcript_id: str, **more: int) -> StoredAnswer:
    return StoredAnswer({"app": app, "transcript_id": transcript_id, **more}, [f"transcript:{app}\x1f{transcript_id}"])


def _plan(app: str) -> str:
    """Return the id of the plan whose keys all users of the app share."""
    return f"{working.OF_AN_APP}{app}"
