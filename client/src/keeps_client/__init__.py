"""Keeps client: memory for AI agents, over HTTP, with the engine's own methods, models and errors."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keeps_client._async.client import MemoryClient

__all__ = ["MemoryClient"]


def __getattr__(name: str) -> Any:
    """The client is imported when it is used: the engine needs only the models and errors of this package."""
    if name == "MemoryClient":
        from keeps_client._async.client import MemoryClient

        return MemoryClient
    raise AttributeError(f"module 'keeps_client' has no attribute {name!r}")
