"""Shared state of agents, access keys, quotas, stored answers for retries."""

from __future__ import annotations

from alembic import op

from keeps.store.schema.files import run_sql_file

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0002.sql")
