"""Caches: in memory, and optionally shared between processes in Redis or Valkey."""
