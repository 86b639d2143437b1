"""Sources beside memories: documents, databases, tools, imports."""
