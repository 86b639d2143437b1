"""Index use in queries over all tenants."""

from __future__ import annotations

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: this revision changed functions, which functions.sql contains."""
