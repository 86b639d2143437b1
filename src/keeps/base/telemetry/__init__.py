"""Logs, metrics and traces. They record what happens, never the content of memories."""
