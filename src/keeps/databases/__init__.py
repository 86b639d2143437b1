"""Databases in plain language: which there are, what may be asked of them, and the gate that every question passes."""
