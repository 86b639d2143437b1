"""Webhooks: a tenant's events, sent to URLs that its administrators choose."""
