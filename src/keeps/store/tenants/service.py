"""Creation of tenants and users at their first write."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from cachetools import LRUCache

from keeps.base.scope import Scope
from keeps.store.db.answers import Answer
from keeps.store.db.session import Database, Writing
from keeps.store.tenants.store import ensure_user

ResultT = TypeVar("ResultT")


class Introducer:
    """Creates the tenant and user rows at the first write of a user that this process sees."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: LRUCache[tuple[str, str], None] = LRUCache(100_000)

    async def introduce(self, scope: Scope, *, again: bool = False) -> None:
        who = (scope.tenant_id, scope.user_id)
        if again or who not in self._known:
            await self._database.place(scope.tenant_id)
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    await ensure_user(tx)
            self._known[who] = None

    @overload
    def writing(self, scope: Scope) -> Writing[None]: ...

    @overload
    def writing(self, scope: Scope, answer: Answer[ResultT]) -> Writing[ResultT]: ...

    def writing(self, scope: Scope, answer: Answer[Any] | None = None) -> Writing[Any]:
        """Return a write with the user's row present; create it again if another process erased it meanwhile."""
        return Writing(self._database, scope, answer, self.introduce)

    async def answered(self, scope: Scope, answer: Answer[ResultT]) -> ResultT | None:
        """Return the earlier answer of this request, or None."""
        return await self._database.answered(scope, answer)
