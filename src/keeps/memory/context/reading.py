"""Read what a context shows besides what its question finds: by one statement, as the user who asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from keeps.base.scope import Scope
from keeps.memory.conversations.service import REBUILT_FROM
from keeps.memory.memories.store import JSON_COLUMNS
from keeps.memory.memories.types import MEMORY
from keeps.store.db.session import Database, Row
from keeps.store.db.size_limits import MOST_WHOLE, check_whole
from keeps.store.db.statements import Statements
from keeps_client.errors import PayloadTooLargeError
from keeps_client.models import ContextRequest

QUERIES = Statements("keeps.memory.context", MEMORY)
STATEMENT = QUERIES["context_rows"].within(JSON_COLUMNS, MOST_WHOLE)
PARTS = frozenset(("session", "last_session", "identity", "knowledge", "standing"))
"""The sources of a context that this statement answers."""
OF_A_USER = frozenset(("identity", "standing"))
"""Those that a space does not have: what its members say is nobody's identity, and no instruction for every prompt."""
STANDING = 40
"""Maximum number of standing memories of each kind."""


@dataclass(frozen=True, slots=True)
class ContextRows:
    """The rows that a context needs beside recall.

    `notes`, `last_notes`: JSON of the notes of this conversation and of the last one.
    `fingerprint`: changes when a source does; its first value is the number of sources.
    `memories`: rows of memories by the source that they were read for, in order; those of this conversation first.
    `cut_off`: the last of them may be missing, since all together exceed the limit of one read.
    """

    notes: str | None = None
    last_notes: str | None = None
    fingerprint: tuple[object, ...] = (0,)
    memories: Mapping[str, Sequence[Row]] = field(default_factory=dict[str, Sequence[Row]])
    cut_off: PayloadTooLargeError | None = None

    def messages(self) -> Sequence[Row]:
        """Return the last messages of this conversation, newest first; fewer if they exceed the limit of one read."""
        return self.memories.get("session", ())

    def of(self, source: str) -> Sequence[Row]:
        """Return the memories for a source. Raises PayloadTooLargeError if they may have been cut off."""
        if self.cut_off is not None:
            raise self.cut_off
        return self.memories.get(source, ())


async def read(
    database: Database, scope: Scope, request: ContextRequest, parts: Collection[str], now: datetime, model: str
) -> ContextRows:
    """Read some `PARTS`. `model`: the model of the vectors of sources."""
    if not parts:
        return ContextRows()
    values = (
        scope.tenant_id,
        scope.user_id,
        scope.bound_agent,
        sorted(parts),
        request.session_id,
        scope.agent_id if scope.agent_bound else request.agent_id,
        now,
        model,
        REBUILT_FROM,
        STANDING,
        scope.acting,
    )
    # One statement alone names no limits of a key.
    rows = await database.ask(scope.tenant_id, STATEMENT, *values) if scope.grant is None else None
    if rows is None:
        async with database.reading(scope) as tx:
            rows = await tx.fetch(STATEMENT, *values)
    state, *others = rows
    memories: dict[str, list[Row]] = {}
    for row in others:
        memories.setdefault(row["part"], []).append(row)
    fingerprint = tuple(state[name] for name in ("sources", "changed", "versions", "vectors"))
    cut_off: PayloadTooLargeError | None = None
    try:
        check_whole(others, JSON_COLUMNS)
    except PayloadTooLargeError as error:
        cut_off = error
    return ContextRows(state["notes"], state["last_notes"], fingerprint, memories, cut_off)
