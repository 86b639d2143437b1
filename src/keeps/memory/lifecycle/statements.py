"""Load the statements of this folder."""

from __future__ import annotations

from keeps.memory.memories.types import MEMORY
from keeps.store.db.statements import Statements

QUERIES = Statements("keeps.memory.lifecycle", MEMORY)
