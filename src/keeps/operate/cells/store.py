"""Run the statements on the directory of cells."""

from __future__ import annotations

from keeps.store.db.statements import Statements

QUERIES = Statements("keeps.operate.cells")
ARRIVING, SETTLED = True, False
"""Values of a placement: a copy is in progress, or the tenant is on the cell."""
