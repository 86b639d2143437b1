"""Keeps: one memory for AI agents."""

from typing import TYPE_CHECKING, Any

from keeps.scope import Scope
from keeps_client.errors import KeepsError

if TYPE_CHECKING:
    from keeps.engine import Keeps
    from keeps_client.models import NewMemory

__all__ = ["Keeps", "KeepsError", "NewMemory", "Scope", "__version__"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """The engine is imported when it is used: `import keeps` stays quick for tools that only want a version."""
    if name == "Keeps":
        from keeps.engine import Keeps

        return Keeps
    if name == "NewMemory":
        from keeps_client.models import NewMemory

        return NewMemory
    raise AttributeError(f"module 'keeps' has no attribute {name!r}")
