"""Helpers for agents that work together; for the sync client they are in keeps_client.sync."""

from keeps_client._async.workflow import PlanContext, ResultContext, TaskContext, WorkflowState

__all__ = ["PlanContext", "ResultContext", "TaskContext", "WorkflowState"]
