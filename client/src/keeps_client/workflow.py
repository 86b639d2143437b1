"""Helpers for agents that work together; for the sync client they are in keeps_client.sync."""

from keeps_client.memory.workflow import PlanContext, ResultContext, TaskContext, WorkflowState

__all__ = ["PlanContext", "ResultContext", "TaskContext", "WorkflowState"]
