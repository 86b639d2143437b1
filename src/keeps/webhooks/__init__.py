"""Webhooks: a tenant's events, sent on to where its administrators say."""
