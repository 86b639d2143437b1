"""Access control: tokens, keys, roles, rates."""
