"""One example of each model, for the OpenAPI document and for people."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from keeps_client.models.access import ErasureReceipt, KeyInfo, MadeKey, NewKey, Quota, TenantInfo
from keeps_client.models.context import ContextRequest, ContextResult, NewSource, Source
from keeps_client.models.conversations import ExchangeReceipt, NewActivity, NewExchange, SessionNotes
from keeps_client.models.databases import (
    DatabaseInfo,
    DatabaseQuery,
    DatabaseRemoved,
    DataQuestion,
    NewDatabase,
    QueryAudit,
    QueryResult,
)
from keeps_client.models.documents import (
    Document,
    DocumentDeleted,
    DocumentHits,
    DocumentSearch,
    DocumentText,
)
from keeps_client.models.events import (
    Event,
    LogRetention,
    MadeWebhook,
    NewWebhook,
    ReplayedTable,
    Verification,
    Webhook,
    WebhookFailure,
)
from keeps_client.models.graph import (
    Entity,
    Mention,
    Merge,
    NewEntity,
    NewMention,
    NewRelation,
    PathRequest,
    Reading,
    Relation,
    Traversal,
    TraverseRequest,
)
from keeps_client.models.insights import Insights, JunkAudit
from keeps_client.models.items import ItemBatch, ItemReads, ItemResults, UserNamespaces
from keeps_client.models.knowledge import (
    EpisodicItem,
    KnowledgeUpsert,
    NewInteraction,
    NewKnowledge,
    NewSkill,
    ProceduralItem,
    SemanticItem,
    Upserted,
)
from keeps_client.models.memories import (
    KeysChanged,
    KeysForgotten,
    KeysMoved,
    Memory,
    MemoryChange,
    NewMemories,
    NewMemory,
    Receipt,
)
from keeps_client.models.operations import HeldJob, Operation, OperationDetail, QueueStatus
from keeps_client.models.plans import NewPlan, NewPlanContext, Plan, PlanChange, PlanContext, PlanContextChange
from keeps_client.models.providers import AppendText, Entry, NewEntry, ProviderInfo, Rebuilt
from keeps_client.models.recall import RecallRequest, RecallResult
from keeps_client.models.sessions import NewSession, Session, SessionChange
from keeps_client.models.tasks import Deleted, NewTaskContext, SubTaskChange, TaskContext, TaskContextChange
from keeps_client.models.tools import NewTool, Tool, ToolImport, ToolsImported
from keeps_client.models.transcripts import (
    Appended,
    AppState,
    NewTranscript,
    RemovedEntry,
    Transcript,
    TranscriptChange,
    TranscriptInfo,
)
from keeps_client.models.working import (
    AtomicAppend,
    AtomicExtend,
    AtomicIncrement,
    AtomicMerge,
    AtomicResult,
    NewWorkingItem,
    WorkingCleared,
    WorkingDeleted,
    WorkingItem,
    WorkingValue,
)

_ID = "019a2b3c-0000-7000-8000-000000000001"
_TIME = "2026-11-22T09:00:00Z"
_WHO = {"tenant_id": "acme", "user_id": "alice"}
_TIMES = {"created_at": _TIME, "updated_at": _TIME}
_VERSIONED = {"version": 1, **_TIMES}
_NEW_TOOL: dict[str, object] = {
    "name": "create_ticket",
    "purpose": "Open a ticket for the people who run the network",
    "when_to_use": "Something does not work and nobody is on it",
    "input_schema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    "auth": "an API key of the ticket system",
    "visibility": "tenant",
}
_DOCUMENT = {
    "document_id": _ID,
    **_WHO,
    "agent_id": None,
    "title": "Handbook",
    "source": "handbook.docx",
    "format": "docx",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "metadata": {},
    "tags": ["people"],
    "visibility": "tenant",
    "pages": 0,
    "pages_without_text": 0,
    "characters": 38_210,
    "passages": 42,
    **_VERSIONED,
    "deleted_at": None,
}
_SEMANTIC = {
    "id": _ID,
    **_WHO,
    "content": "The office closes at six.",
    "external_id": None,
    "is_public": True,
    "metadata": {"page": 3},
    "tags": ["office"],
    "source": "handbook",
    **_TIMES,
    "score": 0.93,
}
_EPISODIC = {
    "id": _ID,
    **_WHO,
    "agent_id": "concierge",
    "role": "user",
    "content": "A window seat, please.",
    "metadata": {},
    "created_at": _TIME,
    "score": None,
}
_SKILL = {
    "id": _ID,
    **_WHO,
    "agent_id": "billing",
    "trigger_condition": "the user asks about an invoice",
    "procedure_type": "system_prompt",
    "content": "Check Stripe first.",
    "created_at": _TIME,
    "score": None,
}
_ITEM = {
    "id": "plan-1/summary",
    "tenant_id": "acme",
    "plan_id": "plan-1",
    "key": "summary",
    "value": {"confidence": 0.9},
    "version": 1,
    "user_id": "alice",
    "expires_at": None,
    "updated_at": _TIME,
}
_TASK = {
    "task_id": "task-1",
    **_WHO,
    "agent_id": None,
    "plan_id": "plan-1",
    "event_type": "research.requested",
    "response_event": "research.completed",
    "response_topic": "action-results",
    "data": {"topic": "bees"},
    "sub_tasks": ["sub-1"],
    "state": {"progress": 0.5},
    **_VERSIONED,
}
_CONTEXT = {
    "plan_id": "plan-1",
    **_WHO,
    "session_id": "session-1",
    "goal_event": "research.goal",
    "goal_data": {"topic": "bees"},
    "response_event": "research.done",
    "state": {"search": {"next": "summarise"}},
    "current_state": "search",
    "correlation_ids": ["c-1"],
    "status": "running",
    **_VERSIONED,
}
_PLAN = {**_CONTEXT, "agent_id": None, "parent_plan_id": None, "sub_plan_ids": []}
_SESSION = {
    "session_id": "session-1",
    **_WHO,
    "agent_id": None,
    "name": "Research",
    "metadata": {},
    "plan_count": 1,
    "last_interaction": _TIME,
    "last_activity": _TIME,
    **_VERSIONED,
}
_MEMORY = {
    "memory_id": _ID,
    **_WHO,
    "kind": "semantic",
    "layer": "long_term",
    "content": "Alice is allergic to peanuts.",
    "content_type": "fact",
    "metadata": {},
    "tags": ["health"],
    "importance": 0.9,
    "visibility": "private",
    "valid_from": _TIME,
    **_VERSIONED,
}
_RECEIPT = {"status": "created", "memory_id": _ID, "memory": _MEMORY, "event_id": _ID, "indexed": True}
_EVENT = {
    "specversion": "1.0",
    "id": _ID,
    "source": "keeps",
    "type": "memory.written",
    "subject": _ID,
    "time": _TIME,
    "datacontenttype": "application/json",
    "data": {"memory": _MEMORY},
    "tenantid": "acme",
    "userid": "alice",
    "sequence": 1,
}
_WEBHOOK = {
    "webhook_id": _ID,
    "tenant_id": "acme",
    "url": "https://example.com/keeps",
    "types": ["memory.*"],
    "active": True,
    "position": 41,
    "attempts": 0,
    "next_attempt_at": _TIME,
    "last_error": None,
    "last_delivered_at": _TIME,
    "created_by": "alice",
    "created_at": _TIME,
    "failures": 0,
}
_ENTITY = {
    "entity_id": _ID,
    **_WHO,
    "name": "Alice",
    "entity_type": "person",
    "aliases": ["Al"],
    "properties": {"born": 1990},
    "visibility": "private",
    "source": "user",
    "merged_into": None,
    **_VERSIONED,
}
_RELATION = {
    "relation_id": _ID,
    **_WHO,
    "source_id": _ID,
    "target_id": _ID,
    "relation_type": "works_at",
    "properties": {},
    "weight": 1.0,
    "visibility": "private",
    "valid_from": _TIME,
    "valid_to": None,
    "memory_id": None,
    "event_id": _ID,
    **_VERSIONED,
}
_MENTION = {"memory_id": _ID, "entity_id": _ID, "user_id": "alice", "source": "text", "rejected": False, **_TIMES}
_TRAVERSAL = {"entities": [_ENTITY], "depths": [0], "relations": [_RELATION], "paths": [[_ID, _ID]], "truncated": False}
_ENTRY = {
    "key": "notes/plan",
    "value": "Call Bob on Friday.",
    "metadata": {"content_type": "fact"},
    "updated_at": _TIME,
}
_KEY = {
    "key_id": _ID,
    "tenant_id": "acme",
    "name": "production",
    "user_id": None,
    "agent_id": None,
    "roles": ["writer"],
    "hint": "x7Qz",
    "created_by": "alice",
    "created_at": _TIME,
    "expires_at": None,
    "last_used_at": None,
    "revoked_at": None,
}
_ERASED = {
    "tenant_id": "acme",
    "user_id": "alice",
    "removed": {"memories": 12, "memory_vectors": 12},
    "events_redacted": 14,
    "remaining": {"memories": 0, "memory_vectors": 0},
    "complete": True,
    "erased_at": _TIME,
}
_TENANT = {
    "tenant_id": "acme",
    "users": 3,
    "memories": 120,
    "bytes": 40_000,
    "max_memories": 10_000,
    "max_bytes": None,
    "created_at": _TIME,
}
_NOTES = {
    "session_id": "session-1",
    "summary": "- I'm allergic to peanuts.",
    "items": [{"kind": "decision", "text": "We decided to sail on Friday.", "role": "user", "at": _TIME}],
    "message_count": 5,
    "updated_at": _TIME,
    "expires_at": "2026-11-23T09:00:00Z",
}
_OPERATION = {
    "operation_id": _ID,
    "tenant_id": "acme",
    "job": "decay",
    "status": "completed",
    "counts": {"archived": 12},
    "error": None,
    "undoable": True,
    "started_at": _TIME,
    "finished_at": _TIME,
    "undone_at": None,
    "undone_by": None,
}
_SOURCE = {
    "name": "metrics",
    "kind": "database",
    "purpose": "Users, orders and revenue by day",
    "visibility": "tenant",
    "memory_id": _ID,
    "updated_at": _TIME,
}
_BUILT = {
    "text": "<!-- keeps:context -->\n## What is known\n- Alice is allergic to peanuts.\n<!-- /keeps:context -->",
    "tokens": 31,
    "budget_tokens": 4_000,
    "tokenizer": "o200k_longest_match",
    "signals": [],
    "since": None,
    "until": None,
    "sections": [
        {
            "name": "long_term",
            "title": "What is known",
            "tokens": 9,
            "share_tokens": 800,
            "items": [
                {"memory_id": _ID, "text": "Alice is allergic to peanuts.", "tokens": 9, "score": 1.8, "trusted": True}
            ],
        }
    ],
    "left_out": [],
    "sources_ms": {"memories": 9.1, "all": 9.3},
    "router_ms": 1.2,
    "took_ms": 10.6,
    "degraded": False,
    "degraded_sources": [],
}
_INSIGHTS = {
    "total_memories": 156,
    "important_memories": 42,
    "by_kind": {"semantic": 56, "episodic": 100},
    "by_layer": {"long_term": 60, "short_term": 96},
    "by_namespace": {"": 150, "facts": 6},
    "common_tags": {"health": 3},
    "most_accessed_namespace": "facts",
    "most_used": [
        {"memory_id": _ID, "content": "Alice is allergic to peanuts.", "access_count": 9, "last_accessed_at": _TIME}
    ],
    "never_used": 90,
    "growth": [{"week": "2026-11-16", "memories": 31}],
    "growth_trend": "increasing",
    "decay": {"within_a_day": 2, "within_a_week": 14, "within_a_month": 60, "archived": 8},
    "fading": [{"memory_id": _ID, "content": "She asked about the train.", "fades_at": _TIME}],
    "superseded": 5,
    "forgotten": 1,
    "stale": 0,
    "promoted": 4,
    "junk_share": 0.0,
    "index_pending": 0,
    "index_lag_seconds": 0.0,
    "storage": [{"day": "2026-11-22", "memories": 156, "bytes": 40_000, "events": 412}],
    "llm_tokens": {"sessions": 41_200, "graph": 9_800},
}
_TRANSCRIPT = {
    **_WHO,
    "app": "concierge",
    "transcript_id": "talk-1",
    "agent_id": None,
    "entry_count": 1,
    "state": {"step": "dessert"},
    **_VERSIONED,
}
_ITEM_STORED = {
    "namespace": ["memories", "alice"],
    "key": "diet",
    "value": {"text": "Alice is allergic to peanuts."},
    "version": 1,
    **_TIMES,
    "score": None,
}
_DELETED = {"success": True, "deleted": True, "message": "it is deleted"}
_ATOMIC = {"plan_id": "plan-1", "path": "state.actions", "key": "state", "value": ["search"], "version": 2}

PARAMETERS: dict[str, Any] = {
    "plan_id": "plan-1",
    "key": "summary",
    "task_id": "task-1",
    "sub_task_id": "sub-1",
    "correlation_id": "c-1",
    "session_id": "session-1",
    "agent_id": "concierge",
    "q": "when does the office close?",
    "query": "when does the office close?",
    "memory_id": _ID,
    "key_id": _ID,
    "user_id": "alice",
    "tenant_id": "acme",
    "provider_id": "working",
    "entry_key": "notes/plan",
    "webhook_id": _ID,
    "older_than_days": 365,
    "entity_id": _ID,
    "relation_id": _ID,
    "operation_id": _ID,
    "name": "metrics",
}

EXAMPLES: dict[type[BaseModel], Any] = {
    WorkingItem: _ITEM,
    WorkingValue: {"value": {"confidence": 0.9}, "expected_version": 0},
    WorkingDeleted: _DELETED,
    NewWorkingItem: {"key": "summary", "value": {"confidence": 0.9}},
    WorkingCleared: {"success": True, "count_deleted": 2, "message": "2 keys are deleted"},
    AtomicAppend: {"plan_id": "plan-1", "path": "state.actions", "value": "search"},
    AtomicResult: _ATOMIC,
    AtomicExtend: {"plan_id": "plan-1", "path": "state.actions", "values": ["search", "read"]},
    AtomicMerge: {"plan_id": "plan-1", "path": "state.settings", "changes": {"depth": 2}},
    AtomicIncrement: {"plan_id": "plan-1", "path": "state.retries", "delta": 1},
    NewMemory: {"content": "Alice is allergic to peanuts.", "tags": ["health"], "importance": 0.9},
    Receipt: _RECEIPT,
    Memory: _MEMORY,
    NewMemories: {"items": [{"content": "Alice is allergic to peanuts."}], "index": "later"},
    MemoryChange: {"content": "Alice is allergic to peanuts and cashews."},
    Event: _EVENT,
    RecallRequest: {"query": "what must she not eat?", "limit": 5},
    RecallResult: {
        "hits": [{"memory": _MEMORY, "score": 0.93, "provider_id": "postgres", "tier": "indexed"}],
        "took_ms": 7.1,
        "partial": False,
        "failed_providers": [],
    },
    ContextRequest: {"query": "what should she order?", "session_id": "session-1", "budget_tokens": 4_000},
    ContextResult: _BUILT,
    NewSource: {"name": "metrics", "kind": "database", "purpose": "Users, orders and revenue by day"},
    Source: _SOURCE,
    NewExchange: {
        "session_id": "session-1",
        "messages": [
            {"role": "user", "content": "I'm allergic to peanuts."},
            {"role": "assistant", "content": "Noted."},
        ],
    },
    ExchangeReceipt: {
        "session_id": "session-1",
        "messages": [_RECEIPT],
        "facts": [_RECEIPT],
        "recalled": 0,
        "notes": _NOTES,
    },
    NewActivity: {"content": "Checked the mail box: three new letters.", "activity": "heartbeat"},
    SessionNotes: _NOTES,
    NewKnowledge: {
        "content": "The office closes at six.",
        "is_public": True,
        "tags": ["office"],
        "metadata": {"page": 3},
    },
    SemanticItem: _SEMANTIC,
    KnowledgeUpsert: {"content": "The office closes at six.", "dedupe_threshold": 0.95},
    Upserted: {"status": "updated", "id": _ID},
    NewInteraction: {"agent_id": "concierge", "role": "user", "content": "A window seat, please."},
    EpisodicItem: _EPISODIC,
    NewSkill: {
        "agent_id": "billing",
        "trigger_condition": "the user asks about an invoice",
        "procedure_type": "system_prompt",
        "content": "Check Stripe first.",
    },
    ProceduralItem: _SKILL,
    NewTaskContext: {
        "task_id": "task-1",
        "plan_id": "plan-1",
        "event_type": "research.requested",
        "data": {"topic": "bees"},
        "sub_tasks": ["sub-1"],
        "state": {},
    },
    TaskContext: _TASK,
    TaskContextChange: {"sub_tasks": ["sub-1", "sub-2"], "state": {"progress": 0.75}},
    SubTaskChange: {"status": "completed", "result": {"found": 3}},
    Deleted: _DELETED,
    NewPlanContext: {
        "plan_id": "plan-1",
        "session_id": "session-1",
        "goal_event": "research.goal",
        "current_state": "search",
        "correlation_ids": ["c-1"],
    },
    PlanContext: _CONTEXT,
    PlanContextChange: {"current_state": "summarise", "expected_version": 1},
    NewPlan: {"goal_event": "research.goal", "goal_data": {"topic": "bees"}, "session_id": "session-1"},
    Plan: _PLAN,
    PlanChange: {"status": "completed", "state": {"result": "done"}},
    NewSession: {"name": "Research", "metadata": {}},
    Session: _SESSION,
    SessionChange: {"name": "Research on bees"},
    NewTranscript: {"transcript_id": "talk-1", "state": {"step": "menu"}, "user_state": {"diet": "vegan"}},
    TranscriptChange: {
        "entries": [{"entry_id": "event-1", "entry": {"author": "user", "text": "And for dessert?"}}],
        "state": {"step": "dessert"},
        "expected_version": 1,
    },
    Appended: {
        "app": "concierge",
        "transcript_id": "talk-1",
        "entry_count": 1,
        "appended": 1,
        "version": 2,
        "updated_at": _TIME,
    },
    RemovedEntry: {
        "app": "concierge",
        "transcript_id": "talk-1",
        "entry": {
            "position": 1,
            "entry_id": "event-1",
            "at": _TIME,
            "entry": {"author": "user", "text": "And for dessert?"},
        },
        "entry_count": 0,
        "version": 3,
        "updated_at": _TIME,
    },
    TranscriptInfo: _TRANSCRIPT,
    Transcript: {
        **_TRANSCRIPT,
        "user_state": {"diet": "vegan"},
        "shared_state": {},
        "entries": [
            {
                "position": 1,
                "entry_id": "event-1",
                "at": _TIME,
                "entry": {"author": "user", "text": "And for dessert?"},
            }
        ],
        "next_after": None,
    },
    ItemBatch: {
        "operations": [
            {"op": "put", "namespace": ["memories", "alice"], "key": "diet", "value": _ITEM_STORED["value"]},
            {"op": "search", "prefix": ["memories"], "query": "what must she not eat?", "limit": 5},
        ]
    },
    ItemReads: {"operations": [{"op": "get", "namespace": ["memories", "alice"], "key": "diet"}]},
    ItemResults: {"results": [{"item": _ITEM_STORED, "items": [], "namespaces": [], "removed": 0, "more": False}]},
    UserNamespaces: {"user_id": "alice", "namespaces": [["memories", "alice"]]},
    AppState: {"app": "concierge", "user_state": {"diet": "vegan"}, "shared_state": {}},
    NewEntity: {"name": "Alice", "entity_type": "person", "aliases": ["Al"], "properties": {"born": 1990}},
    Entity: _ENTITY,
    Relation: _RELATION,
    Merge: {"merged_id": _ID},
    NewRelation: {"source": "Alice", "target": "Acme", "relation_type": "works_at", "exclusive": True},
    TraverseRequest: {"start": "Alice", "path_pattern": "person -works_at-> org <-works_at- person"},
    Traversal: _TRAVERSAL,
    PathRequest: {"source": "Alice", "target": "Bob", "max_depth": 4},
    Mention: _MENTION,
    NewMention: {"memory_id": _ID, "entity_id": _ID},
    Reading: {"memories": 120, "entities": 14, "mentions": 210, "pending": 0},
    ProviderInfo: {
        "provider_id": "postgres",
        "tier": "persistent",
        "supports_search": True,
        "supports_graph": False,
        "content_types": ["*"],
        "read_only": False,
        "builtin": True,
        "state": "active",
        "registered_at": None,
    },
    AppendText: {"text": "Alice lives in Lisbon. Yesterday she met Bob."},
    Entry: _ENTRY,
    NewEntry: {"value": "Call Bob on Friday."},
    Rebuilt: {"provider_id": "vector", "entries": 120},
    Verification: {
        "tenant_id": "acme",
        "equal": True,
        "events": 412,
        "compared": {"memories": 120, "plans": 3},
        "differences": [],
    },
    ReplayedTable: {"table": "memories", "rows": 120},
    LogRetention: {"before": _TIME, "removed": 9_000, "kept": 120},
    NewWebhook: {"url": "https://example.com/keeps", "types": ["memory.*"]},
    MadeWebhook: {**_WEBHOOK, "secret": "whsec_…"},
    Webhook: _WEBHOOK,
    WebhookFailure: {"webhook_id": _ID, "sequence": 40, "attempts": 9, "error": "HTTP 500", "failed_at": _TIME},
    Operation: _OPERATION,
    OperationDetail: {
        **_OPERATION,
        "changes": [{"memory_id": _ID, "before": {"archived_at": None}, "after": {"archived_at": _TIME}}],
    },
    QueueStatus: {"job": "decay", "status": "queued", "jobs": 3, "oldest": _TIME},
    HeldJob: {"id": 7, "job": "decay", "tenant_id": "acme", "attempts": 5, "failed_at": _TIME},
    Insights: _INSIGHTS,
    JunkAudit: {
        "would_promote": 4,
        "would_promote_junk": 0,
        "promoted": 40,
        "promoted_junk": 1,
        "junk_share": 0.02,
        "examples": ["Ok then!"],
    },
    NewTool: _NEW_TOOL,
    Tool: {**_NEW_TOOL, "memory_id": _ID, "updated_at": _TIME, "score": None},
    ToolImport: {
        "openapi": {"openapi": "3.1.0", "info": {"title": "Tickets"}, "paths": {"/tickets": {"get": {}}}},
        "prefix": "tickets",
        "visibility": "tenant",
    },
    ToolsImported: {"names": ["tickets-get-tickets"], "left_out": []},
    NewDatabase: {
        "name": "shop",
        "url": "postgresql://reader:password@db.example.com/shop",
        "tables": {"orders": "*", "customers": ["id", "name", "city"]},
        "purpose": "What customers ordered, and when",
        "samples": {"customers": ["city"]},
        "asked_by": "writer",
    },
    DatabaseInfo: {
        "database_id": _ID,
        "tenant_id": "acme",
        "name": "shop",
        "dialect": "postgresql",
        "location": "db.example.com:5432/shop",
        "purpose": "What customers ordered, and when",
        "asked_by": "writer",
        "tables": [
            {
                "name": "customers",
                "database_schema": "public",
                "default": True,
                "whole": False,
                "comment": None,
                "columns": [
                    {"name": "city", "type": "TEXT", "comment": None, "key": False, "samples": ["Leeds", "Lisbon"]}
                ],
                "references": [],
            }
        ],
        "warnings": [],
        "described_at": _TIME,
        "created_by": "alice",
        "created_at": _TIME,
        "updated_at": _TIME,
        "version": 1,
    },
    DatabaseRemoved: {"name": "shop", "removed": True},
    DataQuestion: {"question": "Which city ordered most this year?", "database": "shop", "remember": False},
    DatabaseQuery: {"sql": "SELECT city, COUNT(*) FROM customers GROUP BY city"},
    QueryResult: {
        "database": "shop",
        "sql": 'SELECT "city", COUNT(*) FROM "public"."customers" AS "customers" GROUP BY "city" LIMIT 1001',
        "tables": ["customers"],
        "columns": ["city", "count"],
        "rows": [["Leeds", 2], ["Lisbon", 1]],
        "cut": False,
        "took_ms": 12.5,
        "question": None,
        "repaired": False,
        "memory_id": None,
    },
    QueryAudit: {
        "audit_id": _ID,
        "user_id": "alice",
        "agent_id": None,
        "database": "shop",
        "question": None,
        "sql": "SELECT city, COUNT(*) FROM customers GROUP BY city",
        "outcome": "allowed",
        "rule": None,
        "tables": ["customers"],
        "rows": 2,
        "took_ms": 13,
        "asked_at": _TIME,
    },
    Document: _DOCUMENT,
    DocumentDeleted: {"document_id": _ID, "removed": 41, "kept": 1},
    DocumentText: {
        "document_id": _ID,
        "start": 0,
        "text": "Everybody has 30 days of leave.",
        "characters": 31,
        "passages": [{"memory_id": _ID, "start": 0, "end": 31}],
    },
    DocumentSearch: {"query": "How many days of leave have I?", "limit": 10},
    DocumentHits: {
        "hits": [
            {
                "memory_id": _ID,
                "content": "Everybody has 30 days of leave.",
                "score": 0.8,
                "relevance": 0.7,
                "citations": [
                    {
                        "document_id": _ID,
                        "title": "Handbook",
                        "source": "handbook.docx",
                        "headings": ["Leave"],
                        "page": None,
                        "start": 7,
                        "end": 38,
                    }
                ],
                "before": None,
                "after": None,
            }
        ],
        "nothing_known": False,
    },
    KeysMoved: {"namespace": "notes", "key": "drafts", "to": "done/2026"},
    KeysForgotten: {"namespace": "notes", "key": "drafts"},
    KeysChanged: {"changed": 2},
    NewKey: {"name": "production", "roles": ["writer"]},
    MadeKey: {**_KEY, "secret": "keeps_…"},
    KeyInfo: _KEY,
    ErasureReceipt: _ERASED,
    TenantInfo: _TENANT,
    Quota: {"max_memories": 10_000},
}


def example_of(kind: Any) -> Any:
    """An example of a model, of a list or page of it, or of what may be one or nothing."""
    if kind is int:
        return 1
    if get_origin(kind) is list:
        return [example_of(get_args(kind)[0])]
    if get_args(kind):
        return example_of(get_args(kind)[0])
    if kind not in EXAMPLES and "items" in kind.model_fields and "next_cursor" in kind.model_fields:
        return {"items": example_of(kind.model_fields["items"].annotation), "next_cursor": None}
    return EXAMPLES[kind]
