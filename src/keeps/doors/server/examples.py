"""One example of each body and answer for the OpenAPI document, derived from its model.

A field has the value of its name in VALUES, or else the simplest of its type.
"""

from __future__ import annotations

from datetime import date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel

_ID = "019a2b3c-0000-7000-8000-000000000001"
_TIME = "2026-11-22T09:00:00Z"

VALUES: dict[str, Any] = {
    "action": "archived",
    "agent_id": "concierge",
    "aliases": ["Al"],
    "content": "Alice is allergic to peanuts.",
    "correlation_id": "c-1",
    "correlation_ids": ["c-1"],
    "current_state": "search",
    "database": "shop",
    "entity_type": "person",
    "entry_key": "notes/plan",
    "event_type": "research.requested",
    "goal_event": "research.goal",
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "hint": "x7Qz",
    "id": _ID,
    "key": "summary",
    "location": "db.example.com:5432/shop",
    "member_id": "bob",
    "name": "metrics",
    "namespace": "notes",
    "older_than_days": 365,
    "path": "state.actions",
    "path_pattern": "person -works_at-> org <-works_at- person",
    "plan_id": "plan-1",
    "procedure_type": "system_prompt",
    "provider_id": "working",
    "purpose": "Users, orders and revenue by day",
    "q": "when does the office close?",
    "query": "what must she not eat?",
    "question": "Which city ordered most this year?",
    "response_event": "research.done",
    "relation_type": "works_at",
    "response_topic": "action-results",
    "secret": "keeps_…",
    "session_id": "session-1",
    "source": "Alice",
    "space_id": "project-x",
    "specversion": "1.0",
    "sql": "select city, count(*) from customers group by city",
    "start": "Alice",
    "sub_task_id": "sub-1",
    "sub_tasks": ["sub-1"],
    "tables": {"customers": ["id", "name", "city"]},
    "tags": ["health"],
    "target": "Acme",
    "task_id": "task-1",
    "tenant_id": "acme",
    "text": "Alice lives in Lisbon. Yesterday she met Bob.",
    "tier": "persistent",
    "title": "Handbook",
    "to": "done/2026",
    "transcript_id": "talk-1",
    "types": ["memory.*"],
    "url": "https://example.com/keeps",
    "user_id": "alice",
    "trigger_condition": "the user asks about an invoice",
    "value": {"confidence": 0.9},
    "version": 1,
}
IDS = ("memory_id", "key_id", "webhook_id", "entity_id", "relation_id", "operation_id")
PARAMETERS = VALUES | dict.fromkeys(IDS, _ID)
"""Examples of parameters in paths and queries."""
OPTIONAL = frozenset(
    "aliases agent_id correlation_ids current_state event_id memory path_pattern plan_id response_event session_id"
    " source sub_tasks tags trigger_condition types".split()
)
"""Fields that an example has although they may be left out."""
MODELS: dict[str, Any] = {
    "AtomicExtend": {"plan_id": "plan-1", "path": "state.actions", "values": ["search", "read"]},
    "AtomicIncrement": {"plan_id": "plan-1", "path": "state.retries", "delta": 1},
    "AtomicMerge": {"plan_id": "plan-1", "path": "state.settings", "changes": {"depth": 2}},
    "DatabaseQuery": {"sql": VALUES["sql"]},
    "ItemBatch": {"operations": [{"op": "put", "namespace": ["memories"], "key": "diet", "value": {"text": "vegan"}}]},
    "ItemReads": {"operations": [{"op": "get", "namespace": ["memories"], "key": "diet"}]},
    "MemoryChange": {"content": "Alice is allergic to peanuts and cashews."},
    "NewDatabase": {
        "name": "shop",
        "url": "postgresql://reader:password@db.example.com/shop",
        "tables": {"orders": "*", "customers": ["id", "name", "city"]},
        "purpose": "What customers ordered, and when",
    },
    "NewEntity": {"name": "Alice", "entity_type": "person", "aliases": ["Al"], "properties": {"born": 1990}},
    "NewMemory": {"content": VALUES["content"], "tags": ["health"], "importance": 0.9},
    "NewTool": {"name": "create_ticket", "purpose": "Open a ticket for the people who run the network"},
    "NewTranscript": {"transcript_id": "talk-1", "state": {"step": "menu"}},
    "Quota": {"max_memories": 10_000},
    "RecallRequest": {"query": VALUES["query"], "limit": 5},
    "SpaceChange": {"title": "Project X", "archived": False},
    "SubTaskChange": {"status": "completed", "result": {"found": 3}},
    "ToolImport": {"openapi": {"openapi": "3.1.0", "paths": {"/tickets": {"get": {}}}}},
    "TranscriptChange": {"entries": [{"entry_id": "event-1", "entry": {"author": "user", "text": "And for dessert?"}}]},
}
"""Bodies whose fields belong together."""
SIMPLEST: dict[Any, Any] = {UUID: _ID, datetime: _TIME, date: _TIME[:10], bool: True, int: 1, float: 0.5, str: "text"}


@cache
def example_of(kind: Any) -> Any:
    """Return an example of a model, or of any type that its fields have."""
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return MODELS.get(kind.__name__) or _model(kind)
    if origin is Literal:
        return arguments[0]
    if origin is Annotated:
        return example_of(arguments[0])
    if origin in (Union, UnionType):
        return example_of(next(each for each in arguments if each is not NoneType))
    if origin in (list, tuple):
        return [example_of(arguments[0])]
    return {} if origin is dict else SIMPLEST.get(kind)


def _model(model: type[BaseModel]) -> dict[str, Any]:
    return {
        name: _value(name, field.annotation)
        for name, field in model.model_fields.items()
        if field.is_required() or name in OPTIONAL or _is_tag(field.annotation)
    }


def _value(name: str, kind: Any) -> Any:
    """Return the value of a name if the type allows it, or else an example of the type."""
    derived = example_of(kind)
    named = VALUES.get(name)
    if named is None or _is_literal(kind) or not (derived is None or isinstance(named, type(derived))):
        return derived
    return derived if isinstance(derived, list) and derived and isinstance(derived[0], dict) else named


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal or (
        get_origin(kind) in (Annotated, Union, UnionType) and any(map(_is_literal, get_args(kind)))
    )


def _is_tag(kind: Any) -> bool:
    """Return whether a field only says which of several models it is."""
    return get_origin(kind) is Literal and len(get_args(kind)) == 1
