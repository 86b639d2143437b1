"""Export and import of a tenant's or user's data as JSON lines with the same ids; and erasure."""
