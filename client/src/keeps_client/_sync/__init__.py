"""Generated from keeps_client/_async by tools/make_sync.py; but for transport.py, which is by hand."""
