"""Import of existing data: chats of several products, LoCoMo, Markdown, plain text."""
