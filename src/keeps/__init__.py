"""Keeps: one memory for AI agents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keeps.base.scope import Scope
    from keeps.engine import Keeps
    from keeps.synchronous import Memory
    from keeps_client.errors import KeepsError
    from keeps_client.models import NewMemory

__all__ = ["Keeps", "KeepsError", "Memory", "NewMemory", "Scope", "__version__"]
__version__ = "0.2.0"
_MODULES = {
    "Keeps": "keeps.engine",
    "KeepsError": "keeps_client.errors",
    "Memory": "keeps.synchronous",
    "NewMemory": "keeps_client.models",
    "Scope": "keeps.base.scope",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: what only wants a version, or one module, loads nothing else."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'keeps' has no attribute {name!r}")
