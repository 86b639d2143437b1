"""The list of parts, in the order in which they are made: a part uses the services of those before it."""

from __future__ import annotations

from keeps.access.part import PART as ACCESS
from keeps.context.part import PART as CONTEXT
from keeps.conversations.part import PART as CONVERSATIONS
from keeps.databases.part import PART as DATABASES
from keeps.documents.part import PART as DOCUMENTS
from keeps.events.part import PART as EVENTS
from keeps.federated.part import PART as FEDERATED
from keeps.graph.part import PART as GRAPH
from keeps.indexing.part import PART as INDEXING
from keeps.insights.part import PART as INSIGHTS
from keeps.items.part import PART as ITEMS
from keeps.jobs.part import PART as JOBS
from keeps.knowledge.part import PART as KNOWLEDGE
from keeps.lifecycle.part import PART as LIFECYCLE
from keeps.memories.part import PART as MEMORIES
from keeps.operations.part import PART as OPERATIONS
from keeps.part import Part
from keeps.plans.part import PART as PLANS
from keeps.providers.part import PART as PROVIDERS
from keeps.recall.part import ACCESS_PART as ACCESS_COUNTS
from keeps.recall.part import PART as RECALL
from keeps.sessions.part import PART as SESSIONS
from keeps.tasks.part import PART as TASKS
from keeps.tools.part import PART as TOOLS
from keeps.transcripts.part import PART as TRANSCRIPTS
from keeps.transfer.part import PART as TRANSFER
from keeps.webhooks.part import PART as WEBHOOKS
from keeps.working.part import PART as WORKING

PARTS: tuple[Part, ...] = (
    ACCESS_COUNTS,
    INDEXING,
    MEMORIES,
    RECALL,
    SESSIONS,
    PLANS,
    TASKS,
    WORKING,
    GRAPH,
    PROVIDERS,
    OPERATIONS,
    CONVERSATIONS,
    CONTEXT,
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
    TRANSFER,
    FEDERATED,
    LIFECYCLE,
    JOBS,
)
