"""Adapters for frameworks, one module each, on top of `keeps_client.Memory`, in process or over HTTP."""
