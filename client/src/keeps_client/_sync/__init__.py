# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""The methods of a memory. The engine and the client differ only in how they run an operation."""
