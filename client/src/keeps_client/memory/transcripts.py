"""Transcripts: verbatim conversations, as agent frameworks store them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from keeps_client.memory.base import Doing
from keeps_client.models import (
    Appended,
    AppState,
    Deleted,
    NewTranscriptEntry,
    Page,
    RemovedEntry,
    Transcript,
    TranscriptInfo,
)
from keeps_client.models.transcripts import (
    APPEND_TO_TRANSCRIPT,
    CLEAR_TRANSCRIPT,
    CREATE_TRANSCRIPT,
    DELETE_TRANSCRIPT,
    GET_APP_STATE,
    GET_TRANSCRIPT,
    LIST_TRANSCRIPTS,
    REMOVE_LAST_ENTRY,
)


class Transcripts(Doing):
    """Verbatim conversations with the state that agents store with them. Recall does not search them."""

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
        """Create a transcript; without `transcript_id`, an id is generated. Raises ConflictError if the id is taken."""
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
        """Return a transcript with its entries, or only the last few, or those since a time.

        An answer has about 4 MiB: if `next_after` is set, call again with it as `after`. Raises NotFoundError.
        """
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
        create: bool = False,
    ) -> Appended:
        """Append entries and set keys of states, all or none.

        Args:
            expected_version: The version that was read; 0 if there was no transcript.
            create: Create the transcript if it does not exist.

        Raises:
            NotFoundError: There is no transcript, and `create` is false.
            ConflictError: Others wrote since `expected_version` was read.
        """
        return await self._do(
            APPEND_TO_TRANSCRIPT,
            app=app,
            transcript_id=transcript_id,
            entries=list(entries),
            state=state,
            user_state=user_state,
            shared_state=shared_state,
            expected_version=expected_version,
            create=create,
        )

    async def remove_last_entry(self, app: str, transcript_id: str) -> RemovedEntry:
        """Remove the last entry, also from the log, and return it. Concurrent callers get different entries.

        An interrupted call may have removed an entry, so it is never retried. Raises NotFoundError.
        """
        return await self._do(REMOVE_LAST_ENTRY, app=app, transcript_id=transcript_id)

    async def clear_transcript(self, app: str, transcript_id: str) -> Appended:
        """Remove all entries, also from the log; the transcript and its state stay. Raises NotFoundError."""
        return await self._do(CLEAR_TRANSCRIPT, app=app, transcript_id=transcript_id)

    async def delete_transcript(self, app: str, transcript_id: str) -> Deleted:
        """Remove a transcript with its state, also from the log. Raises NotFoundError."""
        return await self._do(DELETE_TRANSCRIPT, app=app, transcript_id=transcript_id)

    async def list_transcripts(self, app: str, *, limit: int = 100, cursor: str | None = None) -> Page[TranscriptInfo]:
        """Return transcripts in an app, without entries, a page at a time, least recently changed first."""
        return await self._do(LIST_TRANSCRIPTS, app=app, limit=limit, cursor=cursor)

    async def get_app_state(self, app: str) -> AppState:
        """Return the state of an app for the user and for all its users, outside transcripts."""
        return await self._do(GET_APP_STATE, app=app)
