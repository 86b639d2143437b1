"""A tenant's or user's data as JSON lines: out, and in again with the same ids; and erasure of it all."""
