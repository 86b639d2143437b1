"""PostgreSQL: the pool, the one door, named statements, and a server of our own."""
