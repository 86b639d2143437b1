"""Examples for the OpenAPI document: one body and one answer for each route."""

from __future__ import annotations

from typing import Any

_ID = "019a2b3c-0000-7000-8000-000000000001"
_TIME = "2026-11-22T09:00:00Z"
_WHO = {"tenant_id": "acme", "user_id": "alice"}
_TIMES = {"created_at": _TIME, "updated_at": _TIME}
_VERSIONED = {"version": 1, **_TIMES}
_SEMANTIC = {"id": _ID, **_WHO, "content": "The office closes at six.", "external_id": None, "is_public": True, "metadata": {"page": 3},
             "tags": ["office"], "source": "handbook", **_TIMES, "score": 0.93}  # fmt: skip
_EPISODIC = {"id": _ID, **_WHO, "agent_id": "concierge", "role": "user", "content": "A window seat, please.", "metadata": {}, "created_at": _TIME,
             "score": None}  # fmt: skip
_SKILL = {"id": _ID, **_WHO, "agent_id": "billing", "trigger_condition": "the user asks about an invoice", "procedure_type": "system_prompt",
          "content": "Check Stripe first.", "created_at": _TIME, "score": None}  # fmt: skip
_ITEM = {"id": "plan-1/summary", "tenant_id": "acme", "plan_id": "plan-1", "key": "summary", "value": {"confidence": 0.9}, "version": 1,
         "user_id": "alice", "expires_at": None, "updated_at": _TIME}  # fmt: skip
_TASK = {"task_id": "task-1", **_WHO, "agent_id": None, "plan_id": "plan-1", "event_type": "research.requested",
         "response_event": "research.completed", "response_topic": "action-results", "data": {"topic": "bees"}, "sub_tasks": ["sub-1"],
         "state": {"progress": 0.5}, **_VERSIONED}  # fmt: skip
_CONTEXT = {"plan_id": "plan-1", **_WHO, "session_id": "session-1", "goal_event": "research.goal", "goal_data": {"topic": "bees"},
            "response_event": "research.done", "state": {"search": {"next": "summarise"}}, "current_state": "search", "correlation_ids": ["c-1"],
            "status": "running", **_VERSIONED}  # fmt: skip
_PLAN = {**_CONTEXT, "agent_id": None, "parent_plan_id": None, "sub_plan_ids": []}
_SESSION = {"session_id": "session-1", **_WHO, "agent_id": None, "name": "Research", "metadata": {}, "plan_count": 1, "last_interaction": _TIME,
            "last_activity": _TIME, **_VERSIONED}  # fmt: skip
_MEMORY = {"memory_id": _ID, **_WHO, "kind": "semantic", "layer": "long_term", "content": "Alice is allergic to peanuts.", "content_type": "fact",
           "metadata": {}, "tags": ["health"], "importance": 0.9, "visibility": "private", "valid_from": _TIME, **_VERSIONED}  # fmt: skip
_RECEIPT = {"status": "created", "memory_id": _ID, "memory": _MEMORY, "event_id": _ID, "indexed": True}
_EVENT = {"specversion": "1.0", "id": _ID, "source": "keeps", "type": "memory.written", "subject": _ID, "time": _TIME,
          "datacontenttype": "application/json", "data": {"memory": _MEMORY}, "tenantid": "acme", "userid": "alice", "sequence": 1}  # fmt: skip
_WEBHOOK = {"webhook_id": _ID, "tenant_id": "acme", "url": "https://example.com/keeps", "types": ["memory.*"], "active": True, "position": 41,
            "attempts": 0, "next_attempt_at": _TIME, "last_error": None, "last_delivered_at": _TIME, "created_by": "alice", "created_at": _TIME,
            "failures": 0}  # fmt: skip
_ENTITY = {"entity_id": _ID, **_WHO, "name": "Alice", "entity_type": "person", "aliases": ["Al"], "properties": {"born": 1990},
           "visibility": "private", "source": "user", "merged_into": None, **_VERSIONED}  # fmt: skip
_RELATION = {"relation_id": _ID, **_WHO, "source_id": _ID, "target_id": _ID, "relation_type": "works_at", "properties": {}, "weight": 1.0,
             "visibility": "private", "valid_from": _TIME, "valid_to": None, "memory_id": None, "event_id": _ID, **_VERSIONED}  # fmt: skip
