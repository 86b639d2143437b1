"""Build the index: vectors of memories, computed now or later, and rebuilt for another model."""
