"""External tools: their purpose, when to use them, and their input. Keeps does not call them."""
