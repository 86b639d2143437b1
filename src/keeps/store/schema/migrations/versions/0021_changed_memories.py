"""Changed memories of an audience: all of them, or the notice that there are too many."""

from __future__ import annotations

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: this revision changed a function, which functions.sql contains."""
