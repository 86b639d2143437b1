"""Processes that handle untrusted input: how they are started and what they may do."""
