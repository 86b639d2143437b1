"""Transcripts: verbatim conversations and their state, as agent frameworks store them."""
