"""Run the statements on frozen tenants."""

from __future__ import annotations

from keeps.store.db.statements import Statements

QUERIES = Statements("keeps.operate.freezing")
