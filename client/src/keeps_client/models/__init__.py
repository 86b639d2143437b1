"""Wire models: the one definition of every request and answer."""

from keeps_client.models.access import (
    ErasureReceipt,
    ImportSummary,
    KeyInfo,
    MadeKey,
    NewKey,
    Quota,
    RoleName,
    TenantInfo,
)
from keeps_client.models.common import Page
from keeps_client.models.context import (
    ContextItem,
    ContextRequest,
    ContextResult,
    ContextSection,
    LeftOut,
    NewSource,
    Source,
)
from keeps_client.models.conversations import (
    ActivityKind,
    ExchangeReceipt,
    Message,
    NewActivity,
    NewExchange,
    Note,
    SessionNotes,
)
from keeps_client.models.events import (
    Difference,
    Event,
    LogRetention,
    MadeWebhook,
    NewWebhook,
    ReplayedTable,
    Verification,
    Webhook,
    WebhookFailure,
)
from keeps_client.models.graph import (
    Direction,
    Entity,
    Mention,
    Merge,
    NewEntity,
    NewMention,
    NewRelation,
    PathRequest,
    Reading,
    Relation,
    Traversal,
    TraverseRequest,
)
from keeps_client.models.insights import Insights, JunkAudit
from keeps_client.models.knowledge import (
    EpisodicItem,
    KnowledgeUpsert,
    NewInteraction,
    NewKnowledge,
    NewSkill,
    ProceduralItem,
    SemanticItem,
    Upserted,
)
from keeps_client.models.memories import Memory, MemoryChange, NewMemory, Receipt
from keeps_client.models.operations import HeldJob, Operation, OperationChange, OperationDetail, QueueStatus
from keeps_client.models.plans import (
    NewPlan,
    NewPlanContext,
    Plan,
    PlanChange,
    PlanContext,
    PlanContextChange,
    PlanFilter,
    PlanStatus,
)
from keeps_client.models.providers import AppendText, Entry, NewEntry, ProviderCapabilities, ProviderInfo, Rebuilt, Tier
from keeps_client.models.recall import Explanation, Filters, Hit, RecallRequest, RecallResult
from keeps_client.models.sessions import NewSession, Session, SessionChange
from keeps_client.models.tasks import Deleted, NewTaskContext, SubTaskChange, TaskContext, TaskContextChange
from keeps_client.models.working import (
    AtomicAppend,
    AtomicChange,
    AtomicExtend,
    AtomicIncrement,
    AtomicMerge,
    AtomicResult,
    NewWorkingItem,
    WorkingCleared,
    WorkingDeleted,
    WorkingItem,
    WorkingValue,
)

__all__ = [
    "ActivityKind", "AppendText", "AtomicAppend", "AtomicChange", "AtomicExtend", "AtomicIncrement", "AtomicMerge", "AtomicResult", "ContextItem", "ContextRequest", "ContextResult",
    "ContextSection", "Deleted", "Difference", "Direction", "Entity", "Entry", "EpisodicItem", "ErasureReceipt", "Event", "ExchangeReceipt",
    "Explanation", "Filters", "HeldJob", "Hit", "ImportSummary", "Insights", "JunkAudit", "KeyInfo", "KnowledgeUpsert", "LeftOut",
    "LogRetention", "MadeKey", "MadeWebhook", "Memory", "MemoryChange", "Mention", "Merge", "Message", "NewActivity", "NewEntity",
    "NewEntry", "NewExchange", "NewInteraction", "NewKey", "NewKnowledge", "NewMemory", "NewMention", "NewPlan", "NewPlanContext",
    "NewRelation", "NewSession", "NewSkill", "NewSource", "NewTaskContext", "NewWebhook", "NewWorkingItem", "Note", "Operation",
    "OperationChange", "OperationDetail", "Page", "PathRequest", "Plan", "PlanChange", "PlanContext", "PlanContextChange", "PlanFilter",
    "PlanStatus", "ProceduralItem", "ProviderCapabilities", "ProviderInfo", "QueueStatus", "Quota", "Reading", "Rebuilt", "RecallRequest",
    "RecallResult", "Receipt", "Relation", "ReplayedTable", "RoleName", "SemanticItem", "Session", "SessionChange", "SessionNotes",
    "Source", "SubTaskChange", "TaskContext", "TaskContextChange", "TenantInfo", "Tier", "Traversal", "TraverseRequest", "Upserted", "Verification",
    "Webhook", "WebhookFailure", "WorkingCleared", "WorkingDeleted", "WorkingItem", "WorkingValue",
]  # fmt: skip