_MENTION = {"memory_id": _ID, "entity_id": _ID, "user_id": "alice", "source": "text", "rejected": False, **_TIMES}
_TRAVERSAL = {"entities": [_ENTITY], "depths": [0], "relations": [_RELATION], "paths": [[_ID, _ID]], "truncated": False}
_ENTRY = {
    "key": "notes/plan",
    "value": "Call Bob on Friday.",
    "metadata": {"content_type": "fact"},
    "updated_at": _TIME,
}
_KEY = {"key_id": _ID, "tenant_id": "acme", "name": "production", "user_id": None, "agent_id": None, "roles": ["writer"], "hint": "x7Qz",
        "created_by": "alice", "created_at": _TIME, "expires_at": None, "last_used_at": None, "revoked_at": None}  # fmt: skip
_ERASED = {"tenant_id": "acme", "user_id": "alice", "removed": {"memories": 12, "memory_vectors": 12}, "events_redacted": 14,
           "remaining": {"memories": 0, "memory_vectors": 0}, "complete": True, "erased_at": _TIME}  # fmt: skip
_TENANT = {
    "tenant_id": "acme",
    "users": 3,
    "memories": 120,
    "bytes": 40_000,
    "max_memories": 10_000,
    "max_bytes": None,
    "created_at": _TIME,
}
_NOTES = {"session_id": "session-1", "summary": "- I'm allergic to peanuts.", "items": [{"kind": "decision", "text": "We decided to sail on Friday.",
          "role": "user", "at": _TIME}], "message_count": 5, "updated_at": _TIME, "expires_at": "2026-11-23T09:00:00Z"}  # fmt: skip
_OPERATION = {"operation_id": _ID, "tenant_id": "acme", "job": "decay", "status": "completed", "counts": {"archived": 12}, "error": None,
              "undoable": True, "started_at": _TIME, "finished_at": _TIME, "undone_at": None, "undone_by": None}  # fmt: skip
_SOURCE = {"name": "metrics", "kind": "database", "purpose": "Users, orders and revenue by day", "visibility": "tenant", "memory_id": _ID,
           "updated_at": _TIME}  # fmt: skip
_BUILT = {"text": "<!-- keeps:context -->\n## What is known\n- Alice is allergic to peanuts.\n<!-- /keeps:context -->", "tokens": 31, "budget_tokens": 4_000,
          "tokenizer": "wordpiece", "signals": [], "since": None, "until": None,
          "sections": [{"name": "long_term", "title": "What is known", "tokens": 9, "share_tokens": 800,
                        "items": [{"memory_id": _ID, "text": "Alice is allergic to peanuts.", "tokens": 9, "score": 1.8, "trusted": True}]}],
          "left_out": [], "sources_ms": {"memories": 9.1, "all": 9.3}, "router_ms": 1.2, "took_ms": 10.6, "degraded": False, "degraded_sources": []}  # fmt: skip
_INSIGHTS = {"total_memories": 156, "important_memories": 42, "by_kind": {"semantic": 56, "episodic": 100}, "by_layer": {"long_term": 60, "short_term": 96},
             "by_namespace": {"": 150, "facts": 6}, "common_tags": {"health": 3}, "most_accessed_namespace": "facts",
             "most_used": [{"memory_id": _ID, "content": "Alice is allergic to peanuts.", "access_count": 9, "last_accessed_at": _TIME}], "never_used": 90,
             "growth": [{"week": "2026-11-16", "memories": 31}], "growth_trend": "increasing",
             "decay": {"within_a_day": 2, "within_a_week": 14, "within_a_month": 60, "archived": 8}, "superseded": 5, "forgotten": 1, "stale": 0, "promoted": 4,
             "junk_share": 0.0, "index_pending": 0, "index_lag_seconds": 0.0,
             "storage": [{"day": "2026-11-22", "memories": 156, "bytes": 40_000, "events": 412}]}  # fmt: skip
_DELETED = {"success": True, "deleted": True, "message": "it is deleted"}
_ATOMIC = {"plan_id": "plan-1", "path": "state.actions", "key": "state", "value": ["search"], "version": 2}

PARAMETERS: dict[str, Any] = {
    "plan_id": "plan-1", "key": "summary", "task_id": "task-1", "sub_task_id": "sub-1", "correlation_id": "c-1", "session_id": "session-1",
    "agent_id": "concierge", "q": "when does the office close?", "query": "when does the office close?", "memory_id": _ID, "key_id": _ID,
    "user_id": "alice", "tenant_id": "acme", "provider_id": "working", "entry_key": "notes/plan", "webhook_id": _ID, "older_than_days": 365, "entity_id": _ID, "relation_id": _ID,
    "operation_id": _ID, "name": "metrics",
}  # fmt: skip

