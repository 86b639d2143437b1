"""The index: vectors derived from memories, now or later, and made anew for another model."""
