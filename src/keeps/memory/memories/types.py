"""A stored memory: the list of its columns, and what follows from them. Pure.

The event of a write contains the same row as JSON, so replaying events restores the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import JsonValue

from keeps.base.scope import Scope
from keeps.base.text.forms import known_form
from keeps.base.text.importance import estimate_importance
from keeps.base.text.searched import embedded_text
from keeps.base.unchecked import unchecked
from keeps.store.db.session import Row
from keeps.store.db.statements import Columns
from keeps_client.models import Memory, NewMemory
from keeps_client.models.memories import Kind, Layer, ProcedureType, Role, Visibility
from keeps_client.models.names import HeldFor

Json = JsonValue
APP_ID = "app_id"
"""Metadata field with the app that a memory belongs to; mem0's clients set it."""
SUFFIX_BYTES = 16
DEFAULT_LAYER: dict[Kind, Layer] = {"semantic": "long_term", "procedural": "long_term", "episodic": "short_term"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """A row of keeps.memories. Each field is a column; statements insert the columns at the mark `/*:memory*/`."""

    tenant_id: str
    memory_id: UUID
    user_id: str
    agent_id: str | None
    session_id: str | None
    kind: Kind
    layer: Layer
    namespace: str | None
    key: str | None
    content: str
    value: Json
    content_type: str
    role: Role | None
    trigger_condition: str | None
    procedure_type: ProcedureType | None
    metadata: dict[str, Json]
    tags: tuple[str, ...]
    source: str | None
    importance: float
    visibility: Visibility
    content_hash: bytes
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: UUID | None = None
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    deleted_at: datetime | None = None
    held_for: HeldFor | None = None
    document_id: UUID | None = None
    version: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read a database row; other columns are ignored."""
        return cls(**{name: _from_database(name, row[name]) for name in NAMES})

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Return the row of a memory as callers see it, with an empty hash."""
        return cls(**{name: getattr(memory, name) for name in SHOWN}, content_hash=b"")

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with some values changed."""
        return replace(self, **changes)

    def as_json(self, names: Sequence[str] = ()) -> dict[str, Json]:
        """Return columns, all or some, as JSON values that PostgreSQL can read back."""
        return {name: _as_json(getattr(self, name)) for name in names or NAMES}

    def with_json(self, values: Mapping[str, object]) -> Self:
        """Return a copy with some values in the format of `as_json`."""
        return replace(self, **{name: _from_json(name, value) for name, value in values.items()})

    def as_memory(self) -> Memory:
        """Return the memory as callers see it, without validation: it was validated when written."""
        return unchecked(Memory, {name: getattr(self, name) for name in SHOWN})

    @property
    def audience(self) -> str:
        """The users who may find the memory: its owner, or the empty text for the whole tenant."""
        return "" if self.visibility == "tenant" else self.user_id

    @property
    def life(self) -> str:
        """The stage of the memory's life, as keeps.memory_life computes it in SQL."""
        if self.deleted_at:
            return "deleted"
        if self.superseded_by:
            return "superseded"
        return "archived" if self.archived_at else "current"

    @property
    def embedded_text(self) -> str:
        return embedded_text(self.kind, self.content, self.metadata, self.trigger_condition, self.layer)


NAMES = tuple(field.name for field in fields(MemoryRow))
SHOWN = tuple(name for name in NAMES if name != "content_hash")
_HINTS = get_type_hints(MemoryRow)
_JSON = ("value", "metadata")


_SQL = {str: "text", UUID: "uuid", datetime: "timestamptz", float: "double precision", int: "integer", bytes: "bytea"}


def _sql_type(hint: Any) -> str:
    """Return the column type for the type of a field."""
    if get_origin(hint) is tuple:
        return "text[]"
    if get_origin(hint) is Literal:
        return "text"
    some = [each for each in get_args(hint) if each is not NoneType]
    return _sql_type(some[0]) if some else _SQL[hint]


MEMORY = Columns(
    "memory",
    {name: "jsonb" if name in _JSON else _sql_type(_HINTS[name]) for name in NAMES},
    ("tenant_id", "memory_id", "user_id", "created_at"),
)
"""Columns for statements. The last argument names those that never change: owner and creation."""


def new_row(new: NewMemory, scope: Scope, memory_id: UUID, now: datetime) -> MemoryRow:
    """Return the memory that `scope` writes at `now`."""
    agent_id, session_id = new.agent_id or scope.agent_id, new.session_id or scope.session_id
    row = MemoryRow(
        tenant_id=scope.tenant_id,
        memory_id=memory_id,
        user_id=scope.user_id,
        agent_id=agent_id,
        session_id=session_id,
        kind=new.kind,
        layer=DEFAULT_LAYER[new.kind],
        namespace=new.namespace,
        key=new.key,
        content=new.content,
        value=new.value,
        content_type=new.content_type,
        role=new.role,
        trigger_condition=new.trigger_condition,
        procedure_type=new.procedure_type,
        metadata=new.metadata,
        tags=tuple(dict.fromkeys(new.tags)),
        source=new.source,
        importance=estimate_importance(new.content, new.role) if new.importance is None else new.importance,
        visibility=new.visibility,
        content_hash=b"",
        valid_from=new.valid_from or now,
        expires_at=now + timedelta(days=new.ttl_days) if new.ttl_days else new.expires_at,
        version=1,
        created_at=now,
        updated_at=now,
    )
    return row.evolve(content_hash=content_hash(row, new.valid_from))


def content_hash(row: MemoryRow, occurred_at: datetime | None = None) -> bytes:
    """Return the identity of a memory without a key among the memories of its user.

    A memory consists of its words and belongs to an agent, a session and an app.
    A skill also belongs to its trigger.
    An experience also belongs to its speaker, and to its time if that was given: saying "yes" twice is two
    experiences.
    The first 32 bytes are the hash of the words without agent, session and app.
    """
    if row.layer == "knowledge":
        return passage_hash(row.content, row.visibility)
    identity: list[object] = [row.kind, row.namespace, known_form(row.content)]
    if row.kind != "semantic":
        identity += [row.agent_id, row.role, row.trigger_condition, row.procedure_type]
    if row.kind == "episodic":
        identity += [row.session_id, row.metadata.get("speaker"), occurred_at.isoformat() if occurred_at else None]
    # Since the first release, the identity above covers the agent and session of experiences, and the agent of skills.
    agent_id, session_id, app_id = belongs_to(row)
    others = {"semantic": (agent_id, session_id, app_id), "procedural": (session_id, app_id), "episodic": (app_id,)}
    owners = others[row.kind]
    return _digest(identity) + (b"" if not any(owners) else _digest([*owners])[:SUFFIX_BYTES])


def belongs_to(row: MemoryRow) -> tuple[str | None, str | None, Json]:
    """Return the agent, the session and the app that a memory belongs to."""
    return row.agent_id, row.session_id, row.metadata.get(APP_ID)


def second_hash(row: MemoryRow) -> bytes:
    """Return the identity of a memory whose `content_hash` another memory of its user has."""
    return row.content_hash + _digest([*belongs_to(row), row.visibility])[:SUFFIX_BYTES]


def own_hash(row: MemoryRow) -> bytes:
    """Return an identity that no other memory has."""
    return row.content_hash + _digest([str(row.memory_id)])[:SUFFIX_BYTES]


def fact_hash(content: str) -> bytes:
    """Return the first 32 bytes of `content_hash` of any fact of these words without namespace and key."""
    return _digest(["semantic", None, known_form(content)])


def passage_hash(content: str, visibility: str) -> bytes:
    """Return the identity of a passage of a document."""
    return _digest(["passage", visibility, content])


def _digest(identity: list[object]) -> bytes:
    return hashlib.sha256(json.dumps(identity, ensure_ascii=False).encode()).digest()


_JSON_TYPES = frozenset((str, NoneType, int, float, bool, dict, list))


def _as_json(value: Json | datetime | UUID | bytes | tuple[Json, ...]) -> Json:
    if type(value) in _JSON_TYPES:
        return value  # pyright: ignore[reportReturnType]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return list(value) if isinstance(value, tuple) else value


def _from_json(name: str, value: Any) -> Any:
    if value is None or name in _JSON:
        return value
    match MEMORY.types[name]:
        case "timestamptz":
            return datetime.fromisoformat(value)
        case "uuid":
            return UUID(value)
        case "bytea":
            return bytes.fromhex(value.removeprefix("\\x"))
        case "text[]":
            return tuple(value)
        case _:
            return value


def _from_database(name: str, value: Any) -> Any:
    if name in _JSON:
        return None if value is None else json.loads(value)
    return tuple(value) if name == "tags" else value
