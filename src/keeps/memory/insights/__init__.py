"""What a memory says about itself: totals, growth, use, decay ahead, junk, storage."""
