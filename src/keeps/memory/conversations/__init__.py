"""Turn messages into memories, notes and facts, in one transaction."""
