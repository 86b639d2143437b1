"""Statements on the directory of cells."""

from __future__ import annotations

from keeps.db.statements import Statements

QUERIES = Statements("keeps.cells")
ARRIVING, SETTLED = True, False
"""Values of a placement: a copy is on its way, or the tenant is there."""
