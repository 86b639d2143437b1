"""The list of parts, in the order in which they are made: a part uses the services of those before it."""

from __future__ import annotations

from keeps.memory.context.part import PART as CONTEXT
from keeps.memory.conversations.part import PART as CONVERSATIONS
from keeps.memory.federated.part import PART as FEDERATED
from keeps.memory.graph.part import PART as GRAPH
from keeps.memory.inbox.part import PART as INBOX
from keeps.memory.indexing.part import PART as INDEXING
from keeps.memory.insights.part import PART as INSIGHTS
from keeps.memory.jobs.part import PART as JOBS
from keeps.memory.knowledge.part import PART as KNOWLEDGE
from keeps.memory.lifecycle.part import PART as LIFECYCLE
from keeps.memory.memories.part import PART as MEMORIES
from keeps.memory.operations.part import PART as OPERATIONS
from keeps.memory.providers.part import PART as PROVIDERS
from keeps.memory.recall.part import ACCESS_PART as ACCESS_COUNTS
from keeps.memory.recall.part import PART as RECALL
from keeps.memory.requests.part import PART as REQUESTS
from keeps.memory.spaces.part import PART as SPACES
from keeps.memory.transfer.part import PART as TRANSFER
from keeps.memory.why.part import PART as WHY
from keeps.part import Part
from keeps.sources.databases.part import PART as DATABASES
from keeps.sources.documents.part import PART as DOCUMENTS
from keeps.sources.tools.part import PART as TOOLS
from keeps.state.items.part import PART as ITEMS
from keeps.state.plans.part import PART as PLANS
from keeps.state.sessions.part import PART as SESSIONS
from keeps.state.tasks.part import PART as TASKS
from keeps.state.transcripts.part import PART as TRANSCRIPTS
from keeps.state.working.part import PART as WORKING
from keeps.store.access.part import PART as ACCESS
from keeps.store.costs.part import PART as COSTS
from keeps.store.events.part import PART as EVENTS
from keeps.store.webhooks.part import PART as WEBHOOKS

PARTS: tuple[Part, ...] = (
    ACCESS_COUNTS,
    INDEXING,
    MEMORIES,
    RECALL,
    REQUESTS,
    SESSIONS,
    PLANS,
    TASKS,
    WORKING,
    GRAPH,
    PROVIDERS,
    OPERATIONS,
    INBOX,
    CONVERSATIONS,
    CONTEXT,
    WHY,
    EVENTS,
    WEBHOOKS,
    DOCUMENTS,
    TRANSCRIPTS,
    DATABASES,
    ITEMS,
    TOOLS,
    KNOWLEDGE,
    INSIGHTS,
    ACCESS,
    COSTS,
    TRANSFER,
    SPACES,
    FEDERATED,
    LIFECYCLE,
    JOBS,
)
