"""Keeps client: memory for AI agents, over HTTP, with the engine's own methods, models and errors."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keeps_client.memory.http import MemoryClient
    from keeps_client.memory.whole import Memory

__all__ = ["Memory", "MemoryClient"]


def __getattr__(name: str) -> Any:
    """The client is imported when it is used: the engine needs only the methods, models and errors of this package."""
    if name == "MemoryClient":
        from keeps_client.memory.http import MemoryClient

        return MemoryClient
    if name == "Memory":
        from keeps_client.memory.whole import Memory

        return Memory
    raise AttributeError(f"module 'keeps_client' has no attribute {name!r}")
