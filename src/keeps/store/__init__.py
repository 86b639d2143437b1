"""PostgreSQL: transactions, schema, the event log, tenants, keys, webhooks."""
