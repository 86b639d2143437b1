"""Statistics of a memory: totals, growth, use, coming decay, junk, storage."""
