"""Versions of audiences, for the arrays that recall holds in memory."""

from __future__ import annotations

from alembic import op

from keeps.store.schema.files import run_sql_file

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0020.sql")
