"""Shared state, and complete erasure."""

from __future__ import annotations

from alembic import op

from keeps.store.schema.files import run_sql_file

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0006.sql")
