"""Memories and everything that reads or changes them."""
