"""Memory providers: backends behind one contract, queried together.

Start at `contract`; `conformance` checks a provider of your own.
"""

from keeps.providers.contract import Filters, Match, MemoryProvider, ProviderContext, ProviderFactory, text_of
from keeps_client.models import Entry, ProviderCapabilities

__all__ = [
    "Entry",
    "Filters",
    "Match",
    "MemoryProvider",
    "ProviderCapabilities",
    "ProviderContext",
    "ProviderFactory",
    "text_of",
]
