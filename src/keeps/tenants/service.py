"""Creation of tenants and users at their first write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from keeps.db.answers import Answer
from keeps.db.errors import UserGoneError
from keeps.db.session import Database, Tx
from keeps.scope import Scope
from keeps.tenants.store import ensure_user

ResultT = TypeVar("ResultT")


class Introducer:
    """Creates the tenant and user rows at the first write of a user that this process sees."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: set[tuple[str, str]] = set()

    async def introduce(self, scope: Scope, *, again: bool = False) -> None:
        who = (scope.tenant_id, scope.user_id)
        if again or who not in self._known:
            await self._database.place(scope.tenant_id)
            await self._database.write(scope, ensure_user)
            if len(self._known) >= 100_000:
                self._known.clear()
            self._known.add(who)

    async def write(
        self, scope: Scope, work: Callable[[Tx], Awaitable[ResultT]], *, answer: Answer[ResultT] | None = None
    ) -> ResultT:
        """Run `Database.write` with the user's row present; create it again if another process erased it meanwhile."""
        await self.introduce(scope)
        try:
            return await self._database.write(scope, work, answer=answer)
        except UserGoneError:
            await self.introduce(scope, again=True)
            return await self._database.write(scope, work, answer=answer)

    async def answered(self, scope: Scope, answer: Answer[ResultT]) -> ResultT | None:
        """Return the earlier answer of this request, or None."""
        return await self._database.answered(scope, answer)
