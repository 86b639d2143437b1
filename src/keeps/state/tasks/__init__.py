"""Task contexts: delegated work that waits for its results."""
