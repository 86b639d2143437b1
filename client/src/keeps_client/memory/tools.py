"""Tools that agents may call. Keeps does not call them."""

from __future__ import annotations

from collections.abc import Mapping

from keeps_client.memory.base import Doing
from keeps_client.models import Receipt, Tool, ToolsImported
from keeps_client.models.memories import Visibility
from keeps_client.models.tools import ADD_TOOL, IMPORT_TOOLS, LIST_TOOLS, REMOVE_TOOL


class Tools(Doing):
    """Methods for the tools of agents."""

    async def add_tool(
        self,
        name: str,
        *,
        purpose: str,
        when_to_use: str | None = None,
        input_schema: Mapping[str, object] | None = None,
        auth: str | None = None,
        visibility: Visibility = "tenant",
    ) -> Tool:
        """Add a tool for agents, or update the one of this name. `auth`: a hint, never a secret.

        Needs the role admin.
        """
        return await self._do(
            ADD_TOOL,
            name=name,
            purpose=purpose,
            when_to_use=when_to_use,
            input_schema=input_schema,
            auth=auth,
            visibility=visibility,
        )

    async def import_tools(
        self, openapi: Mapping[str, object], *, prefix: str | None = None, visibility: Visibility = "tenant"
    ) -> ToolsImported:
        """Add each operation of an OpenAPI 3 document as a tool. Needs the role admin."""
        return await self._do(IMPORT_TOOLS, openapi=openapi, prefix=prefix, visibility=visibility)

    async def list_tools(self, *, limit: int = 100) -> list[Tool]:
        """Return the tools, by name."""
        return await self._do(LIST_TOOLS, limit=limit)

    async def search_tools(self, query: str, *, limit: int = 10) -> list[Tool]:
        """Return the tools that fit best, best first."""
        return await self._do(LIST_TOOLS, query=query, limit=limit)

    async def remove_tool(self, name: str) -> Receipt:
        """Remove a tool. Needs the role admin. Raises NotFoundError."""
        return await self._do(REMOVE_TOOL, name=name)
