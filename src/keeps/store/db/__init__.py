"""PostgreSQL access: the connection pool, transactions, named statements, and the embedded server."""
