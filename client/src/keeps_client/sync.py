"""The client without await: the same methods, generated from the async one."""

from keeps_client._sync.http import MemoryClient
from keeps_client._sync.whole import Memory
from keeps_client._sync.workflow import PlanContext, ResultContext, TaskContext, WorkflowState

__all__ = ["Memory", "MemoryClient", "PlanContext", "ResultContext", "TaskContext", "WorkflowState"]
