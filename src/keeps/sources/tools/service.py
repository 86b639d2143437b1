"""The registry of tools. Each tool is a memory under its name, and is searched, exported and erased like one."""

from __future__ import annotations

import asyncio
from typing import Any

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.context.reading import QUERIES
from keeps.memory.context.sources import TOOLS
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps.sources.tools.openapi import tools_of
from keeps.store.db.session import Database
from keeps_client.checked import validated
from keeps_client.errors import NotFoundError
from keeps_client.models import Memory, NewMemory, NewTool, RecallRequest, Receipt, Tool, ToolsImported
from keeps_client.models.common import MAX_LIMIT
from keeps_client.models.tools import ToolImport, ToolQuery
from keeps_client.validation import one_of

_SAID = ("purpose", "when_to_use", "input_schema", "auth")


class ToolService:
    """The tools that a tenant's agents may call."""

    def __init__(self, database: Database, memories: MemoryService, recall: RecallService, clock: Clock) -> None:
        self._database = database
        self._memories = memories
        self._recall = recall
        self._clock = clock

    async def add(self, scope: Scope, new: NewTool) -> Tool:
        receipt = await self._memories.remember(scope, _memory(new), index_now=True, source=True)
        return _tool(one_of(receipt.memory, "the tool was not stored"))

    async def import_openapi(self, scope: Scope, wanted: ToolImport) -> ToolsImported:
        """Add the operations of an OpenAPI document. Raises ValidationFailedError."""
        found, left = await asyncio.to_thread(tools_of, dict(wanted.openapi), wanted.prefix)
        tools = [validated(NewTool, {**each, "visibility": wanted.visibility}) for each in found]
        told = [_memory(each) for each in tools]
        await self._memories.remember_many(scope, told, index_now=False, source=True)
        return ToolsImported(names=tuple(each.name for each in tools), left_out=tuple(left))

    async def list(self, scope: Scope, wanted: ToolQuery) -> list[Tool]:
        """Return the tools by name; with a query, best first."""
        if wanted.query is not None:
            return await self._search(scope, wanted.query, min(wanted.limit, MAX_LIMIT))
        async with self._database.scoped(scope) as tx:
            who = scope.tenant_id, scope.user_id, self._clock()
            ids = [row["memory_id"] for row in await tx.fetch(QUERIES["tools_known"], *who, wanted.limit)]
        return [_tool(await self._memories.get(scope, each)) for each in ids]

    async def _search(self, scope: Scope, query: str, limit: int) -> list[Tool]:
        request = RecallRequest(query=query, limit=limit, namespace=TOOLS, content_types=("source",))
        found = await self._recall.recall(scope, request)
        return [_tool(hit.memory, hit.score) for hit in found.hits if isinstance(hit.memory.value, dict)]

    async def remove(self, scope: Scope, name: str) -> Receipt:
        """Remove a tool. Raises NotFoundError."""
        try:
            return await self._memories.forget(scope, None, TOOLS, name, hard=False)
        except NotFoundError:
            raise NotFoundError(f"you have no tool {name!r}") from None


def _memory(new: NewTool) -> NewMemory:
    content = new.purpose if new.when_to_use is None else f"{new.purpose}\nUse it when: {new.when_to_use}"
    return validated(
        NewMemory,
        {
            "content": content,
            "namespace": TOOLS,
            "key": new.name,
            "value": {"kind": "api", **{name: getattr(new, name) for name in _SAID}},
            "content_type": "source",
            "visibility": new.visibility,
            "importance": 0.5,
        },
    )


def _tool(memory: Memory, score: float | None = None) -> Tool:
    value: Any = memory.value or {}
    return Tool(
        name=memory.key or "",
        **{name: value.get(name) for name in _SAID},
        visibility=memory.visibility,
        memory_id=memory.memory_id,
        updated_at=memory.updated_at,
        score=score,
    )
