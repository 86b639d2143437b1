"""Processes that read what strangers sent: how they are started and what they may do."""
