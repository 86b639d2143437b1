"""The graph: entities, edges, mentions, and paths between entities."""
