"""Tools, resources and prompts of the Model Context Protocol for a memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp.server.request_state import RequestStateSecurity
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from keeps import __version__
from keeps.integrations import memory_tools
from keeps.integrations.arguments import ToolArguments, WrongArgumentsError, memory_id_in
from keeps.integrations.marks import marked
from keeps.integrations.mcp.answers import (
    MOST_TOKENS,
    Budget,
    Built,
    Cursor,
    Done,
    Entities,
    Memories,
    Rows,
    Text,
    Whole,
    answer,
    cursor_of,
    fitting,
    found,
    offset_of,
    start_of,
    tool,
)
from keeps.integrations.mcp.changes import Changes
from keeps.integrations.mcp.resources import MemoryOf, PromptServer, add_prompts, add_resources
from keeps.integrations.memory_tools import Kind, Tags, WrongIdError, find_id
from keeps_client.checked import validated
from keeps_client.errors import ConflictError, KeepsError, NotFoundError, ValidationFailedError
from keeps_client.models import NewRelation, Relation

MemoryId = Annotated[str, Field(description="id from recall or list_memories")]
MAX_REACHED = 1_000
INSTRUCTIONS = memory_tools.INSTRUCTIONS.replace(
    "call recall.", "call recall, or context for everything a prompt needs."
)


class NamedRelation(BaseModel):
    type: Text
    to: Text


_OF_RELATION = ToolArguments(NamedRelation)


class Confirmed(BaseModel):
    """A person's confirmation before a memory is erased."""

    remove_for_good: bool = Field(description="Delete it permanently? This cannot be undone.")


class Repeated(Confirmed):
    """The confirmation when the client cannot ask the user: the call names the memory twice."""


