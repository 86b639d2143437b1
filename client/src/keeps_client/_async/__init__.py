"""The client by hand; keeps_client/_sync is generated from it (tools/make_sync.py)."""
