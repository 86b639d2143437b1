"""Backups of the embedded database: made while it serves, optionally sealed, restored to any later moment."""
