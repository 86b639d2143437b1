"""Write, read, change, forget and restore memories."""
