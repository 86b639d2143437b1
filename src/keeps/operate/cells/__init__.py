"""Tenants on several PostgreSQL servers: the directory of cells, opening a cell, moving a tenant."""
