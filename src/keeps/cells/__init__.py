"""Tenants on several PostgreSQLs: which there are, how one is opened, how a tenant moves between them."""
