"""Frozen tenants: their rows are in sealed bundles outside the database until their next call."""
