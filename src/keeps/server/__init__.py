"""Keeps over HTTP."""
