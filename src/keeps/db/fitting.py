"""How many rows are read at once: what is in their JSON becomes objects in one step, which nobody may hold up.

A page of rows that hold much ends with the one that reaches `MOST_COST`.
"""

from __future__ import annotations

from collections.abc import Sequence

from keeps.db.session import Row
from keeps_client.errors import PayloadTooLargeError

MOST_COST, MOST_WHOLE = 4 << 20, 16 << 20
"""Of a page, and of an answer that has none."""
EACH = 40
"""So many bytes of text take as long as one value more."""


def cost_of(*texts: str | None) -> int:
    """What it takes to read some texts of JSON: their length, and `EACH` for each value in them."""
    return sum(
        len(text) + EACH * (text.count(",") + text.count("[") + text.count("{")) for text in texts if text is not None
    )


def fitting(rows: Sequence[Row], limit: int, *columns: str, most: int = MOST_COST) -> tuple[Sequence[Row], bool]:
    """Of rows in order the first, at most `limit`, whose `columns` of JSON are not too much; and whether there are
    more."""
    spent = 0
    for count, row in enumerate(rows[:limit]):
        if spent > most:
            return rows[:count], True
        spent += cost_of(*(row[name] for name in columns))
    return rows[:limit], len(rows) > limit


def check_fitting(rows: Sequence[Row], *columns: str) -> Sequence[Row]:
    """Of an answer that has no pages. Raises PayloadTooLargeError where its JSON is too much."""
    if sum(cost_of(*(row[name] for name in columns)) for row in rows) > MOST_WHOLE:
        raise PayloadTooLargeError("what this would answer is too much at once; ask for less, by a filter or a limit")
    return rows
