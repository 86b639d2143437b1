"""The Model Context Protocol: `keeps mcp` over stdio, `/mcp` in `keeps serve`."""

from __future__ import annotations

try:
    import mcp.server.mcpserver as _mcp
except ImportError as error:
    raise ImportError("keeps.integrations.mcp needs the MCP SDK: pip install 'keeps[mcp]'") from error

from keeps.integrations.mcp.graph import graph_server
from keeps.integrations.mcp.memory import memory_server

__all__ = ["graph_server", "memory_server"]
assert _mcp
