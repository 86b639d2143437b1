"""Statements on the directory of cells."""

from __future__ import annotations

from keeps.db.statements import Statements

QUERIES = Statements("keeps.cells")
ARRIVING, SETTLED = True, False
"""What a placement says: a copy is on its way, or the tenant is there."""
