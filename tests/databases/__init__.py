"""Databases that are asked."""
