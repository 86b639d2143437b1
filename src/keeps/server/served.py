"""The memory of a caller over HTTP, for protocols other than Keeps' own, with access checks on each operation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, BinaryIO, TypeVar

from keeps.access.rates import Allowance, Rates
from keeps.access.roles import require
from keeps.engine import Keeps, LocalAdmin, LocalMemory
from keeps.providers.contract import MemoryProvider
from keeps.scope import Scope, check_actor
from keeps.server.turns import Turns
from keeps_client.endpoint import Endpoint
from keeps_client.errors import ForbiddenError
from keeps_client.models import DocumentReceipt, Event, ImportSummary, NewDocument, RoleName

AnswerT = TypeVar("AnswerT")


async def admitted(rates: Rates | None, scope: Scope, role: RoleName, *, reads: bool) -> Allowance | None:
    """Return the rest of a caller's rate. Raises ForbiddenError for a missing role, and TooManyError."""
    require(scope.roles, role)
    if scope.agent_bound and role in ("admin", "operator"):
        raise ForbiddenError("an agent's token cannot administer, whatever its roles")
    return None if rates is None else await rates.take(scope, "read" if reads else "write")


class ServedMemory(LocalMemory):
    """In-process memory with the caller's roles and rate.

    `turns` gives each operation a place, unless the whole request has one.
    """

    def __init__(self, keeps: Keeps, scope: Scope, rates: Rates | None, turns: Turns | None = None) -> None:
        super().__init__(keeps, scope)
        self._rates = rates
        self._turns = turns

    @property
    def admin(self) -> LocalAdmin:
        return _ServedAdmin(self.keeps, self.scope, self._rates)

    def for_user(self, user_id: str) -> ServedMemory:
        """Return another user's memory, with the same roles, rate and turns.

        Raises:
            ForbiddenError: The credential is one user's.
        """
        if user_id != self.scope.user_id and not self.scope.any_user:
            raise ForbiddenError("this credential is one user's; it cannot act for another")
        return ServedMemory(self.keeps, check_actor(replace(self.scope, user_id=user_id)), self._rates, self._turns)

    async def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        await admitted(self._rates, self.scope, "reader", reads=True)
        async for event in super().subscribe(after=after, types=types, kinds=kinds):
            yield event

    async def provider(self, provider_id: str, *, session_id: str | None = None) -> MemoryProvider:  # noqa: ARG002
        """Raise, since a provider would bypass roles and rates."""
        raise ForbiddenError(f"work with {provider_id} by its entries, not directly")

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        await admitted(self._rates, self.scope, endpoint.role, reads=_reads(endpoint))
        async with nullcontext() if self._turns is None else self._turns.taken(self.scope):
            return await super()._do(endpoint, **fields)

    async def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        await admitted(self._rates, self.scope, "writer", reads=False)
        return await super()._upload(file, name, new, media_type)


class _ServedAdmin(LocalAdmin):
    def __init__(self, keeps: Keeps, scope: Scope, rates: Rates | None) -> None:
        super().__init__(keeps, scope)
        self._caller, self._rates = scope, rates

    async def export_lines(self, *, user_id: str | None = None) -> list[str]:
        await admitted(self._rates, self._caller, "admin", reads=True)
        return await super().export_lines(user_id=user_id)

    async def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        await admitted(self._rates, self._caller, "admin", reads=False)
        return await super().import_lines(lines, dry_run=dry_run)

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        await admitted(self._rates, self._caller, endpoint.role, reads=_reads(endpoint))
        return await super()._do(endpoint, **fields)


def _reads(endpoint: Endpoint[Any, Any, Any]) -> bool:
    return endpoint.verb == "GET" or endpoint.role == "reader"
