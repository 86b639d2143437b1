"""Load the statements of this folder."""

from __future__ import annotations

from keeps.db.statements import Statements
from keeps.memories.types import MEMORY

QUERIES = Statements("keeps.lifecycle", MEMORY)