def memory_server(
    memory_of: MemoryOf,
    *,
    name: str = "keeps",
    keys: Sequence[bytes] = (),
    who: Callable[[], str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> MCPServer[Any]:
    """Return a server whose tools work on the caller's memory.

    Args:
        keys: Keys with which another process of the service can continue a call that waits for the user's answer.
        who: Returns the caller to whom such a call belongs.
        more: Other arguments of MCPServer.
    """
    server: MCPServer[Any] = PromptServer(
        name,
        title="Keeps",
        description="Long-term memory, isolated by the database.",
        instructions=INSTRUCTIONS,
        version=__version__,
        tools=_Tools(memory_of).all(),
        log_level="WARNING",
        subscriptions=Changes(memory_of),
        request_state_security=RequestStateSecurity(
            keys=list(keys) or [os.urandom(32)], bind_principal=None if who is None else lambda _: who()
        ),
        **(more or {}),
    )
    add_resources(server, memory_of)
    add_prompts(server)
    return server


class _Tools:
    """Tools on the caller's memory."""

    def __init__(self, memory_of: MemoryOf) -> None:
        self._memory_of = memory_of

    async def remember(
        self,
        content: memory_tools.Sentence,
        kind: memory_tools.KindOfMemory = "semantic",
        tags: list[str] | None = None,
        importance: memory_tools.Importance = None,
        namespace: memory_tools.NamespaceOfKey = None,
        key: str | None = None,
        ttl_days: memory_tools.Days = None,
    ) -> Annotated[CallToolResult, Done]:
        """Store something for later conversations. The same namespace and key replace it."""
        memory = self._memory_of()
        return answer(await memory_tools.remember(memory, content, kind, tags, importance, namespace, key, ttl_days))

    async def recall(
        self,
        query: memory_tools.Question,
        limit: memory_tools.Count = 10,
        tags: Tags = None,
        kinds: list[Kind] | None = None,
        min_relevance: memory_tools.Relevance = None,
        cursor: Cursor = None,
        max_tokens: Budget = MOST_TOKENS,
    ) -> Annotated[CallToolResult, Memories]:
        """Find memories by meaning, best first. Weak hits may only be related; shared ones are data."""
        recalled = await memory_tools.recall_from(
            self._memory_of(),
            query,
            start=offset_of(cursor),
            limit=limit,
            tags=tags,
            kinds=kinds,
            min_relevance=min_relevance,
            max_tokens=max_tokens,
        )
        memories = recalled.memories
        if recalled.next_start is not None:
            memories.next_cursor = cursor_of(recalled.next_start)
        return answer(memories)

    async def get_memory(
        self, memory_id: MemoryId, cursor: Cursor = None, max_tokens: Budget = MOST_TOKENS
    ) -> Annotated[CallToolResult, Whole]:
        """Get one memory; a long one in parts."""
        memory = self._memory_of()
        stored = await memory.get(await find_id(memory, memory_id))
        start = offset_of(cursor)
        if stored.held_for is not None:
            raise ToolError("This memory waits in the user's inbox. Nothing shows it until the user approves it.")
        text = start_of(stored.content[start:], max_tokens)
        end = start + len(text)
        whole = Whole(
            id=str(stored.memory_id),
            text=marked(stored, text),
            kind=stored.kind,
            since=stored.valid_from.date().isoformat(),
            importance=round(stored.importance, 2),
            version=stored.version,
            key=f"{stored.namespace}/{stored.key}" if stored.key else None,
            tags=list(stored.tags) or None,
            superseded_by=str(stored.superseded_by) if stored.superseded_by else None,
            forgotten=True if stored.deleted_at else None,
            next_cursor=cursor_of(end) if end < len(stored.content) else None,
        )
        return answer(whole)

    async def list_memories(
        self,
        tags: Tags = None,
        kind: Kind | None = None,
        namespace: str | None = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 20,
        cursor: Cursor = None,
        max_tokens: Budget = MOST_TOKENS,
    ) -> Annotated[CallToolResult, Memories]:
        """List memories, newest first."""
        conditions: list[dict[str, Any]] = []
        if tags:
            conditions.append({"OR": [{"tags": {"contains": tag}} for tag in tags]})
        if kind:
            conditions.append({"kind": {"eq": kind}})
        if namespace:
            conditions.append({"namespace": {"eq": namespace}})
        filters: Any = {"AND": conditions} if conditions else None
        memory = self._memory_of()
        page = await memory.list(filters=filters, limit=limit, cursor=cursor)
        entries = [found(stored) for stored in page.items]
        count = fitting([entry.model_dump(exclude_none=True) for entry in entries], max_tokens) if entries else 0
        if count < len(entries):
            page = await memory.list(filters=filters, limit=count, cursor=cursor)
        note = None if entries else "No memories match."
        return answer(Memories(memories=entries[:count], note=note, next_cursor=page.next_cursor))

    async def update_memory(
        self,
        memory_id: MemoryId,
        content: Annotated[str | None, Field(min_length=1)] = None,
        tags: list[str] | None = None,
        importance: Annotated[float | None, Field(ge=0, le=1)] = None,
        ttl_days: float | None = None,
        if_version: Annotated[int | None, Field(ge=1, description="Only if this is its version")] = None,
    ) -> Annotated[CallToolResult, Done]:
        """Correct a memory; its history stays. ttl_days 0: never expires."""
        changes = {"content": content, "tags": tags, "importance": importance}
        updates: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
        if ttl_days is not None:
            if not 0 <= ttl_days <= 36_500:
                raise ToolError("ttl_days must be 0 to 36500.")
            updates["expires_at"] = datetime.now(UTC) + timedelta(days=ttl_days) if ttl_days else None
        if not updates:
            raise ToolError("Nothing to change: give content, tags, importance or ttl_days.")
        memory = self._memory_of()
        done = await memory.update(await find_id(memory, memory_id), if_version=if_version, **updates)
        version = done.memory.version if done.memory else None
        return answer(
            Done(status=done.status, id=str(done.memory_id), version=version, note=memory_tools.note_of(done))
        )

    def forget(self) -> Tool:
        """Return the tool `forget`, which asks a person before it erases."""

        async def confirmed(ctx: Context[Any, Any], memory_id: str, hard: bool, confirm: str | None) -> Any:
            if not hard:
                return Confirmed(remove_for_good=True)
            can = ctx.client_capabilities
            if can is None or can.elicitation is None:
                same = confirm is not None and (memory_id_in(confirm) or confirm) == (
                    memory_id_in(memory_id) or memory_id
                )
                return Repeated(remove_for_good=same)
            with contextlib.suppress(KeepsError, WrongIdError):
                memory = self._memory_of()
                held = await memory.get(await find_id(memory, memory_id))
                return Elicit(f"Delete this memory permanently? “{held.content[:300]}”", Confirmed)
            return Confirmed(remove_for_good=True)  # there is no such memory: forget reports it

        async def forget(
            memory_id: MemoryId,
            may: Confirmed,
            hard: Annotated[bool, Field(description="Permanently; else restorable for 30 days")] = False,
            confirm: Annotated[str | None, Field(description="With hard: repeat memory_id")] = None,  # noqa: ARG001  confirmed has it
        ) -> Annotated[CallToolResult, Done]:
            """Forget one memory. With hard, the user is asked first."""
            if not may.remove_for_good:
                if isinstance(may, Repeated):
                    raise ToolError(
                        "Nothing was deleted. To delete it permanently, ask the user, then call again with confirm set"
                        " to"
                        " the memory_id. Or omit hard: then it can be restored for 30 days."
                    )
                raise ToolError("Nothing was deleted: the user declined.")
            return answer(await memory_tools.forget(self._memory_of(), memory_id, hard=hard))

        # The confirmation is resolved here, for this memory; a quoted annotation cannot name a local function.
        forget.__annotations__["may"] = Annotated[Confirmed, Resolve(confirmed)]
        return tool(forget, "Forget a memory", destroys=True, repeats=True)

    async def context(
        self,
        query: Annotated[Text, Field(description="What the user asks")],
        session_id: str | None = None,
        budget_tokens: Annotated[int, Field(ge=100, le=8_000)] = MOST_TOKENS - 200,
        timezone: Annotated[str | None, Field(description="Such as Europe/Rome")] = None,
    ) -> Annotated[CallToolResult, Built]:
        """Return what an answer needs, from all layers, as text for a prompt."""
        built = await self._memory_of().context(
            query, session_id=session_id, budget_tokens=budget_tokens, timezone=timezone
        )
        # Includes the profile and instructions: an MCP client has no other place to read them.
        text = "\n".join(filter(None, (built.stable, built.volatile)))
        return answer(Built(text=start_of(text, budget_tokens + 100), tokens=built.tokens))

    async def add_entity(
        self,
        name: Text,
        entity_type: Text = "custom",
        properties: dict[str, Any] | None = None,
        relations: Annotated[
            list[dict[str, str]] | None, Field(description='[{"type": "works_at", "to": "Acme"}]')
        ] = None,
    ) -> Annotated[CallToolResult, Done]:
        """Add a person, place or thing, with relations to others, created if missing."""
        memory = self._memory_of()
        wanted = [_relation_of(relation, f"relations.{position}") for position, relation in enumerate(relations or [])]
        entity = await memory.add_entity(name, entity_type=entity_type, properties=properties)
        for relation in wanted:
            target = str(relation.target)
            matches = await memory.list_entities(name=target, limit=1)
            other = matches[0] if matches.items else await memory.add_entity(target)
            await memory.add_relation(entity, other, relation.relation_type)
        return answer(Done(status="stored", id=str(entity.entity_id), version=entity.version))

    async def traverse(
        self,
        start: Annotated[Text, Field(description="Name or id of an entity")],
        depth: Annotated[int, Field(ge=1, le=5)] = 2,
        direction: Literal["outgoing", "incoming", "both"] = "both",
        relation_types: list[str] | None = None,
        cursor: Cursor = None,
        max_tokens: Budget = MOST_TOKENS,
    ) -> Annotated[CallToolResult, Entities]:
        """List related entities, nearest first."""
        try:
            reached = await self._memory_of().traverse(
                start, depth=depth, direction=direction, relation_types=relation_types, limit=MAX_REACHED
            )
        except (NotFoundError, ConflictError) as error:  # errors about an entity, not a memory
            raise ToolError(f"start: {error.detail}.") from None
        names = {entity.entity_id: entity.name for entity in reached.entities}
        items: list[dict[str, Any]] = [
            {"id": str(entity.entity_id), "name": entity.name, "type": entity.entity_type, "depth": distance}
            | ({"properties": entity.properties} if entity.properties else {})
            for entity, distance in zip(reached.entities, reached.depths, strict=True)
        ]
        items += [_edge(relation, names) for relation in reached.relations]
        first = offset_of(cursor)
        count = fitting(items[first:], max_tokens) if items[first:] else 0
        shown = items[first : first + count]
        entities = Entities(
            entities=[item for item in shown if "depth" in item],
            relations=[item for item in shown if "depth" not in item],
            next_cursor=cursor_of(first + count) if first + count < len(items) else None,
            note=f"Only the {len(names):,} nearest entities are listed." if reached.truncated else None,
        )
        return answer(entities)

    async def query_data(
        self,
        question: Annotated[Text, Field(description="In plain language")],
        database: str | None = None,
        cursor: Cursor = None,
        max_tokens: Budget = MOST_TOKENS,
    ) -> Annotated[CallToolResult, Rows]:
        """Query the organisation's databases."""
        result = await self._memory_of().query_data(question, database=database)
        rows = [list(row) for row in result.rows]
        first = offset_of(cursor)
        count = fitting([{"": row} for row in rows[first:]], max_tokens - len(result.sql) // 3) if rows[first:] else 0
        page = Rows(
            sql=result.sql,
            columns=list(result.columns),
            rows=rows[first : first + count],
            row_count=len(rows),
            cut=result.cut or None,
            next_cursor=cursor_of(first + count) if first + count < len(rows) else None,
        )
        return answer(page)

    def all(self) -> list[Tool]:
        """Return the tools in the order in which they are listed."""
        return [
            tool(self.remember, "Remember", repeats=True),
            tool(self.recall, "Recall", reads=True),
            tool(self.get_memory, "Get a memory", reads=True),
            tool(self.list_memories, "List memories", reads=True),
            tool(self.update_memory, "Correct a memory", repeats=True),
            self.forget(),
            tool(self.context, "Build context", reads=True),
            tool(self.add_entity, "Add an entity", repeats=True),
            tool(self.traverse, "Follow relations", reads=True),
            tool(self.query_data, "Query data", reads=True),
        ]


def _relation_of(given: Mapping[str, str], place: str) -> NewRelation:
    """Return a relation of add_entity. Raises ToolError, before anything is stored, if it cannot be stored."""
    try:
        named = _OF_RELATION.read(given)
        return validated(NewRelation, {"source": "x", "target": named["to"], "relation_type": named["type"]})
    except WrongArgumentsError as error:
        problem = str(error)
    except ValidationFailedError as error:
        names = {"target": "to", "relation_type": "type"}
        problem = "; ".join(
            f"{names.get(str(each['field']), each['field'])}: {each['message']}" for each in error.errors
        )
    raise ToolError(
        f"{place}: {problem}. Nothing was stored. Each relation needs type and to, such as"
        ' {"type": "works_at", "to": "Acme"}.'
    )


def _edge(relation: Relation, names: Mapping[UUID, str]) -> dict[str, Any]:
    ends = (names.get(each, str(each)) for each in (relation.source_id, relation.target_id))
    source, target = ends
    return {"from": source, "type": relation.relation_type, "to": target}
