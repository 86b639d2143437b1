"""Compare the counters of a tenant with its rows, and correct them."""

from __future__ import annotations

from dataclasses import dataclass

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import Metrics
from keeps.store.db.session import Database, taking_long
from keeps.store.tenants.store import QUERIES

ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class WrongCount:
    """A counter that differs from the rows that it counts.

    Attributes:
        name: The column: of `tenants`, or of `vector_counts` if there is a model.
        model: The embedding model; empty for other counters.
        kept: Value of the counter.
        held: Number that the rows give.
    """

    name: str
    model: str
    kept: int
    held: int

    def __str__(self) -> str:
        name = f"{self.name} of {self.model}" if self.model else self.name
        return f"{name} was {self.kept:,} and is {self.held:,}"


@dataclass(frozen=True, slots=True)
class CountCheck:
    """The result of a check. `is_first`: the tenant is older than its counters, so its rows were added to them."""

    is_first: bool
    wrong: list[WrongCount]


class TenantCounts:
    """Checks the counters of tenants.

    Counters and rows are read in one snapshot, without a lock. The difference is added in a short write, so that what
    others counted meanwhile stays counted.
    """

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics

    async def check(self, scope: Scope, *, weigh: bool = False) -> CountCheck:
        """Compare the counters of the scope's tenant with its rows and correct them.

        Args:
            scope: Any user of the tenant.
            weigh: Also check the bytes that count for quotas, which reads all rows instead of indexes.
        """
        with taking_long():
            for _ in range(ATTEMPTS):
                async with self._database.scoped(scope) as tx:
                    rows = await tx.fetch(QUERIES["counts_compare"], weigh)
                wrong = [
                    WrongCount(row["name"], row["model"], row["kept"], row["held"])
                    for row in rows
                    if row["kept"] != row["held"]
                ]
                is_first = bool(rows) and rows[0]["counted_at"] is None
                if not wrong and not is_first:
                    break
                corrected = False
                async for attempt in self._database.writing(scope):
                    async with attempt as tx:
                        row = await tx.fetch_row(
                            QUERIES["counts_correct"],
                            rows[0]["made_at"],
                            rows[0]["counted_at"],
                            [each.name for each in wrong],
                            [each.model for each in wrong],
                            [each.held - each.kept for each in wrong],
                        )
                        corrected = row is not None and row["corrected"]
                if corrected:
                    return self._report(scope, CountCheck(is_first, [] if is_first else wrong))
        return CountCheck(is_first=False, wrong=[])

    def _report(self, scope: Scope, check: CountCheck) -> CountCheck:
        if check.wrong:
            for each in check.wrong:
                self._metrics.counts_corrected.labels(each.name).inc()
            log().warning(
                "counters were wrong and are corrected", tenant_id=scope.tenant_id, counters=list(map(str, check.wrong))
            )
        return check
