"""External tools: what they are for, when to use them, what they take. Keeps does not call them."""
