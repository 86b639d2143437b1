"""Tenants, users, memories, data derived from them, and events."""

from __future__ import annotations

from alembic import op

from keeps.store.schema.files import run_sql_file

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0001.sql")
