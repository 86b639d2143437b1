"""Helpers for agents that work together; for the sync client they are in keeps_client.sync."""

from keeps_client.memory.workflow import FINAL_STATUSES, PlanContext, ResultContext, TaskContext, WorkflowState

__all__ = ["FINAL_STATUSES", "PlanContext", "ResultContext", "TaskContext", "WorkflowState"]
