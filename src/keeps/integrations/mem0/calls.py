"""Runs mem0's calls on memories, for one caller."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.integrations.mem0.filters import APP, asks_for_others, translated, users_named
from keeps.integrations.mem0.shapes import (
    NAMES,
    NO_RUN,
    NOTHING_SAID,
    QUEUED,
    Adding,
    Asking,
    Batch,
    Changing,
    Mem0NotSupportedError,
    Outcome,
    Said,
    Searching,
    added,
    end_of,
    moment,
    past,
    shown,
)
from keeps.integrations.product_api import acting_as, administers, forget_all, own_memories, without_passages
from keeps.memory.memories.counts import MemoryCounts
from keeps_client.checked import validated
from keeps_client.errors import ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import Memory, NewMemory, Receipt
from keeps_client.models.common import MAX_LIMIT

_EVENTS = ("mem0", "events")
_EVENT_MINUTES = 7 * 24 * 60.0
_SUBJECTS = 10_000
_QUERY_CHARACTERS = 10_000


class Calls:
    """The calls of one caller. The credentials set the user; only those for any user let a call name one."""

    def __init__(self, keeps: Keeps, caller: Scope) -> None:
        self._keeps = keeps
        self._caller = caller

    async def add(self, body: Adding) -> list[Receipt]:
        """Store messages as they are; with `infer`, as a conversation and its facts."""
        body.refuse(
            "custom_categories",
            "custom_instructions",
            "agent_custom_instructions",
            "structured_data_schema",
            "includes",
            "excludes",
            "immutable",
            "prompt",
            "memory_type",
        )
        names = {**_ids(body.filters), **body.named()}
        if every := next((name for name, value in names.items() if value == "*"), None):
            raise ValidationFailedError(f"{every}: '*' means all users, which only a filter may name; name one user")
        memory = self._memory(names.get("user_id"))
        agent = self._agent(names.get("agent_id"))
        turns = body.said()
        if not turns:
            return []
        app = names.get("app_id")
        metadata = {**(body.metadata or {}), **({APP: app} if app else {})}
        at, ends = moment(body.timestamp), None if body.expiration_date is None else end_of(body.expiration_date)
        if not body.infer:
            return await memory.remember_many(
                [_verbatim(turn, body, metadata, agent, names.get("run_id"), at, ends) for turn in turns]
            )
        messages = [
            {"role": turn.role, "content": turn.text(), "speaker": turn.name, "occurred_at": at} for turn in turns
        ]
        done = await memory.store_exchange(
            messages, session_id=names.get("run_id", NO_RUN), agent_id=agent, metadata=metadata
        )
        receipts = [*done.messages, *done.facts]
        changes: dict[str, Any] = {"expires_at": ends, "tags": body.categories}
        if updates := {name: value for name, value in changes.items() if value}:
            for receipt in receipts:
                await memory.update(receipt.memory_id, **updates)
        return receipts

    async def queue(self, body: Adding) -> dict[str, Any]:
        """Run `add`, and answer as mem0 does: the result is read with `event`."""
        receipts = await self.add(body)
        if not receipts:
            return {"message": NOTHING_SAID, "status": "SUCCEEDED", "event_id": None, "results": []}
        first = receipts[0].memory_id
        memory = await self._of(str(first))
        value = {"memories": [[str(each.memory_id), added(each)["event"]] for each in receipts]}
        await memory.put_item(_EVENTS, str(first), value, index=False, ttl_minutes=_EVENT_MINUTES)
        return {"message": QUEUED, "status": "PENDING", "event_id": str(first)}

    async def event(self, event_id: str) -> dict[str, Any]:
        """Return the result of a `queue` call of the last seven days. Raises NotFoundError."""
        memory = await self._of(event_id, "event")
        item = await memory.get_item(_EVENTS, event_id)
        if item is None:
            raise NotFoundError(f"no event {event_id[:100]!r}; events are available for seven days")
        results: list[dict[str, Any]] = []
        try:
            outcome = Outcome.model_validate(item.value)
        except ValidationError:  # a caller who may write items may write these
            raise NotFoundError(f"no event {event_id[:100]!r}; its item has other contents") from None
        for memory_id, became in outcome.memories:
            try:
                stored = await memory.get(memory_id)
            except NotFoundError:
                continue
            if stored.deleted_at is None:
                result = {"id": str(memory_id), "event": became, "user_id": stored.user_id}
                results.append({**result, "memory": stored.content, "data": {"memory": stored.content}})
        at = item.created_at.isoformat()
        return {
            "id": event_id,
            "event_type": "ADD",
            "status": "SUCCEEDED",
            "results": results,
            "created_at": at,
            "updated_at": at,
            "latency": 0.0,
        }

    async def search(self, body: Searching) -> list[dict[str, Any]]:
        """Return the memories nearest to a query, best first; with a threshold, those that are at least as relevant.

        `score` is Keeps' `relevance`.
        """
        body.refuse("show_expired", "reference_date")
        conditions = body.conditions()
        wanted = min(body.top_k or body.limit or 10, MAX_LIMIT)
        scored: list[tuple[float, Memory]] = []
        for user_id in self._users(conditions):
            result = await self._memory(user_id).recall(
                body.query[-_QUERY_CHARACTERS:],
                limit=wanted,
                filters=own_memories(user_id, translated(conditions)),
                scope="own",
                min_relevance=body.threshold or None,
            )
            scored += [(hit.score if hit.relevance is None else hit.relevance, hit.memory) for hit in result.hits]
        if len(self._users(conditions)) > 1:
            scored.sort(key=lambda each: -each[0])
        return [shown(memory, score, body.fields) for score, memory in scored[:wanted]]

    async def page(self, body: Asking, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of memories, and a page of them, newest first."""
        body.refuse("show_expired")
        conditions = body.conditions()
        total, memories = 0, list[Memory]()
        for user_id in self._users(conditions):
            scope, filters = self._scope(user_id), without_passages(own_memories(user_id, translated(conditions)))
            count = await self._keeps.service(MemoryCounts).count(scope, filters)
            start = max(offset - total, 0)
            if start < count and len(memories) < limit:
                memories += await self._keeps.service(MemoryCounts).window(scope, filters, start, limit - len(memories))
            total += count
        return total, [shown(memory, fields=body.fields) for memory in memories]

    async def get(self, memory_id: str) -> dict[str, Any]:
        return shown(await self._held(memory_id))

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        return past(memory_id, await (await self._of(memory_id)).history(memory_id))

    async def update(self, memory_id: str, body: Changing) -> dict[str, Any]:
        """Change the fields that are set. A new text replaces the old one, which stays in the history."""
        changes: dict[str, Any] = {}
        if body.content():
            changes["content"] = body.content()
        if body.metadata is not None:
            app = (await self._held(memory_id)).metadata.get(APP)
            changes["metadata"] = body.metadata | ({APP: app} if app is not None else {})
        if body.timestamp is not None:
            changes["valid_from"] = moment(body.timestamp)
        if "expiration_date" in body.model_fields_set:
            changes["expires_at"] = None if body.expiration_date is None else end_of(body.expiration_date)
        if not changes:
            raise ValidationFailedError("nothing to change: give text, metadata, timestamp or expiration_date")
        memory = await self._of(memory_id)
        await memory.update(memory_id, **changes)
        return shown(await memory.get(memory_id))

    async def delete(self, memory_id: str, *, linked: bool = False) -> None:
        """Forget a memory; with `linked`, the memories that it superseded, too."""
        stored = await self._own(memory_id)
        memory = self._memory(stored.user_id)
        before = [stored.memory_id]
        while linked and before:
            older = await memory.list(
                filters={"superseded_by": {"in": [str(newer_id) for newer_id in before]}}, limit=MAX_LIMIT
            )
            before = [older_memory.memory_id for older_memory in older.items]
            for older_id in before:
                await memory.forget(older_id)
        await memory.forget(memory_id)

    async def update_all(self, body: Batch) -> int:
        chosen = body.chosen()
        for each in chosen:
            await self._own(each.memory_id)
        for each in chosen:
            await self.update(each.memory_id, each)
        return len(chosen)

    async def delete_all(self, body: Batch) -> int:
        chosen = body.chosen()
        for each in chosen:
            await self._own(each.memory_id)
        for each in chosen:
            await self.delete(each.memory_id)
        return len(chosen)

    async def clear(self, body: Asking) -> int:
        """Forget the selected memories; return their number. Raises ValidationFailedError without a selection."""
        conditions = body.conditions()
        if not conditions:
            raise ValidationFailedError("name the owner of the memories to delete: user_id, agent_id, app_id or run_id")
        return sum([await self._clear(user_id, conditions, hard=False) for user_id in self._users(conditions)])

    async def entities(self) -> list[dict[str, Any]]:
        """List the entities that have memories: the tenant's for administrators with any user, else the user's."""
        counts = self._keeps.service(MemoryCounts)
        ask = counts.subjects_of_tenant if administers(self._caller) else counts.subjects
        return [
            {
                "id": each.name,
                "name": each.name,
                "type": each.type,
                "total_memories": each.total,
                "created_at": each.first_at.isoformat(),
                "updated_at": each.last_at.isoformat(),
                "owner": self._caller.tenant_id,
                "organization": self._caller.tenant_id,
                "metadata": None,
            }
            for each in await ask(self._caller, _SUBJECTS)
            if (each.type, each.name) != ("run", NO_RUN)
        ]

    async def delete_entity(self, kind: str, name: str) -> int:
        """Erase all memories of a user, agent, app or run, including forgotten ones. Return their number.

        Having none is no error: mem0's client deletes each entity of a memory in turn.
        """
        field = f"{kind}_id"
        if field not in NAMES:
            raise ValidationFailedError(f"an entity is a user, agent, app or run, not {kind[:50]!r}")
        if field == "user_id":
            users = [self._scope(name).user_id]
        elif administers(self._caller):
            subjects = await self._keeps.service(MemoryCounts).subjects_of_tenant(self._caller, _SUBJECTS)
            users = [each.name for each in subjects if each.type == "user"]
        else:
            users = [self._caller.user_id]
        return sum([await self._clear(user_id, {field: name}, hard=True) for user_id in users])

    async def _clear(self, user_id: str, conditions: Mapping[str, Any], *, hard: bool) -> int:
        filters = own_memories(user_id, translated(conditions))
        filters = filters if hard else without_passages(filters)
        return await forget_all(self._keeps, self._scope(user_id), filters, hard=hard)

    def _scope(self, user_id: str | None) -> Scope:
        return acting_as(self._caller, user_id)

    def _memory(self, user_id: str | None) -> LocalMemory:
        return self._keeps.memory(self._scope(user_id))

    def _agent(self, agent_id: str | None) -> str | None:
        if agent_id is not None and self._caller.agent_bound and agent_id != self._caller.agent_id:
            raise ForbiddenError("your credentials belong to another agent than the one in the request")
        return agent_id

    def _users(self, conditions: Mapping[str, Any]) -> list[str]:
        """Return the users whose memories a call selects."""
        named = users_named(conditions)
        translated(conditions)
        if self._caller.any_user and asks_for_others(conditions):
            raise Mem0NotSupportedError('`user_id: "*"`, nor all users but some,')
        return [self._scope(each).user_id for each in named] or [self._caller.user_id]

    async def _of(self, memory_id: str, what: str = "memory") -> LocalMemory:
        """Return the memory of the user who owns an id. Credentials for any user need not name the user."""
        try:
            wanted = UUID(memory_id)
        except ValueError:
            raise ValidationFailedError(f"{what}_id: {memory_id[:100]!r} is not a UUID") from None
        if not self._caller.any_user:
            return self._memory(None)
        owners = await self._keeps.service(MemoryCounts).owners(self._caller, [wanted])
        if wanted not in owners:
            raise NotFoundError(f"no {what} {memory_id[:100]!r}")
        return self._memory(owners[wanted])

    async def _held(self, memory_id: str) -> Memory:
        found = await (await self._of(memory_id)).get(memory_id)
        if found.deleted_at is not None:
            raise NotFoundError(f"no memory {memory_id!r}")
        return found

    async def _own(self, memory_id: str) -> Memory:
        """Return a memory that the caller may change; one that others share may only be read."""
        found = await self._held(memory_id)
        if found.user_id != self._caller.user_id and not self._caller.any_user:
            raise NotFoundError(f"no memory {memory_id!r} that you may change")
        return found


def _verbatim(
    said: Said,
    body: Adding,
    metadata: Mapping[str, Any],
    agent_id: str | None,
    run_id: str | None,
    at: datetime | None,
    ends: datetime | None,
) -> NewMemory:
    """Return a message as a memory with only the fields of the call, so that a known text keeps its others."""
    fields: dict[str, Any] = {
        "content": said.text(),
        "role": said.role,
        "metadata": {**metadata, **({"speaker": said.name} if said.name else {})},
        "agent_id": agent_id,
        "session_id": run_id,
        "tags": body.categories,
        "valid_from": at,
        "expires_at": ends,
    }
    new = validated(NewMemory, {name: value for name, value in fields.items() if value is not None})
    if not body.metadata and not said.name:
        new.model_fields_set.discard("metadata")  # the app alone: the call has no metadata of its own
    return new


def _ids(filters: Mapping[str, Any] | None) -> dict[str, str]:
    return {
        name: str(value) for name, value in (filters or {}).items() if name in NAMES and isinstance(value, str | int)
    }
