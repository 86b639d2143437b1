"""Memory as Markdown that people read, edit and put under git, in any editor, including Obsidian."""
