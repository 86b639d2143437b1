"""Memories in the database and in other providers, as one."""
