"""Types, settings and tools that do not depend on memory."""
