"""Local replicas of tenants and users, filled when they first appear."""
