"""Who may do what: tokens, keys, roles, rates."""
