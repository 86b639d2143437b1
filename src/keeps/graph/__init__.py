"""The graph: entities, edges, mentions, and the ways between them."""
