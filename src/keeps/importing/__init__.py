"""Bringing in what exists: chats, LoCoMo, Markdown, plain text."""
