"""LangGraph's store, with Keeps behind it."""

from keeps.integrations.langgraph.store import KeepsStore

__all__ = ["KeepsStore"]
