"""Keeps by the Model Context Protocol: a client starts `keeps mcp`, as an IDE does, and uses its tools.

pip install 'keeps[mcp]' && python examples/mcp_client.py
"""

from __future__ import annotations

import asyncio
import os

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main(environment: dict[str, str]) -> list[str]:
    """What is remembered by one conversation, and found by the next."""
    keeps = StdioServerParameters(command="keeps", args=["mcp"], env=environment)
    async with Client(keeps) as first:
        await first.call_tool("remember", {"content": "Alice keeps two hens called Ada and Grace."})
    async with Client(keeps) as second:
        found = await second.call_tool("recall", {"query": "What are the hens called?"})
    assert found.structured_content is not None
    return [each["text"] for each in found.structured_content["memories"]]


if __name__ == "__main__":
    ours = {name: value for name, value in os.environ.items() if name.startswith("KEEPS_") or name == "PATH"}
    for line in asyncio.run(main(ours)):
        print(line)
