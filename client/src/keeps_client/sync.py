"""The client without await: the same methods, generated from the async one."""

from keeps_client._sync.client import MemoryClient
from keeps_client._sync.workflow import PlanContext, ResultContext, TaskContext, WorkflowState

__all__ = ["MemoryClient", "PlanContext", "ResultContext", "TaskContext", "WorkflowState"]
