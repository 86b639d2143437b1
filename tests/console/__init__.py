"""The console: who gets in, what strangers see, what is refused."""
