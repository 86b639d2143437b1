# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""The methods of a memory, each once: the engine and the client differ only in how an operation is done."""
