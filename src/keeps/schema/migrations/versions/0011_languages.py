"""Words in their own language."""

from __future__ import annotations

from typing import Any, cast

from alembic import op
from sqlalchemy.util import await_only

from keeps.schema.files import run_sql_file
from keeps.schema.words import index_words

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql_file(op.get_bind(), "0011.sql")
    await_only(index_words(cast("Any", op.get_bind().connection.driver_connection)))
