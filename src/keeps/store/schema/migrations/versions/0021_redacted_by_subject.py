"""Events of items and transcripts are found by subject; functions only."""

from __future__ import annotations

revision = "0021"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change no table: functions.sql runs after every revision."""
