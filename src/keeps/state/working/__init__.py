"""Working memory: the key-value state of plans."""