BODIES: dict[str, Any] = {
    "post /v1/memory/semantic": {"content": "The office closes at six.", "is_public": True, "tags": ["office"], "metadata": {"page": 3}},
    "post /v1/memory/semantic/upsert": {"content": "The office closes at six.", "dedupe_threshold": 0.95},
    "post /v1/memory/episodic": {"agent_id": "concierge", "role": "user", "content": "A window seat, please."},
    "post /v1/memory/procedural": {"agent_id": "billing", "trigger_condition": "the user asks about an invoice",
                                   "procedure_type": "system_prompt", "content": "Check Stripe first."},
    "put /v1/memory/working/{plan_id}/{key}": {"value": {"confidence": 0.9}, "expected_version": 0},
    "post /v1/memory/working/{plan_id}": {"key": "summary", "value": {"confidence": 0.9}},
    "post /v1/memory/atomic/append": {"plan_id": "plan-1", "path": "state.actions", "value": "search"},
    "post /v1/memory/atomic/extend": {"plan_id": "plan-1", "path": "state.actions", "values": ["search", "read"]},
    "post /v1/memory/atomic/merge": {"plan_id": "plan-1", "path": "state.settings", "changes": {"depth": 2}},
    "post /v1/memory/atomic/increment": {"plan_id": "plan-1", "path": "state.retries", "delta": 1},
    "post /v1/memory/task-context": {"task_id": "task-1", "plan_id": "plan-1", "event_type": "research.requested", "data": {"topic": "bees"},
                                     "sub_tasks": ["sub-1"], "state": {}},
    "put /v1/memory/task-context/{task_id}/sub-tasks/{sub_task_id}": {"status": "completed", "result": {"found": 3}},
    "put /v1/memory/task-context/{task_id}": {"sub_tasks": ["sub-1", "sub-2"], "state": {"progress": 0.75}},
    "post /v1/memory/plan-context": {"plan_id": "plan-1", "session_id": "session-1", "goal_event": "research.goal", "current_state": "search",
                                     "correlation_ids": ["c-1"]},
    "put /v1/memory/plan-context/{plan_id}": {"current_state": "summarise", "expected_version": 1},
    "post /v1/memory/plans": {"goal_event": "research.goal", "goal_data": {"topic": "bees"}, "session_id": "session-1"},
    "put /v1/memory/plans/{plan_id}": {"status": "completed", "state": {"result": "done"}},
    "post /v1/memory/sessions": {"name": "Research", "metadata": {}},
    "put /v1/memory/sessions/{session_id}": {"name": "Research on bees"},
    "post /v1/memories": {"content": "Alice is allergic to peanuts.", "tags": ["health"], "importance": 0.9},
    "post /v1/memories/batch": {"items": [{"content": "Alice is allergic to peanuts."}], "index": "later"},
    "patch /v1/memories/{memory_id}": {"content": "Alice is allergic to peanuts and cashews."},
    "post /v1/recall": {"query": "what must she not eat?", "limit": 5},
    "post /v1/context": {"query": "what should she order?", "session_id": "session-1", "budget_tokens": 4_000},
    "post /v1/sources": {"name": "metrics", "kind": "database", "purpose": "Users, orders and revenue by day"},
    "post /v1/exchanges": {"session_id": "session-1", "messages": [{"role": "user", "content": "I'm allergic to peanuts."},
                                                                   {"role": "assistant", "content": "Noted."}]},
    "post /v1/activities": {"content": "Checked the mail box: three new letters.", "activity": "heartbeat"},
    "post /v1/graph/entities": {"name": "Alice", "entity_type": "person", "aliases": ["Al"], "properties": {"born": 1990}},
    "post /v1/graph/entities/{entity_id}/merge": {"merged_id": _ID},
    "post /v1/graph/relations": {"source": "Alice", "target": "Acme", "relation_type": "works_at", "exclusive": True},
    "post /v1/graph/traverse": {"start": "Alice", "path_pattern": "person -works_at-> org <-works_at- person"},
    "post /v1/graph/shortest-path": {"source": "Alice", "target": "Bob", "max_depth": 4},
    "post /v1/graph/mentions": {"memory_id": _ID, "entity_id": _ID},
    "post /v1/providers/markdown/append": {"text": "Alice lives in Lisbon. Yesterday she met Bob."},
    "put /v1/providers/{provider_id}/entries/{entry_key}": {"value": "Call Bob on Friday."},
    "post /v1/admin/keys": {"name": "production", "roles": ["writer"]},
    "put /v1/admin/tenants/{tenant_id}": {"max_memories": 10_000},
    "post /v1/admin/webhooks": {"url": "https://example.com/keeps", "types": ["memory.*"]},
    "post /v1/admin/import": '{"type": "memory", "row": {…}}',
}  # fmt: skip

