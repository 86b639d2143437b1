"""Google's Agent Development Kit: a memory service, a session service, and tools that store, retrieve and delete.

    runner = Runner(
        agent=agent, app_name="concierge", session_service=KeepsSessionService(), memory_service=KeepsMemoryService()
    )

The user of ADK's session is the user in Keeps, and memories are separated by its app. The tenant comes from the
settings or the token. `adk web --memory_service_uri keeps: --session_service_uri keeps:` works after a call of
`register()`, for example in a `services.py`, or with a `services.yaml` that names these classes.
"""

from __future__ import annotations

from typing import Any

try:
    from google.adk.cli.service_registry import get_service_registry
except ImportError as error:
    raise ImportError("keeps.integrations.adk needs Google's ADK: pip install 'keeps[adk]'") from error

from keeps.integrations.adk.memory import KeepsMemoryService
from keeps.integrations.adk.sessions import KeepsSessionService
from keeps.integrations.adk.tools import KeepsTools

__all__ = ["KeepsMemoryService", "KeepsSessionService", "KeepsTools", "register"]


def register(scheme: str = "keeps") -> None:
    """Register these services under a URI scheme, for `--memory_service_uri` and `--session_service_uri`.

    `keeps:` reads the environment; `keeps:http://host:8765` is a server.
    """

    def memory(uri: str, **options: Any) -> KeepsMemoryService:
        options.pop("agents_dir", None)
        return KeepsMemoryService(uri=uri, **options)

    def sessions(uri: str, **options: Any) -> KeepsSessionService:
        options.pop("agents_dir", None)
        return KeepsSessionService(uri=uri, **options)

    get_service_registry().register_memory_service(scheme, memory)
    get_service_registry().register_session_service(scheme, sessions)
