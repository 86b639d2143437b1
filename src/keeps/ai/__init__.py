"""Ports to models, and their adapters."""
