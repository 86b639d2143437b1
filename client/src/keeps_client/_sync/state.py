# Generated from keeps_client/_async by tools/make_sync.py; change that instead.
"""The CoALA names and the state that agents share, over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from keeps_client._requests import Answer, call, parsed
from keeps_client._sync.transport import Transport
from keeps_client.errors import NotFoundError
from keeps_client.models import (
    AtomicAppend,
    AtomicExtend,
    AtomicIncrement,
    AtomicMerge,
    AtomicResult,
    Deleted,
    EpisodicItem,
    KnowledgeUpsert,
    NewInteraction,
    NewKnowledge,
    NewPlan,
    NewPlanContext,
    NewSession,
    NewSkill,
    NewTaskContext,
    NewWorkingItem,
    Page,
    Plan,
    PlanChange,
    PlanContext,
    PlanContextChange,
    PlanFilter,
    PlanStatus,
    ProceduralItem,
    SemanticItem,
    Session,
    SessionChange,
    SubTaskChange,
    TaskContext,
    TaskContextChange,
    Upserted,
    WorkingCleared,
    WorkingDeleted,
    WorkingItem,
)
from keeps_client.models.memories import ProcedureType, Role
from keeps_client.validation import given, in_context, listed, named, validated

SEMANTIC, SEMANTICS = TypeAdapter(SemanticItem), TypeAdapter(list[SemanticItem])
EPISODIC, EPISODICS = TypeAdapter(EpisodicItem), TypeAdapter(list[EpisodicItem])
PROCEDURAL, PROCEDURALS = TypeAdapter(ProceduralItem), TypeAdapter(list[ProceduralItem])
WORKING, WORKINGS, ATOMIC = TypeAdapter(WorkingItem), TypeAdapter(list[WorkingItem]), TypeAdapter(AtomicResult)
TASK, CONTEXT, PLAN, PLANS = (
    TypeAdapter(TaskContext),
    TypeAdapter(PlanContext),
    TypeAdapter(Plan),
    TypeAdapter(list[Plan]),
)
SESSION, SESSIONS, DELETED = TypeAdapter(Session), TypeAdapter(list[Session]), TypeAdapter(Deleted)
UPSERTED, KEY_DELETED, CLEARED = TypeAdapter(Upserted), TypeAdapter(WorkingDeleted), TypeAdapter(WorkingCleared)


class StateClient:
    """Knowledge, interactions and skills; working memory, plans, tasks and sessions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def store_knowledge(
        self,
        content: str,
        *,
        external_id: str | None = None,
        is_public: bool = False,
        metadata: dict[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        source: str | None = None,
    ) -> SemanticItem:
        """Store a fact. `is_public` shows it to the whole tenant; under an `external_id` it replaces what was there."""
        new = validated(
            NewKnowledge,
            {"content": content, "is_public": is_public}
            | given(external_id=external_id, metadata=metadata, tags=listed(tags), source=source),
        )
        return parsed(SEMANTIC, self._transport.send(call("POST", "memory", "semantic", body=new)))

    def upsert_knowledge(
        self, content: str, *, metadata: dict[str, Any] | None = None, dedupe_threshold: float = 0.95
    ) -> Upserted:
        """Store a fact, or put it in place of one's own nearest that is at least `dedupe_threshold` similar (cosine)."""
        new = validated(
            KnowledgeUpsert, {"content": content, "dedupe_threshold": dedupe_threshold} | given(metadata=metadata)
        )
        return parsed(UPSERTED, self._transport.send(call("POST", "memory", "semantic", "upsert", body=new)))

    def query_knowledge(
        self, query: str, *, limit: int = 5, include_public: bool = True
    ) -> builtins.list[SemanticItem]:
        """The facts that best answer, best first: one's own, and what the tenant shares."""
        wanted = {"query": named("query", query), "limit": limit, "include_public": include_public}
        return parsed(
            SEMANTICS,
            self._transport.send(call("POST", "memory", "semantic", "query", query=wanted, repeatable=True)),
        )

    def search_knowledge(self, query: str, *, limit: int = 5) -> builtins.list[SemanticItem]:
        """The facts that best answer, best first."""
        wanted = {"q": named("query", query), "limit": limit}
        return parsed(SEMANTICS, self._transport.send(call("GET", "memory", "semantic", "search", query=wanted)))

    def log_interaction(
        self,
        agent_id: str | None,
        role: Role,
        content: str,
        *,
        metadata: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> EpisodicItem:
        """Store what was said or done, private to this user and agent; without an id, the agent who asks."""
        new = validated(
            NewInteraction,
            {"agent_id": _agent(agent_id), "role": role, "content": content}
            | given(metadata=metadata, session_id=session_id),
        )
        return parsed(EPISODIC, self._transport.send(call("POST", "memory", "episodic", body=new)))

    def get_recent_history(self, agent_id: str | None = None, *, limit: int = 10) -> builtins.list[EpisodicItem]:
        """What this agent logged last, newest first."""
        wanted = {"agent_id": _agent(agent_id), "limit": limit}
        return parsed(EPISODICS, self._transport.send(call("GET", "memory", "episodic", "recent", query=wanted)))

    def search_interactions(self, agent_id: str | None, query: str, *, limit: int = 5) -> builtins.list[EpisodicItem]:
        """What this agent logged that best answers, best first."""
        wanted = {"agent_id": _agent(agent_id), "q": named("query", query), "limit": limit}
        return parsed(EPISODICS, self._transport.send(call("GET", "memory", "episodic", "search", query=wanted)))

    def store_skill(
        self, agent_id: str | None, content: str, *, procedure_type: ProcedureType, trigger_condition: str | None = None
    ) -> ProceduralItem:
        """Store a prompt or example for an agent, and when it applies."""
        new = validated(
            NewSkill,
            {"agent_id": _agent(agent_id), "content": content, "procedure_type": procedure_type}
            | given(trigger_condition=trigger_condition),
        )
        return parsed(PROCEDURAL, self._transport.send(call("POST", "memory", "procedural", body=new)))

    def get_relevant_skills(
        self, agent_id: str | None, context: str, *, limit: int = 3
    ) -> builtins.list[ProceduralItem]:
        """The skills of an agent that best fit, best first."""
        wanted = {"agent_id": _agent(agent_id), "q": named("context", context), "limit": limit}
        return parsed(PROCEDURALS, self._transport.send(call("GET", "memory", "procedural", "context", query=wanted)))

    def store(self, key: str, value: Any, plan_id: str, *, ttl_seconds: float | None = None) -> WorkingItem:
        """Store a value in the working memory of a plan, shared with the agents of the tenant."""
        return self._put(key, value, plan_id, given(ttl_seconds=ttl_seconds))

    def store_if_version_matches(
        self, key: str, value: Any, plan_id: str, expected_version: int, *, ttl_seconds: float | None = None
    ) -> WorkingItem:
        """Store a value if the key still has this version (0: is not there). Raises ConflictError, which carries what is."""
        return self._put(key, value, plan_id, {"expected_version": expected_version} | given(ttl_seconds=ttl_seconds))

    def retrieve(self, key: str, plan_id: str) -> Any | None:
        """The value of a key, or None."""
        return (self.retrieve_with_version(key, plan_id))[0]

    def retrieve_with_version(self, key: str, plan_id: str) -> tuple[Any | None, int]:
        """The value and version of a key; (None, 0) where there is none."""
        try:
            item = self.get_plan_state(plan_id, key)
        except NotFoundError:
            return None, 0
        return item.value, item.version

    def append_to_list(self, key: str, value: Any, plan_id: str, *, whole: bool = False) -> builtins.list[Any]:
        """Append to the list at `key` or `key.sub.path`, atomically; returns the list as it is then. `whole`: points in the key
        are part of it."""
        new = validated(AtomicAppend, {"plan_id": plan_id, "path": key, "value": value, "whole": whole})
        return parsed(ATOMIC, self._transport.send(call("POST", "memory", "atomic", "append", body=new))).value

    def extend_list(self, key: str, values: Sequence[Any], plan_id: str, *, whole: bool = False) -> builtins.list[Any]:
        """Append all of `values` to the list at `key`, next to each other, atomically; returns the list as it is then."""
        new = validated(AtomicExtend, {"plan_id": plan_id, "path": key, "values": _array(values), "whole": whole})
        return parsed(ATOMIC, self._transport.send(call("POST", "memory", "atomic", "extend", body=new))).value

    def update_object(self, key: str, changes: dict[str, Any], plan_id: str, *, whole: bool = False) -> dict[str, Any]:
        """Set entries of the object at `key`, whose others stay, atomically; returns the object as it is then."""
        new = validated(AtomicMerge, {"plan_id": plan_id, "path": key, "changes": changes, "whole": whole})
        return parsed(ATOMIC, self._transport.send(call("POST", "memory", "atomic", "merge", body=new))).value

    def increment(self, key: str, plan_id: str, delta: float = 1, *, whole: bool = False) -> float:
        """Add to the number at `key` or `key.sub.path`, atomically; returns the number as it is then."""
        new = validated(AtomicIncrement, {"plan_id": plan_id, "path": key, "delta": delta, "whole": whole})
        return parsed(ATOMIC, self._transport.send(call("POST", "memory", "atomic", "increment", body=new))).value

    def set_plan_state(self, plan_id: str, key: str, value: Any) -> WorkingItem:
        """The same as `store`."""
        return self.store(key, value, plan_id)

    def get_plan_state(self, plan_id: str, key: str) -> WorkingItem:
        """One key with its version. Raises NotFoundError."""
        return parsed(WORKING, self._transport.send(call("GET", *_place(plan_id, key))))

    def list_plan_state(self, plan_id: str, *, limit: int = 100, cursor: str | None = None) -> Page[WorkingItem]:
        """The keys of a plan, by key, a page at a time."""
        wanted = {"limit": limit, "cursor": cursor}
        return _page(WORKINGS, self._transport.send(call("GET", *_place(plan_id), query=wanted)))

    def delete_plan_state(self, plan_id: str, key: str | None = None) -> WorkingDeleted | WorkingCleared:
        """Remove a key (NotFoundError where there is none), or all; values go from the table and from the log, now."""
        if key is None:
            return parsed(CLEARED, self._transport.send(call("DELETE", *_place(plan_id))))
        return parsed(KEY_DELETED, self._transport.send(call("DELETE", *_place(plan_id, key))))

    def store_task_context(
        self,
        task_id: str,
        plan_id: str | None = None,
        context: dict[str, Any] | None = None,
        *,
        event_type: str | None = None,
        response_event: str | None = None,
        response_topic: str | None = None,
        data: dict[str, Any] | None = None,
        sub_tasks: Sequence[Any] | None = None,
        state: dict[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> TaskContext:
        """Store delegated work, so that whoever gets the result can go on; one that is there is replaced.

        `context` holds several of the fields at once; what is no field goes into `state`.
        """
        new = validated(
            NewTaskContext,
            in_context(
                NewTaskContext,
                context,
                {"task_id": task_id}
                | given(
                    event_type=event_type,
                    plan_id=plan_id,
                    response_event=response_event,
                    response_topic=response_topic,
                    data=data,
                    sub_tasks=_array(sub_tasks),
                    state=state,
                    expected_version=expected_version,
                ),
                event_type="task",
            ),
        )
        return parsed(TASK, self._transport.send(call("POST", "memory", "task-context", body=new)))

    def get_task_context(self, task_id: str) -> TaskContext:
        """Raises NotFoundError."""
        return parsed(TASK, self._transport.send(call("GET", "memory", "task-context", named("task_id", task_id, 255))))

    def update_task_context(self, task_id: str, **changes: Any) -> TaskContext:
        """Change the named fields (those of TaskContextChange); with `expected_version`, only if it is stored."""
        change = validated(TaskContextChange, changes)
        wanted = call("PUT", "memory", "task-context", named("task_id", task_id, 255), body=change)
        return parsed(TASK, self._transport.send(wanted))

    def put_sub_task(
        self,
        task_id: str,
        sub_task_id: str,
        *,
        event_type: str | None = None,
        status: str | None = None,
        data: dict[str, Any] | None = None,
        result: Any = None,
    ) -> TaskContext:
        """Add a sub-task to a task, or note what became of it, atomically: nothing is lost when others do the same at once.

        `status` is free; `completed` means that it is pending no more. Raises NotFoundError where there is no such task.
        """
        change = validated(SubTaskChange, given(event_type=event_type, status=status, data=data, result=result))
        task, sub_task = named("task_id", task_id, 255), named("sub_task_id", sub_task_id, 255)
        wanted = call("PUT", "memory", "task-context", task, "sub-tasks", sub_task, body=change)
        return parsed(TASK, self._transport.send(wanted))

    def delete_task_context(self, task_id: str) -> Deleted:
        """Remove it, and what its events say. Raises NotFoundError."""
        wanted = call("DELETE", "memory", "task-context", named("task_id", task_id, 255))
        return parsed(DELETED, self._transport.send(wanted))

    def get_task_by_subtask(self, sub_task_id: str) -> TaskContext:
        """The task that waits for a sub-task. Raises NotFoundError."""
        wanted = call("GET", "memory", "task-context", "by-subtask", named("sub_task_id", sub_task_id, 255))
        return parsed(TASK, self._transport.send(wanted))

    def store_plan_context(
        self,
        plan_id: str,
        session_id: str | None = None,
        context: dict[str, Any] | None = None,
        *,
        goal_event: str | None = None,
        goal_data: dict[str, Any] | None = None,
        response_event: str | None = None,
        state: dict[str, Any] | None = None,
        current_state: str | None = None,
        correlation_ids: Sequence[str] | None = None,
        expected_version: int | None = None,
    ) -> PlanContext:
        """Store the state machine of a plan; the plan is made where it is not there.

        `context` holds several of the fields at once; what is no field goes into `state`.
        """
        new = validated(
            NewPlanContext,
            in_context(
                NewPlanContext,
                context,
                {"plan_id": plan_id}
                | given(
                    goal_event=goal_event,
                    session_id=session_id,
                    goal_data=goal_data,
                    response_event=response_event,
                    state=state,
                    current_state=current_state,
                    correlation_ids=_array(correlation_ids),
                    expected_version=expected_version,
                ),
                goal_event="goal",
            ),
        )
        return parsed(CONTEXT, self._transport.send(call("POST", "memory", "plan-context", body=new)))

    def get_plan_context(self, plan_id: str) -> PlanContext:
        """Raises NotFoundError."""
        wanted = call("GET", "memory", "plan-context", named("plan_id", plan_id, 255))
        return parsed(CONTEXT, self._transport.send(wanted))

    def update_plan_context(self, plan_id: str, **changes: Any) -> PlanContext:
        """Change the named fields (those of PlanContextChange); with `expected_version`, only if it is stored."""
        change = validated(PlanContextChange, changes)
        wanted = call("PUT", "memory", "plan-context", named("plan_id", plan_id, 255), body=change)
        return parsed(CONTEXT, self._transport.send(wanted))

    def get_plan_by_correlation(self, correlation_id: str) -> PlanContext:
        """The plan that waits for an id. Raises NotFoundError."""
        wanted = call("GET", "memory", "plan-context", "by-correlation", named("correlation_id", correlation_id, 255))
        return parsed(CONTEXT, self._transport.send(wanted))

    def create_plan(
        self,
        *,
        goal_event: str,
        plan_id: str | None = None,
        goal_data: dict[str, Any] | None = None,
        response_event: str | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        status: PlanStatus = "running",
        state: dict[str, Any] | None = None,
    ) -> Plan:
        """Store a new plan. A session that is not there is made; a parent must be there."""
        new = validated(
            NewPlan,
            {"goal_event": goal_event, "status": status}
            | given(
                plan_id=plan_id,
                goal_data=goal_data,
                response_event=response_event,
                session_id=session_id,
                parent_plan_id=parent_plan_id,
                state=state,
            ),
        )
        return parsed(PLAN, self._transport.send(call("POST", "memory", "plans", body=new)))

    def get_plan(self, plan_id: str) -> Plan:
        """Raises NotFoundError."""
        return parsed(PLAN, self._transport.send(call("GET", "memory", "plans", named("plan_id", plan_id, 255))))

    def update_plan(self, plan_id: str, **changes: Any) -> Plan:
        """Change the named fields (those of PlanChange); with `expected_version`, only if it is stored."""
        change = validated(PlanChange, changes)
        wanted = call("PUT", "memory", "plans", named("plan_id", plan_id, 255), body=change)
        return parsed(PLAN, self._transport.send(wanted))

    def delete_plan(self, plan_id: str) -> Deleted:
        """Remove a plan with its sub-plans, task contexts and working memory. Raises NotFoundError."""
        wanted = call("DELETE", "memory", "plans", named("plan_id", plan_id, 255))
        return parsed(DELETED, self._transport.send(wanted))

    def list_plans(
        self,
        *,
        status: PlanFilter | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[Plan]:
        """Plans, newest first, a page at a time. `active` means running or paused."""
        wanted = {
            "status": status, "session_id": session_id, "parent_plan_id": parent_plan_id, "limit": limit, "cursor": cursor,
        }  # fmt: skip
        return _page(PLANS, self._transport.send(call("GET", "memory", "plans", query=wanted)))

    def create_session(
        self,
        *,
        session_id: str | None = None,
        name: str | None = None,
        agent_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Store a new conversation; without an id one is made."""
        new = validated(NewSession, given(session_id=session_id, name=name, agent_id=agent_id, metadata=metadata))
        return parsed(SESSION, self._transport.send(call("POST", "memory", "sessions", body=new)))

    def get_session(self, session_id: str) -> Session:
        """Raises NotFoundError."""
        wanted = call("GET", "memory", "sessions", named("session_id", session_id, 255))
        return parsed(SESSION, self._transport.send(wanted))

    def update_session(self, session_id: str, **changes: Any) -> Session:
        """Change the named fields (those of SessionChange); with none, only its last interaction moves."""
        change = validated(SessionChange, changes)
        wanted = call("PUT", "memory", "sessions", named("session_id", session_id, 255), body=change)
        return parsed(SESSION, self._transport.send(wanted))

    def delete_session(self, session_id: str) -> Deleted:
        """Remove a session; its plans stay. Raises NotFoundError."""
        wanted = call("DELETE", "memory", "sessions", named("session_id", session_id, 255))
        return parsed(DELETED, self._transport.send(wanted))

    def list_sessions(self, *, limit: int = 20, cursor: str | None = None) -> Page[Session]:
        """Sessions, newest first, a page at a time."""
        wanted = {"limit": limit, "cursor": cursor}
        return _page(SESSIONS, self._transport.send(call("GET", "memory", "sessions", query=wanted)))

    def _put(self, key: str, value: Any, plan_id: str, options: dict[str, Any]) -> WorkingItem:
        new = validated(NewWorkingItem, {"key": key, "value": value, **options})
        body = new.model_dump(mode="json", exclude={"key"}, exclude_unset=True)
        return parsed(WORKING, self._transport.send(call("PUT", *_place(plan_id, key), body=body)))


def _place(plan_id: str, *key: str) -> builtins.list[str]:
    return ["memory", "working", named("plan_id", plan_id, 255), *(named("key", each, 255) for each in key)]


def _agent(agent_id: str | None) -> str | None:
    """None: the agent whom the token or the client names; the server knows."""
    return None if agent_id is None else named("agent_id", agent_id)


def _page(adapter: TypeAdapter[Any], answer: Answer) -> Page[Any]:
    return Page(items=parsed(adapter, answer), next_cursor=answer.headers.get("x-next-cursor"))


def _array(values: Any) -> Any:
    return list(values) if isinstance(values, list | tuple | set | frozenset) else values
