"""Documents: what an organisation has written down, looked up instead of remembered."""
