"""Questions in plain language to external databases: the databases, their tables, and the gate for SQL."""
