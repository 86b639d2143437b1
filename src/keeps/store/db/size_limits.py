"""Limits on the rows that are read at once.

The JSON of a row becomes objects in one step, which must not block the event loop. A page of large rows ends with the
one that reaches `MOST_COST`.
"""

from __future__ import annotations

from collections.abc import Sequence

from keeps.store.db.session import Row, Tx
from keeps.store.db.statements import Statement
from keeps_client.errors import PayloadTooLargeError

MOST_COST, MOST_WHOLE = 4 << 20, 16 << 20
"""Maximum cost of a page, and of an answer without pages."""
EACH = 40
"""Bytes of text that take as long to read as one additional value."""


def cost_of(*texts: str | None) -> int:
    """Return the cost of reading JSON texts: their length, and `EACH` for each value in them."""
    return sum(
        len(text) + EACH * (text.count(",") + text.count("[") + text.count("{")) for text in texts if text is not None
    )


async def fetch_page(
    tx: Tx, statement: Statement, *values: object, limit: int, columns: Sequence[str], most: int = MOST_COST
) -> tuple[Sequence[Row], bool]:
    """Fetch the first rows of a statement, at most `limit`, and whether there are more.

    Args:
        statement: Gives at most `limit` + 1 rows, in order.
        columns: Those that hold JSON. Rows beyond what may be read at once stay in the database.
    """
    rows = await tx.fetch(statement.within(columns, most), *values)
    spent = 0
    for count, row in enumerate(rows[:limit]):
        if spent > most:
            return rows[:count], True
        spent += cost_of(*(row[name] for name in columns))
    return rows[:limit], len(rows) > limit


async def fetch_whole(tx: Tx, statement: Statement, *values: object, columns: Sequence[str]) -> Sequence[Row]:
    """Fetch the rows of an answer that has no pages. Raises PayloadTooLargeError when their JSON costs too much."""
    rows = await tx.fetch(statement.within(columns, MOST_WHOLE), *values)
    check_whole(rows, columns)
    return rows


def check_whole(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Raise PayloadTooLargeError when the JSON of the rows of an answer costs too much."""
    characters = sum(len(row[name] or "") for row in rows for name in columns)
    if characters * (1 + EACH) <= MOST_WHOLE:
        return
    if sum(cost_of(*(row[name] for name in columns)) for row in rows) > MOST_WHOLE:
        raise PayloadTooLargeError("the response is too large; use a filter or a lower limit")
