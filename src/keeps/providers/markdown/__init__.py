"""Memory as Markdown that people read, edit and put under git; any editor can open it, Obsidian too."""
