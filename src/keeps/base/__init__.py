"""Types, settings and tools that know nothing of memory."""
