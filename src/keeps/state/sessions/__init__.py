"""Sessions: conversations that group plans."""
