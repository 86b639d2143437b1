"""LLM tokens used by a tenant's jobs and questions, by day and job."""

from __future__ import annotations

from datetime import date

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.store.db.session import Tx
from keeps.store.db.statements import Statements
from keeps.store.tenants.service import Introducer
from keeps_client.errors import KeepsError

QUERIES = Statements("keeps.store.tenants")


class LlmUsage:
    """Records token counts. An LLM's answer is never lost because its tokens could not be recorded."""

    def __init__(self, introducer: Introducer, clock: Clock) -> None:
        self._introducer = introducer
        self._clock = clock

    async def note(self, scope: Scope, job: str, tokens: int) -> None:
        values = (scope.tenant_id, self._clock().date(), job, tokens)
        try:
            async for attempt in self._introducer.writing(scope):
                async with attempt as tx:
                    await tx.execute(QUERIES["llm_spend"], *values)
        except KeepsError as error:
            log().warning("cannot record the LLM's tokens", job=job, tokens=tokens, error=error.code)


async def spent_on(tx: Tx, day: date, job: str) -> int:
    """Return the tokens that one job of this tenant used on one day."""
    row = await tx.fetch_row(QUERIES["llm_spent"], tx.scope.tenant_id, day, job)
    return 0 if row is None else row["tokens"]
