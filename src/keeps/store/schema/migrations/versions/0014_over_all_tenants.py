"""What is asked over all tenants, by index."""

from __future__ import annotations

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing: this revision changed functions, which functions.sql has."""
