"""Local records of tenants and users, created when they first appear."""
