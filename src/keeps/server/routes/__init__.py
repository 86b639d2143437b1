"""One file a noun."""
