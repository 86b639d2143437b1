"""A caller's memory for protocols other than Keeps' own, with access checks on each operation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, BinaryIO, TypeVar

from keeps.base.scope import Scope, as_user, in_space
from keeps.doors.server.admission import admit
from keeps.doors.server.concurrency import ConcurrencyLimits
from keeps.engine import Keeps, LocalAdmin, LocalMemory
from keeps.providers.contract import MemoryProvider
from keeps.store.access.rates import Rates
from keeps_client.endpoint import Endpoint
from keeps_client.errors import ForbiddenError
from keeps_client.models import DocumentReceipt, Event, ImportSummary, NewDocument
from keeps_client.validation import named_space

AnswerT = TypeVar("AnswerT")


class AuthorizedMemory(LocalMemory):
    """In-process memory with the caller's roles and rate.

    `limits` gives each operation a slot, unless the whole request has one.
    """

    def __init__(
        self, keeps: Keeps, scope: Scope, rates: Rates | None, limits: ConcurrencyLimits | None = None
    ) -> None:
        super().__init__(keeps, scope)
        self._rates = rates
        self._limits = limits

    @property
    def admin(self) -> LocalAdmin:
        return _AuthorizedAdmin(self.keeps, self.scope, self._rates)

    def for_user(self, user_id: str) -> AuthorizedMemory:
        """Return another user's memory, with the same roles, rate and limits.

        Raises:
            ForbiddenError: The credential is one user's.
        """
        if user_id != self.scope.acting and not self.scope.any_user:
            raise ForbiddenError("this credential belongs to one user; it cannot act for another")
        return AuthorizedMemory(self.keeps, as_user(self.scope, user_id), self._rates, self._limits)

    def for_space(self, space_id: str) -> AuthorizedMemory:
        """Return the memory of a space, with the same roles, rate and limits."""
        return AuthorizedMemory(self.keeps, in_space(self.scope, named_space(space_id)), self._rates, self._limits)

    async def export_space_lines(self, space_id: str) -> list[str]:
        await admit(self._rates, self.scope, "reader", reads=True)
        return await super().export_space_lines(space_id)

    async def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        await admit(self._rates, self.scope, "reader", reads=True)
        async for event in super().subscribe(after=after, types=types, kinds=kinds):
            yield event

    async def provider(self, provider_id: str, *, session_id: str | None = None) -> MemoryProvider:  # noqa: ARG002
        """Raise, since a provider would bypass roles and rates."""
        raise ForbiddenError(f"use the entries of {provider_id}, not the provider itself")

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        await admit(self._rates, self.scope, endpoint.role, reads=_reads(endpoint))
        async with nullcontext() if self._limits is None else self._limits.slot(self.scope):
            return await super()._do(endpoint, **fields)

    async def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        await admit(self._rates, self.scope, "writer", reads=False)
        return await super()._upload(file, name, new, media_type)


class _AuthorizedAdmin(LocalAdmin):
    def __init__(self, keeps: Keeps, scope: Scope, rates: Rates | None) -> None:
        super().__init__(keeps, scope)
        self._caller, self._rates = scope, rates

    async def export_lines(self, *, user_id: str | None = None, tenant_id: str | None = None) -> list[str]:
        await admit(self._rates, self._caller, "admin", reads=True)
        return await super().export_lines(user_id=user_id, tenant_id=tenant_id)

    async def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        await admit(self._rates, self._caller, "admin", reads=False)
        return await super().import_lines(lines, dry_run=dry_run)

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        await admit(self._rates, self._caller, endpoint.role, reads=_reads(endpoint))
        return await super()._do(endpoint, **fields)


def _reads(endpoint: Endpoint[Any, Any, Any]) -> bool:
    return endpoint.verb == "GET" or endpoint.role == "reader"
