"""Every operation by name: the list that the server mounts, the engine handles, and the documents and tests read."""

from __future__ import annotations

from typing import Any

from keeps_client.endpoint import Endpoint
from keeps_client.models import (
    access,
    context,
    conversations,
    costs,
    databases,
    documents,
    events,
    graph,
    inbox,
    insights,
    items,
    knowledge,
    memories,
    operations,
    plans,
    proof,
    providers,
    recall,
    requests,
    sessions,
    spaces,
    tasks,
    tools,
    transcripts,
    why,
    working,
)

# The busiest first: a server tries them in order.
_NOUNS = (
    working,
    memories,
    recall,
    items,
    context,
    conversations,
    knowledge,
    tasks,
    plans,
    sessions,
    spaces,
    transcripts,
    graph,
    documents,
    databases,
    tools,
    providers,
    events,
    proof,
    operations,
    inbox,
    why,
    requests,
    insights,
    access,
    costs,
)
ENDPOINTS: tuple[Endpoint[Any, Any, Any], ...] = tuple(
    held
    for noun in _NOUNS
    for name, held in vars(noun).items()
    if isinstance(held, Endpoint) and name == held.name.upper()
)
