"""The log of recalls and contexts."""
