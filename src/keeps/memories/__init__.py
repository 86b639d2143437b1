"""Memories: written, read, changed, forgotten, restored."""
