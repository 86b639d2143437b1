"""LangGraph's store, backed by Keeps."""

from keeps.integrations.langgraph.store import KeepsStore

__all__ = ["KeepsStore"]
