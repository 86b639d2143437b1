"""Backups of the embedded database: made while it serves, sealed if wanted, restored to any moment since."""
