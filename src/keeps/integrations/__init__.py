"""Keeps behind the interfaces of frameworks: a file for each, over `keeps_client.Memory`, in process and over HTTP."""
