"""Wire models: the one definition of every request and answer."""

from keeps_client.models.common import Page
from keeps_client.models.events import Event
from keeps_client.models.memories import Memory, MemoryChange, NewMemory, Receipt
from keeps_client.models.recall import Explanation, Filters, Hit, RecallRequest, RecallResult

__all__ = [
    "Event",
    "Explanation",
    "Filters",
    "Hit",
    "Memory",
    "MemoryChange",
    "NewMemory",
    "Page",
    "RecallRequest",
    "RecallResult",
    "Receipt",
]
