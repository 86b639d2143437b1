"""Keeps over HTTP."""

from keeps_client.models.common import build_models

build_models()  # FastAPI derives its own from them where a route is declared
