"""The built-in memory providers, and recall over all of them."""
