"""The log by months, append-only by trigger; replay, retention, webhooks."""

from __future__ import annotations

from alembic import op

from keeps.store.schema.files import run_sql_file

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0003.sql")
