"""ADK's session service: sessions with their events, and the state of sessions, users and apps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self, TypedDict

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic_core import PydanticSerializationError

from keeps.engine import Keeps
from keeps.integrations.owners import Owners, place_of
from keeps.integrations.storable import mended, storable_json
from keeps_client.checked import validated
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.memory.whole import Memory
from keeps_client.models import Appended, NewTranscriptEntry, Transcript, TranscriptInfo

_STALE = "The session has been modified in storage since it was loaded; get it again before you append more events."


class KeepsSessionService(BaseSessionService):
    """Sessions of ADK, stored event by event, separate for each user and app.

    Raises an error for an event that cannot be stored and for an unavailable database: a session without some of its
    events would be worse than one that stops.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        uri: The same, after a scheme, as ADK's command line passes it.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        tenant_id: str | None = None,
        token: str | None = None,
        uri: str | None = None,
        **_: Any,
    ) -> None:
        self._owners = Owners(place_of(keeps, uri), tenant_id=tenant_id, token=token)

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session. Raises AlreadyExistsError if the id is taken."""
        states = _states(state or {})
        session_id = (session_id or "").strip()
        try:
            made = await self._owners.ask(
                user_id, lambda memory: memory.create_transcript(app_name, transcript_id=session_id or None, **states)
            )
        except ConflictError:
            raise AlreadyExistsError(f"Session with id {session_id} already exists.") from None
        return _session(made, made.user_state, made.shared_state)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, or with those that `config` selects; None if there is no such session."""
        last = config.num_recent_events if config is not None else None
        after = config.after_timestamp if config is not None else None
        since = None if after is None else time_of(after, beyond=datetime.max.replace(tzinfo=UTC))

        async def read(memory: Memory, session_id: str) -> Session:
            part = await memory.get_transcript(app_name, session_id, last=last, since=since)
            session = _session(part, part.user_state, part.shared_state)
            _add_events(session, part)
            while part.next_after is not None:
                part = await memory.get_transcript(app_name, session_id, since=since, after=part.next_after)
                _add_events(session, part)
            return session

        for each in _spellings(session_id):
            with suppress(NotFoundError):
                return await self._owners.ask(user_id, lambda memory, each=each: read(memory, each))
        return None

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return sessions without events, least recently updated first.

        Without a user, the sessions of all users, for administrators.
        """
        infos = await self._owners.ask(user_id, lambda memory: _all(memory, app_name, of_all=user_id is None))
        beside = await self._owners.ask(user_id, lambda memory: memory.get_app_state(app_name))
        sessions = [
            _session(info, info.user_state if user_id is None else beside.user_state, beside.shared_state)
            for info in infos
        ]
        return ListSessionsResponse(
            sessions=sorted(sessions, key=lambda each: (each.last_update_time, each.user_id, each.id))
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erase a session with its events and its state. A missing session is no error."""
        for each in _spellings(session_id):
            with suppress(NotFoundError):
                await self._owners.ask(user_id, lambda memory, each=each: memory.delete_transcript(app_name, each))
                return

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user in all sessions of the app, without the prefix `user:`."""
        return (await self._owners.ask(user_id, lambda memory: memory.get_app_state(app_name))).user_state

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event and its changes of the state in one transaction, unless the event is already there.

        Raises:
            StaleSessionError: Another event was appended since the session was read.
            SessionNotFoundError: The session does not exist.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        states = _states(event.actions.state_delta if event.actions else {})
        at = time_of(event.timestamp) or datetime.now(UTC)
        told = _as_json(event)
        if not math.isfinite(event.timestamp):
            told["timestamp"] = at.timestamp()
        entry = validated(NewTranscriptEntry, {"entry_id": event.id, "at": at, "entry": told})

        async def append(memory: Memory) -> Appended:
            marker = session._storage_update_marker  # noqa: SLF001  made for session services
            version = int(marker) if marker is not None else await _version_of(memory, session)
            return await memory.append_to_transcript(
                session.app_name, session.id, [entry], **states, expected_version=version
            )

        try:
            done = await self._owners.ask(session.user_id, append)
        except ConflictError:
            raise StaleSessionError(_STALE) from None
        except NotFoundError:
            raise SessionNotFoundError(f"Session {session.id} not found.") from None
        if done.appended:
            _mark(session, done)
            self._commit_event_to_session(session, event)
        return event


async def _version_of(memory: Memory, session: Session) -> int:
    """Return the version of a session that has no mark, such as one that came as JSON.

    Raises StaleSessionError if the session lacks the last event.
    """
    stored = await memory.get_transcript(session.app_name, session.id, last=1)
    ids = [each.entry_id for each in stored.entries]
    if stored.updated_at.timestamp() > session.last_update_time and ids != [each.id for each in session.events[-1:]]:
        raise StaleSessionError(_STALE)
    return stored.version


async def _all(memory: Memory, app_name: str, *, of_all: bool) -> list[TranscriptInfo]:
    ask = memory.admin.list_transcripts if of_all else memory.list_transcripts
    page = await ask(app_name)
    transcripts = list(page)
    while page.next_cursor is not None:
        page = await ask(app_name, cursor=page.next_cursor)
        transcripts += page
    return transcripts


def time_of(timestamp: float, *, beyond: datetime | None = None) -> datetime | None:
    """Convert seconds to a time: `beyond` if it is later than any possible time, None if it is no time."""
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError):
        return beyond if timestamp > 0 else None


def _spellings(session_id: str) -> list[str]:
    """Return an id as earlier versions stored it, and stripped as in ADK's own services."""
    return [each for each in dict.fromkeys((session_id, session_id.strip())) if each.strip()]


def _as_json(event: Event) -> dict[str, Any]:
    try:
        dumped = event.model_dump(mode="json", exclude_none=True)
    except (PydanticSerializationError, UnicodeEncodeError):  # a lone surrogate
        dumped = Event.model_validate(mended(event.model_dump())).model_dump(mode="json", exclude_none=True)
    return storable_json(dumped)


class _States(TypedDict):
    state: dict[str, Any]
    user_state: dict[str, Any]
    shared_state: dict[str, Any]


def _states(given: Mapping[str, Any]) -> _States:
    """Sort keys by their prefix into the states of session, user and app; values that are no JSON become text."""
    states: _States = {"state": {}, "user_state": {}, "shared_state": {}}
    for key, value in given.items():
        key, plain = storable_json(key), storable_json(value)
        if key.startswith(State.APP_PREFIX):
            states["shared_state"][key.removeprefix(State.APP_PREFIX)] = plain
        elif key.startswith(State.USER_PREFIX):
            states["user_state"][key.removeprefix(State.USER_PREFIX)] = plain
        elif not key.startswith(State.TEMP_PREFIX):
            states["state"][key] = plain
    return states


def _session(info: TranscriptInfo, user_state: Mapping[str, Any] | None, shared_state: Mapping[str, Any]) -> Session:
    state: dict[str, Any] = dict(info.state)
    state |= {State.APP_PREFIX + key: value for key, value in shared_state.items()}
    state |= {State.USER_PREFIX + key: value for key, value in (user_state or {}).items()}
    session = Session(app_name=info.app, user_id=info.user_id, id=info.transcript_id, state=state)
    _mark(session, info)
    return session


def _mark(session: Session, stored: TranscriptInfo | Appended) -> None:
    session.last_update_time = stored.updated_at.timestamp()
    session._storage_update_marker = str(stored.version)  # noqa: SLF001  made for session services


def _add_events(session: Session, part: Transcript) -> None:
    session.events += [Event.model_validate(each.entry) for each in part.entries]