ANSWERS: dict[str, Any] = {
    "post /v1/memory/semantic": _SEMANTIC, "post /v1/memory/semantic/upsert": {"status": "updated", "id": _ID},
    "post /v1/memory/semantic/query": [_SEMANTIC], "get /v1/memory/semantic/search": [_SEMANTIC], "post /v1/memory/episodic": _EPISODIC,
    "get /v1/memory/episodic/recent": [_EPISODIC], "get /v1/memory/episodic/search": [_EPISODIC], "post /v1/memory/procedural": _SKILL,
    "get /v1/memory/procedural/context": [_SKILL], "get /v1/memory/working/{plan_id}/{key}": _ITEM,
    "put /v1/memory/working/{plan_id}/{key}": _ITEM, "delete /v1/memory/working/{plan_id}/{key}": _DELETED,
    "get /v1/memory/working/{plan_id}": [_ITEM], "post /v1/memory/working/{plan_id}": _ITEM,
    "delete /v1/memory/working/{plan_id}": {"success": True, "count_deleted": 2, "message": "2 keys are deleted"},
    "post /v1/memory/atomic/extend": {**_ATOMIC, "value": ["search", "read"]},
    "post /v1/memory/atomic/merge": {**_ATOMIC, "path": "state.settings", "value": {"depth": 2}},
    "post /v1/memory/atomic/append": _ATOMIC, "post /v1/memory/atomic/increment": {**_ATOMIC, "path": "state.retries", "value": 3},
    "post /v1/memory/task-context": _TASK, "get /v1/memory/task-context/by-subtask/{sub_task_id}": _TASK,
    "put /v1/memory/task-context/{task_id}/sub-tasks/{sub_task_id}": _TASK,
    "get /v1/memory/task-context/{task_id}": _TASK, "put /v1/memory/task-context/{task_id}": _TASK,
    "delete /v1/memory/task-context/{task_id}": _DELETED, "post /v1/memory/plan-context": _CONTEXT,
    "get /v1/memory/plan-context/by-correlation/{correlation_id}": _CONTEXT, "get /v1/memory/plan-context/{plan_id}": _CONTEXT,
    "put /v1/memory/plan-context/{plan_id}": _CONTEXT, "post /v1/memory/plans": _PLAN, "get /v1/memory/plans": [_PLAN],
    "get /v1/memory/plans/{plan_id}": _PLAN, "put /v1/memory/plans/{plan_id}": _PLAN, "delete /v1/memory/plans/{plan_id}": _DELETED,
    "post /v1/memory/sessions": _SESSION, "get /v1/memory/sessions": [_SESSION], "get /v1/memory/sessions/{session_id}": _SESSION,
    "put /v1/memory/sessions/{session_id}": _SESSION, "delete /v1/memory/sessions/{session_id}": _DELETED, "post /v1/memories": _RECEIPT,
    "get /v1/memories": {"items": [_MEMORY], "next_cursor": None}, "post /v1/memories/batch": [_RECEIPT],
    "get /v1/memories/{memory_id}": _MEMORY, "patch /v1/memories/{memory_id}": {**_RECEIPT, "status": "updated"},
    "delete /v1/memories/{memory_id}": {"status": "forgotten", "memory_id": _ID, "event_id": _ID, "indexed": False},
    "delete /v1/memories": {"status": "forgotten", "memory_id": _ID, "event_id": _ID, "indexed": False},
    "post /v1/memories/{memory_id}/restore": {**_RECEIPT, "status": "restored"}, "get /v1/memories/{memory_id}/history": [_EVENT],
    "post /v1/recall": {"hits": [{"memory": _MEMORY, "score": 0.93, "provider_id": "postgres", "tier": "indexed"}], "took_ms": 7.1,
                        "partial": False, "failed_providers": []},
    "post /v1/context": _BUILT, "post /v1/sources": _SOURCE, "get /v1/sources": [_SOURCE],
    "delete /v1/sources/{name}": {"status": "forgotten", "memory_id": _ID, "event_id": _ID, "indexed": False},
    "post /v1/exchanges": {"session_id": "session-1", "messages": [_RECEIPT], "facts": [_RECEIPT], "recalled": 0, "notes": _NOTES},
    "post /v1/activities": _RECEIPT, "get /v1/sessions/{session_id}/notes": _NOTES, "post /v1/sessions/{session_id}/end": _RECEIPT,
    "get /v1/insights": _INSIGHTS,
    "get /v1/insights/junk": {"would_promote": 4, "would_promote_junk": 0, "promoted": 40, "promoted_junk": 1, "junk_share": 0.02, "examples": ["Ok then!"]},
    "get /v1/operations": {"items": [_OPERATION], "next_cursor": None},
    "get /v1/operations/{operation_id}": {**_OPERATION, "changes": [{"memory_id": _ID, "before": {"archived_at": None}, "after": {"archived_at": _TIME}}]},
    "post /v1/operations/{operation_id}/undo": {**_OPERATION, "status": "undone", "undoable": False, "undone_at": _TIME, "undone_by": "alice"},
    "get /v1/admin/jobs": [{"job": "decay", "status": "queued", "jobs": 3, "oldest": _TIME}],
    "get /v1/admin/jobs/held": [{"id": 7, "job": "decay", "tenant_id": "acme", "attempts": 5, "failed_at": _TIME}], "post /v1/admin/jobs/retry": 1,
    "post /v1/graph/entities": _ENTITY, "get /v1/graph/entities": {"items": [_ENTITY], "next_cursor": None},
    "get /v1/graph/entities/{entity_id}": _ENTITY, "delete /v1/graph/entities/{entity_id}": {**_ENTITY, "deleted_at": _TIME},
    "get /v1/graph/entities/{entity_id}/relations": [_RELATION], "post /v1/graph/entities/{entity_id}/merge": _ENTITY,
    "post /v1/graph/entities/{entity_id}/unmerge": _ENTITY, "post /v1/graph/relations": _RELATION,
    "delete /v1/graph/relations/{relation_id}": {**_RELATION, "deleted_at": _TIME}, "post /v1/graph/traverse": _TRAVERSAL,
    "post /v1/graph/shortest-path": _TRAVERSAL, "get /v1/graph/mentions": [_MENTION], "post /v1/graph/mentions": {**_MENTION, "source": "user"},
    "delete /v1/graph/mentions": {**_MENTION, "source": "user", "rejected": True},
    "post /v1/graph/read": {"memories": 120, "entities": 14, "mentions": 210, "pending": 0},
    "get /v1/providers": [{"provider_id": "postgres", "tier": "persistent", "supports_search": True, "supports_graph": False, "content_types": ["*"],
                           "read_only": False, "builtin": True, "state": "active", "registered_at": None}],
    "post /v1/providers/markdown/append": [_ENTRY],
    "put /v1/providers/{provider_id}/entries/{entry_key}": _ENTRY, "get /v1/providers/{provider_id}/entries/{entry_key}": _ENTRY,
    "delete /v1/providers/{provider_id}/entries/{entry_key}": _ENTRY,
    "post /v1/providers/{provider_id}/rebuild": {"provider_id": "vector", "entries": 120},
    "get /v1/events": [_EVENT], "get /v1/events/stream": "id: 1\nevent: memory.written\ndata: {…}\n\n",
    "get /v1/admin/events/verify": {"tenant_id": "acme", "equal": True, "events": 412, "compared": {"memories": 120, "plans": 3}, "differences": []},
    "get /v1/admin/events/replay": [{"table": "memories", "rows": 120}],
    "post /v1/admin/events/retire": {"before": _TIME, "removed": 9_000, "kept": 120}, "post /v1/admin/webhooks": {**_WEBHOOK, "secret": "whsec_…"},
    "get /v1/admin/webhooks": [_WEBHOOK], "delete /v1/admin/webhooks/{webhook_id}": _WEBHOOK,
    "get /v1/admin/webhooks/{webhook_id}/failures": [{"webhook_id": _ID, "sequence": 40, "attempts": 9, "error": "HTTP 500", "failed_at": _TIME}],
    "post /v1/admin/webhooks/{webhook_id}/retry": _WEBHOOK,
    "post /v1/admin/keys": {**_KEY, "secret": "keeps_…"}, "get /v1/admin/keys": [_KEY],
    "delete /v1/admin/keys/{key_id}": {**_KEY, "revoked_at": _TIME}, "delete /v1/admin/users/{user_id}": _ERASED,
    "get /v1/admin/tenants": [_TENANT], "put /v1/admin/tenants/{tenant_id}": _TENANT,
    "delete /v1/admin/tenants/{tenant_id}": {**_ERASED, "user_id": None}, "get /v1/admin/export": '{"type": "memory", "row": {…}}',
    "post /v1/admin/import": {"stored": 12, "unchanged": 0, "failed": 0, "errors": []},
}  # fmt: skip
