"""Transcripts: conversations word for word, as frameworks keep them, with their state."""
