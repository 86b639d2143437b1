"""The methods of a memory. The engine and the client differ only in how they run an operation."""
