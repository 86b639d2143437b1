"""Logs, metrics, traces: what happens, never what is said."""
