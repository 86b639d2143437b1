"""Export, erasure, backups, cells."""
