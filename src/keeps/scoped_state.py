"""The CoALA names and the state that agents share, for one scope."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from keeps.lifecycle.duplicates import canonical, same_words
from keeps.memories.coala import EXTERNAL, episodic_item, procedural_item, semantic_item
from keeps.plans.service import context_of
from keeps.services import Scoped
from keeps_client.errors import ValidationFailedError
from keeps_client.models import (
    AtomicAppend,
    AtomicExtend,
    AtomicIncrement,
    AtomicMerge,
    Deleted,
    EpisodicItem,
    KnowledgeUpsert,
    MemoryChange,
    NewInteraction,
    NewKnowledge,
    NewMemory,
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
    RecallRequest,
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
from keeps_client.validation import given, in_context, limited, listed, named, one_of, validated


class ScopedState(Scoped):
    """Knowledge, interactions and skills; working memory, plans, tasks and sessions."""

    async def store_knowledge(
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
        public = new.is_public if new.public is None else new.public
        memory = validated(NewMemory, {
            "content": new.content, "metadata": new.metadata, "tags": new.tags, "source": new.source, "visibility": "tenant" if public else "private",
            "namespace": EXTERNAL if new.external_id else None, "key": new.external_id,
        })  # fmt: skip
        return semantic_item(await self._stored(memory))

    async def upsert_knowledge(
        self, content: str, *, metadata: dict[str, Any] | None = None, dedupe_threshold: float = 0.95
    ) -> Upserted:
        """Store a fact, or put it in place of one's own nearest that is at least `dedupe_threshold` similar (cosine) and says the
        same: the left knee is not the right one, however near the sentences are."""
        new = validated(
            KnowledgeUpsert, {"content": content, "dedupe_threshold": dedupe_threshold} | given(metadata=metadata)
        )
        nearest = await self.services.recall.most_similar(self.scope, new.content)
        if (
            nearest is not None
            and nearest[1] >= new.dedupe_threshold
            and same_words(canonical(nearest[0].content), canonical(new.content))
        ):
            changed: dict[str, Any] = {"content": new.content} | ({"metadata": new.metadata} if new.metadata else {})
            change = validated(MemoryChange, changed)
            receipt = await self.services.memories.update(
                self.scope, nearest[0].memory_id, change, if_version=None, index_now=True
            )
        else:
            receipt = await self.services.memories.remember(
                self.scope, validated(NewMemory, {"content": new.content, "metadata": new.metadata}), index_now=True
            )
        # From the receipt, not from the way taken: sent again with its key, a request that created finds its own fact.
        return Upserted(status="created" if receipt.status == "created" else "updated", id=str(receipt.memory_id))

    async def query_knowledge(
        self, query: str, *, limit: int = 5, include_public: bool = True
    ) -> builtins.list[SemanticItem]:
        """The facts that best answer, best first: one's own, and what the tenant shares."""
        request = validated(
            RecallRequest,
            {"query": query, "limit": limit, "kinds": ("semantic",), "scope": "all" if include_public else "own"},
        )
        result = await self.services.recall.recall(self.scope, request)
        return [semantic_item(hit.memory, hit) for hit in result.hits]

    async def search_knowledge(self, query: str, *, limit: int = 5) -> builtins.list[SemanticItem]:
        """The facts that best answer, best first."""
        return await self.query_knowledge(query, limit=limit)

    async def log_interaction(
        self,
        agent_id: str | None,
        role: Role,
        content: str,
        *,
        metadata: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> EpisodicItem:
        """Store what was said or done, private to this user and agent."""
        new = validated(
            NewInteraction,
            {"agent_id": self._agent(agent_id), "role": role, "content": content}
            | given(metadata=metadata, session_id=session_id),
        )
        now = self.services.memories.now()
        memory = validated(NewMemory, {
            "content": new.content, "kind": "episodic", "content_type": "interaction", "role": new.role, "agent_id": new.agent_id, "metadata": new.metadata,
            "session_id": new.session_id, "valid_from": now,
        })  # fmt: skip
        return episodic_item(await self._stored(memory))

    async def get_recent_history(self, agent_id: str | None = None, *, limit: int = 10) -> builtins.list[EpisodicItem]:
        """What this agent logged last, newest first."""
        wanted: dict[str, Any] = {"AND": [{"kind": {"eq": "episodic"}}, {"agent_id": {"eq": self._agent(agent_id)}},
                                          {"user_id": {"eq": self.scope.user_id}}]}  # fmt: skip
        page = await self.services.memories.list(self.scope, filters=wanted, limit=limited(limit), cursor=None)
        return [episodic_item(memory) for memory in page.items]

    async def search_interactions(
        self, agent_id: str | None, query: str, *, limit: int = 5
    ) -> builtins.list[EpisodicItem]:
        """What this agent logged that best answers, best first."""
        wanted = {
            "query": query,
            "limit": limit,
            "kinds": ("episodic",),
            "agent_id": self._agent(agent_id),
            "scope": "own",
        }
        result = await self.services.recall.recall(self.scope, validated(RecallRequest, wanted))
        return [episodic_item(hit.memory, hit) for hit in result.hits]

    async def store_skill(
        self, agent_id: str | None, content: str, *, procedure_type: ProcedureType, trigger_condition: str | None = None
    ) -> ProceduralItem:
        """Store a prompt or example for an agent, and when it applies."""
        new = validated(
            NewSkill,
            {"agent_id": self._agent(agent_id), "content": content, "procedure_type": procedure_type}
            | given(trigger_condition=trigger_condition),
        )
        memory = validated(NewMemory, {
            "content": new.content, "kind": "procedural", "content_type": "skill", "agent_id": new.agent_id, "procedure_type": new.procedure_type,
            "trigger_condition": new.trigger_condition,
        })  # fmt: skip
        return procedural_item(await self._stored(memory))

    async def get_relevant_skills(
        self, agent_id: str | None, context: str, *, limit: int = 3
    ) -> builtins.list[ProceduralItem]:
        """The skills of an agent that best fit, best first."""
        wanted = {
            "query": context,
            "limit": limit,
            "kinds": ("procedural",),
            "agent_id": self._agent(agent_id),
            "scope": "own",
        }
        result = await self.services.recall.recall(self.scope, validated(RecallRequest, wanted))
        return [procedural_item(hit.memory, hit) for hit in result.hits]

    async def store(self, key: str, value: Any, plan_id: str, *, ttl_seconds: float | None = None) -> WorkingItem:
        """Store a value in the working memory of a plan, shared with the agents of the tenant."""
        new = validated(NewWorkingItem, {"key": key, "value": value} | given(ttl_seconds=ttl_seconds))
        return await self.services.working.put(self.scope, _id("plan_id", plan_id), new)

    async def store_if_version_matches(
        self, key: str, value: Any, plan_id: str, expected_version: int, *, ttl_seconds: float | None = None
    ) -> WorkingItem:
        """Store a value if the key still has this version (0: is not there). Raises ConflictError, which carries what is."""
        new = validated(
            NewWorkingItem,
            {"key": key, "value": value, "expected_version": expected_version} | given(ttl_seconds=ttl_seconds),
        )
        return await self.services.working.put(self.scope, _id("plan_id", plan_id), new)

    async def retrieve(self, key: str, plan_id: str) -> Any | None:
        """The value of a key, or None."""
        return (await self.retrieve_with_version(key, plan_id))[0]

    async def retrieve_with_version(self, key: str, plan_id: str) -> tuple[Any | None, int]:
        """The value and version of a key; (None, 0) where there is none."""
        item = await self.services.working.find(self.scope, _id("plan_id", plan_id), _id("key", key))
        return (None, 0) if item is None else (item.value, item.version)

    async def append_to_list(self, key: str, value: Any, plan_id: str, *, whole: bool = False) -> builtins.list[Any]:
        """Append to the list at `key` or `key.sub.path`, atomically; returns the list as it is then. `whole`: points in the key
        are part of it."""
        new = validated(AtomicAppend, {"plan_id": plan_id, "path": key, "value": value, "whole": whole})
        result: Any = (await self.services.working.change(self.scope, new)).value
        return result

    async def extend_list(
        self, key: str, values: Sequence[Any], plan_id: str, *, whole: bool = False
    ) -> builtins.list[Any]:
        """Append all of `values` to the list at `key`, next to each other, atomically; returns the list as it is then."""
        new = validated(AtomicExtend, {"plan_id": plan_id, "path": key, "values": _array(values), "whole": whole})
        result: Any = (await self.services.working.change(self.scope, new)).value
        return result

    async def update_object(
        self, key: str, changes: dict[str, Any], plan_id: str, *, whole: bool = False
    ) -> dict[str, Any]:
        """Set entries of the object at `key`, whose others stay, atomically; returns the object as it is then."""
        new = validated(AtomicMerge, {"plan_id": plan_id, "path": key, "changes": changes, "whole": whole})
        result: Any = (await self.services.working.change(self.scope, new)).value
        return result

    async def increment(self, key: str, plan_id: str, delta: float = 1, *, whole: bool = False) -> float:
        """Add to the number at `key` or `key.sub.path`, atomically; returns the number as it is then."""
        new = validated(AtomicIncrement, {"plan_id": plan_id, "path": key, "delta": delta, "whole": whole})
        result: Any = (await self.services.working.change(self.scope, new)).value
        return result

    async def set_plan_state(self, plan_id: str, key: str, value: Any) -> WorkingItem:
        """The same as `store`."""
        return await self.store(key, value, plan_id)

    async def get_plan_state(self, plan_id: str, key: str) -> WorkingItem:
        """One key with its version. Raises NotFoundError."""
        return one_of(
            await self.services.working.find(self.scope, _id("plan_id", plan_id), _id("key", key)),
            f"plan {plan_id!r} has no key {key!r}",
        )

    async def list_plan_state(self, plan_id: str, *, limit: int = 100, cursor: str | None = None) -> Page[WorkingItem]:
        """The keys of a plan, by key, a page at a time."""
        start = None if cursor is None else named("cursor", cursor)
        return await self.services.working.page(self.scope, _id("plan_id", plan_id), limited(limit), start)

    async def delete_plan_state(self, plan_id: str, key: str | None = None) -> WorkingDeleted | WorkingCleared:
        """Remove a key (NotFoundError where there is none), or all; values go from the table and from the log, now."""
        if key is None:
            return await self.services.working.clear(self.scope, _id("plan_id", plan_id))
        return await self.services.working.delete(self.scope, _id("plan_id", plan_id), _id("key", key))

    async def store_task_context(
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
                    event_type=event_type, plan_id=plan_id, response_event=response_event, response_topic=response_topic, data=data,
                    sub_tasks=_array(sub_tasks), state=state, expected_version=expected_version,
                ),
                event_type="task",
            ),
        )  # fmt: skip
        return await self.services.tasks.store(self.scope, new)

    async def get_task_context(self, task_id: str) -> TaskContext:
        """Raises NotFoundError."""
        return await self.services.tasks.get(self.scope, _id("task_id", task_id))

    async def update_task_context(self, task_id: str, **changes: Any) -> TaskContext:
        """Change the named fields (those of TaskContextChange); with `expected_version`, only if it is stored."""
        change = validated(TaskContextChange, changes)
        return await self.services.tasks.update(self.scope, _id("task_id", task_id), change)

    async def put_sub_task(
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
        return await self.services.tasks.put_sub_task(
            self.scope, _id("task_id", task_id), _id("sub_task_id", sub_task_id), change
        )

    async def delete_task_context(self, task_id: str) -> Deleted:
        """Remove it, and what its events say. Raises NotFoundError."""
        return await self.services.tasks.delete(self.scope, _id("task_id", task_id))

    async def get_task_by_subtask(self, sub_task_id: str) -> TaskContext:
        """The task that waits for a sub-task. Raises NotFoundError."""
        return await self.services.tasks.by_subtask(self.scope, _id("sub_task_id", sub_task_id))

    async def store_plan_context(
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
                    goal_event=goal_event, session_id=session_id, goal_data=goal_data, response_event=response_event, state=state,
                    current_state=current_state, correlation_ids=_array(correlation_ids), expected_version=expected_version,
                ),
                goal_event="goal",
            ),
        )  # fmt: skip
        return await self.services.plans.store_context(self.scope, new)

    async def get_plan_context(self, plan_id: str) -> PlanContext:
        """Raises NotFoundError."""
        return context_of(await self.services.plans.get(self.scope, _id("plan_id", plan_id)))

    async def update_plan_context(self, plan_id: str, **changes: Any) -> PlanContext:
        """Change the named fields (those of PlanContextChange); with `expected_version`, only if it is stored."""
        change = validated(PlanContextChange, changes)
        return context_of(await self.services.plans.update(self.scope, _id("plan_id", plan_id), change))

    async def get_plan_by_correlation(self, correlation_id: str) -> PlanContext:
        """The plan that waits for an id. Raises NotFoundError."""
        return context_of(await self.services.plans.by_correlation(self.scope, _id("correlation_id", correlation_id)))

    async def create_plan(
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
                plan_id=plan_id, goal_data=goal_data, response_event=response_event, session_id=session_id, parent_plan_id=parent_plan_id, state=state,
            ),
        )  # fmt: skip
        return await self.services.plans.create(self.scope, new)

    async def get_plan(self, plan_id: str) -> Plan:
        """Raises NotFoundError."""
        return await self.services.plans.get(self.scope, _id("plan_id", plan_id))

    async def update_plan(self, plan_id: str, **changes: Any) -> Plan:
        """Change the named fields (those of PlanChange); with `expected_version`, only if it is stored."""
        return await self.services.plans.update(self.scope, _id("plan_id", plan_id), validated(PlanChange, changes))

    async def delete_plan(self, plan_id: str) -> Deleted:
        """Remove a plan with its sub-plans, task contexts and working memory. Raises NotFoundError."""
        return await self.services.plans.delete(self.scope, _id("plan_id", plan_id))

    async def list_plans(
        self,
        *,
        status: PlanFilter | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[Plan]:
        """Plans, newest first, a page at a time. `active` means running or paused."""
        if status not in (None, "active", *_STATUSES):
            raise ValidationFailedError(f"status must be one of active, {', '.join(_STATUSES)}")
        return await self.services.plans.page(
            self.scope,
            status=status,
            session_id=None if session_id is None else named("session_id", session_id),
            parent_plan_id=None if parent_plan_id is None else named("parent_plan_id", parent_plan_id),
            limit=limited(limit),
            cursor=None if cursor is None else named("cursor", cursor),
        )

    async def create_session(
        self,
        *,
        session_id: str | None = None,
        name: str | None = None,
        agent_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Store a new conversation; without an id one is made."""
        new = validated(NewSession, given(session_id=session_id, name=name, agent_id=agent_id, metadata=metadata))
        return await self.services.sessions.create(self.scope, new)

    async def get_session(self, session_id: str) -> Session:
        """Raises NotFoundError."""
        return await self.services.sessions.get(self.scope, _id("session_id", session_id))

    async def update_session(self, session_id: str, **changes: Any) -> Session:
        """Change the named fields (those of SessionChange); with none, only its last interaction moves."""
        change = validated(SessionChange, changes)
        return await self.services.sessions.update(self.scope, _id("session_id", session_id), change)

    async def delete_session(self, session_id: str) -> Deleted:
        """Remove a session; its plans stay. Raises NotFoundError."""
        deleted = await self.services.sessions.delete(self.scope, _id("session_id", session_id))
        await self.services.exchanges.drop_copies(self.scope, session_id)
        return deleted

    async def list_sessions(self, *, limit: int = 20, cursor: str | None = None) -> Page[Session]:
        """Sessions, newest first, a page at a time."""
        start = None if cursor is None else named("cursor", cursor)
        return await self.services.sessions.page(self.scope, limited(limit), start)

    def _agent(self, agent_id: str | None) -> str:
        """The agent that is named, else the one who asks. Raises ValidationFailedError where there is neither."""
        found = self.scope.agent_id if agent_id is None else agent_id
        if found is None:
            raise ValidationFailedError("agent_id: say which agent, or ask as one (X-Agent-ID, or a token of an agent)")
        return named("agent_id", found)

    async def _stored(self, new: NewMemory) -> Any:
        receipt = await self.services.memories.remember(self.scope, new, index_now=True)
        return receipt.memory


_STATUSES = ("pending", "running", "paused", "completed", "failed", "cancelled")


def _id(name: str, value: object) -> str:
    return named(name, value, 255)


def _array(values: Any) -> Any:
    return list(values) if isinstance(values, list | tuple | set | frozenset) else values
