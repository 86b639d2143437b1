"""Verification of the log itself."""

from __future__ import annotations

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: this revision changed functions, which functions.sql contains."""
