"""What memory is looked up in or filled from: documents, databases, tools, imports."""
