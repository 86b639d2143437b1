"""Transcripts: conversations word for word, as frameworks keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from keeps_client.memory.base import Doing
from keeps_client.models import Appended, AppState, Deleted, NewTranscriptEntry, Page, Transcript, TranscriptInfo
from keeps_client.models.transcripts import (
    APPEND_TO_TRANSCRIPT,
    CREATE_TRANSCRIPT,
    DELETE_TRANSCRIPT,
    GET_APP_STATE,
    GET_TRANSCRIPT,
    LIST_TRANSCRIPTS,
)


class Transcripts(Doing):
    """What was said and done, entry by entry, with the state that agents keep beside it. Not recalled."""

    async def create_transcript(
        self,
        app: str,
        *,
        transcript_id: str | None = None,
        agent_id: str | None = None,
        state: Mapping[str, object] | None = None,
        user_state: Mapping[str, object] | None = None,
        shared_state: Mapping[str, object] | None = None,
        at: datetime | None = None,
    ) -> Transcript:
        """Begin a transcript; without an id one is made. Raises ConflictError where the id is taken."""
        return await self._do(
            CREATE_TRANSCRIPT,
            app=app,
            transcript_id=transcript_id,
            agent_id=agent_id,
            state=state,
            user_state=user_state,
            shared_state=shared_state,
            at=at,
        )

    async def get_transcript(
        self,
        app: str,
        transcript_id: str,
        *,
        last: int | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Transcript:
        """A transcript with its entries, or only the last few, or those since a time. About 4 MiB at once: where
        `next_after` is set, ask again with it as `after`. Raises NotFoundError."""
        return await self._do(
            GET_TRANSCRIPT, app=app, transcript_id=transcript_id, last=last, since=since, after=after, limit=limit
        )

    async def append_to_transcript(
        self,
        app: str,
        transcript_id: str,
        entries: Sequence[NewTranscriptEntry] = (),
        *,
        state: Mapping[str, object] | None = None,
        user_state: Mapping[str, object] | None = None,
        shared_state: Mapping[str, object] | None = None,
        expected_version: int | None = None,
    ) -> Appended:
        """Append entries and set keys of states, together or not at all. Raises NotFoundError, and ConflictError where
        others wrote since `expected_version` was read."""
        return await self._do(
            APPEND_TO_TRANSCRIPT,
            app=app,
            transcript_id=transcript_id,
            entries=list(entries),
            state=state,
            user_state=user_state,
            shared_state=shared_state,
            expected_version=expected_version,
        )

    async def delete_transcript(self, app: str, transcript_id: str) -> Deleted:
        """Remove a transcript with its state, also from the log. Raises NotFoundError."""
        return await self._do(DELETE_TRANSCRIPT, app=app, transcript_id=transcript_id)

    async def list_transcripts(self, app: str, *, limit: int = 100, cursor: str | None = None) -> Page[TranscriptInfo]:
        """Transcripts in an app, without entries, a page at a time; the one that was left alone longest first."""
        return await self._do(LIST_TRANSCRIPTS, app=app, limit=limit, cursor=cursor)

    async def get_app_state(self, app: str) -> AppState:
        """What an app keeps for the user and for all its users, beside transcripts."""
        return await self._do(GET_APP_STATE, app=app)
