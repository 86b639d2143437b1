"""The methods of a memory, each once: the engine and the client differ only in how an operation is done."""
