"""Define the interfaces of models, and implement them for local and remote models."""
