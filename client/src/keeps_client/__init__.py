"""Keeps client: the wire models and errors that the engine and the HTTP SDK share."""
