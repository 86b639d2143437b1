"""Bringing in what exists: chats of several products, LoCoMo, Markdown, plain text."""
