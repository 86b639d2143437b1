"""Verification of the log itself."""

from __future__ import annotations

from alembic import op

from keeps.schema.files import run_sql_file

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0018.sql")
