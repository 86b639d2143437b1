"""Keeps, in process: open it, take a memory for a scope, remember and recall."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID

from keeps.indexing.service import Indexer, IndexStatus
from keeps.memories.service import MemoryService, validated
from keeps.recall.access import AccessBuffer
from keeps.recall.service import RecallService
from keeps.scope import Scope
from keeps_client.errors import ValidationFailedError
from keeps_client.models import (
    Event,
    Filters,
    Memory,
    MemoryChange,
    NewMemory,
    Page,
    RecallRequest,
    RecallResult,
    Receipt,
)
from keeps_client.models.memories import Kind, Layer, ProcedureType, Role, Visibility

Index = Literal["now", "later"]
MANY = 64


class Keeps:
    """An open memory: one database, any number of scopes.

    async with Keeps.open() as keeps:
        memory = keeps.memory(Scope(tenant_id="acme", user_id="alice"))
    """

    def __init__(
        self,
        memories: MemoryService,
        recall: RecallService,
        indexer: Indexer,
        access: AccessBuffer,
        closing: Sequence[Any],
    ) -> None:
        self.indexer = indexer
        self._memories = memories
        self._recall = recall
        self._access = access
        self._closing = closing

    @staticmethod
    def open(home: Path | str | None = None, *, database_url: str | None = None, **overrides: Any) -> OpeningKeeps:
        """Open the embedded database under `home` (KEEPS_HOME), or the one at `database_url` (KEEPS_DATABASE_URL).

        Use it as `async with Keeps.open() as keeps`, or `keeps = await Keeps.open()` and `await keeps.close()`.
        Raises UnavailableError, which says what to do, when the database cannot be used safely.
        """
        return OpeningKeeps(home, database_url, overrides)

    def memory(self, scope: Scope) -> ScopedMemory:
        """The memory as `scope` sees it. Cheap; make one wherever you need it."""
        return ScopedMemory(scope, self._memories, self._recall, self.indexer)

    async def status(self) -> IndexStatus:
        """What the index says about itself: model, pending rows, lag, counts."""
        return await self.indexer.status()

    async def server_version(self) -> str:
        """PostgreSQL's and pgvector's versions, for people."""
        return await self.indexer.server_version()

    async def close(self) -> None:
        """Finish what is on its way and let go of the database; the last one out stops an embedded server."""
        await self._memories.close()
        await self.indexer.close()
        await self._access.close()
        for resource in self._closing:
            await resource.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class OpeningKeeps:
    """A Keeps that is being opened: await it, or enter it."""

    def __init__(self, home: Path | str | None, database_url: str | None, overrides: dict[str, Any]) -> None:
        self._arguments = (home, database_url, overrides)
        self._opened: Keeps | None = None

    def __await__(self) -> Any:
        return self._open().__await__()

    async def _open(self) -> Keeps:
        from keeps.bootstrap import open_keeps
        from keeps.settings import load_settings

        home, database_url, overrides = self._arguments
        return await open_keeps(load_settings(home=home, database_url=database_url), **overrides)

    async def __aenter__(self) -> Keeps:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


class ScopedMemory:
    """The memory of one scope. The same methods as the SDK's `MemoryClient`."""

    def __init__(self, scope: Scope, memories: MemoryService, recall: RecallService, indexer: Indexer) -> None:
        self.scope = scope
        self._memories = memories
        self._recall = recall
        self._indexer = indexer

    async def remember(
        self,
        content: str,
        *,
        kind: Kind = "semantic",
        content_type: str = "fact",
        namespace: str | None = None,
        key: str | None = None,
        value: Any = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
        metadata: dict[str, Any] | None = None,
        visibility: Visibility = "private",
        source: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        ttl_days: float | None = None,
        expires_at: datetime | None = None,
        valid_from: datetime | None = None,
        role: Role | None = None,
        trigger_condition: str | None = None,
        procedure_type: ProcedureType | None = None,
        infer: bool = False,
        index: Index = "now",
        if_version: int | None = None,
    ) -> Receipt:
        """Store one memory; returns when it is committed.

        The same content again is `unchanged`; the same namespace and key is `updated`, and the old truth stays
        readable with `recall(include_superseded=True)` or `recall(as_of=…)`. `index="later"` leaves the vector to the
        background, as does a model that is away; until then the memory is found by its words. `infer` needs an LLM, which comes with a later version.
        Raises ValidationFailedError (nothing is stored), ConflictError (`if_version`), UnavailableError.
        """
        if infer:
            raise ValidationFailedError(
                "infer=True needs an LLM, which this version of Keeps does not use yet; store the text itself"
            )
        given = {
            "kind": (kind, "semantic"), "content_type": (content_type, "fact"), "namespace": (namespace, None), "key": (key, None),
            "value": (value, None), "tags": (_listed(tags), ()), "importance": (importance, None), "metadata": (metadata, None),
            "visibility": (visibility, "private"), "source": (source, None), "agent_id": (agent_id, None), "session_id": (session_id, None),
            "ttl_days": (ttl_days, None), "expires_at": (expires_at, None), "valid_from": (valid_from, None), "role": (role, None),
            "trigger_condition": (trigger_condition, None), "procedure_type": (procedure_type, None), "if_version": (if_version, None),
        }  # fmt: skip
        named = {name: value for name, (value, default) in given.items() if value is not default and value != default}
        new: NewMemory = validated(NewMemory, {"content": content, **named})
        receipt = await self._memories.remember(self.scope, new, index_now=_now(index))
        if not receipt.indexed:
            self._indexer.notice(self.scope)
        return receipt

    async def remember_many(
        self, items: Sequence[NewMemory | dict[str, Any]], *, index: Index | None = None
    ) -> list[Receipt]:
        """Store up to 1,000 memories in one transaction, or none; one receipt for each, in order.

        `index`: "later" leaves the vectors to the background, the default for more than 64 items.
        """
        if not isinstance(items, list | tuple):
            raise ValidationFailedError("items must be a list of NewMemory")
        news: list[NewMemory] = [
            item if isinstance(item, NewMemory) else validated(NewMemory, item, where=f"item {position}: ")
            for position, item in enumerate(items)
        ]
        index_now = _now(index) if index is not None else len(news) <= MANY
        receipts = await self._memories.remember_many(self.scope, news, index_now=index_now)
        if any(not receipt.indexed for receipt in receipts):
            self._indexer.notice(self.scope)
        return receipts

    async def get(self, memory_id: UUID | str) -> Memory:
        """One memory by id, also a forgotten or superseded one. Raises NotFoundError, for someone else's, too."""
        return await self._memories.get(self.scope, _uuid(memory_id))

    async def find(self, namespace: str, key: str) -> Memory | None:
        """The current memory of a key, or None."""
        return await self._memories.find(self.scope, _plain("namespace", namespace), _plain("key", key))

    async def list(self, *, filters: Filters | None = None, limit: int = 50, cursor: str | None = None) -> Page[Memory]:
        """Memories, newest first, a page at a time: pass `next_cursor` on for the next."""
        start = None if cursor is None else _plain("cursor", cursor)
        return await self._memories.list(self.scope, filters=filters, limit=limit, cursor=start)

    async def update(
        self, memory_id: UUID | str, *, if_version: int | None = None, index: Index = "now", **changes: Any
    ) -> Receipt:
        """Change the named fields (those of MemoryChange). New content supersedes the old, which stays readable."""
        change: MemoryChange = validated(MemoryChange, changes)
        receipt = await self._memories.update(
            self.scope, _uuid(memory_id), change, if_version=_version(if_version), index_now=_now(index)
        )
        if not receipt.indexed:
            self._indexer.notice(self.scope)
        return receipt

    async def forget(
        self,
        memory_id: UUID | str | None = None,
        *,
        namespace: str | None = None,
        key: str | None = None,
        hard: bool = False,
    ) -> Receipt:
        """Forget by id or by key: hidden at once, restorable for 30 days. `hard` removes it, its older truths, their
        vectors and the contents of their events now, for good."""
        if hard not in (True, False):
            raise ValidationFailedError("hard must be true or false")
        wanted = None if memory_id is None else _uuid(memory_id)
        plain = (
            None if namespace is None else _plain("namespace", namespace),
            None if key is None else _plain("key", key),
        )
        return await self._memories.forget(self.scope, wanted, *plain, hard=hard)

    async def restore(self, memory_id: UUID | str) -> Receipt:
        """Bring back what was forgotten less than 30 days ago."""
        return await self._memories.restore(self.scope, _uuid(memory_id))

    async def history(self, memory_id: UUID | str) -> list[Event]:
        """The events of one memory, oldest first."""
        return await self._memories.history(self.scope, _uuid(memory_id))

    async def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: Sequence[Kind] | None = None,
        layers: Sequence[Layer] | None = None,
        content_types: Sequence[str] | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        namespace: str | None = None,
        tags: Sequence[str] | None = None,
        tags_match: Literal["any", "all"] = "any",
        filters: Filters | None = None,
        min_importance: float | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        scope: Literal["all", "own", "shared"] = "all",
        providers: Sequence[Literal["postgres"]] | None = None,
        include_archived: bool = False,
        include_superseded: bool = False,
        rerank: bool | None = None,
        explain: bool = False,
    ) -> RecallResult:
        """The memories that best answer `query`, best first: what is true now, unless you ask otherwise.

        `since` and `until` bound when a memory began to be true, `as_of` asks what was true then. `rerank=False` leaves
        out the late-interaction stage. `explain` adds to each hit every number that went into its score. Raises ValidationFailedError for unknown fields in `filters`.
        """
        arguments = {
            "query": query, "limit": limit, "kinds": _listed(kinds), "layers": _listed(layers), "content_types": _listed(content_types),
            "agent_id": agent_id, "session_id": session_id, "namespace": namespace, "tags": _listed(tags), "tags_match": tags_match,
            "filters": filters, "min_importance": min_importance, "since": since, "until": until, "as_of": as_of, "scope": scope,
            "providers": _listed(providers), "include_archived": include_archived, "include_superseded": include_superseded,
            "rerank": rerank, "explain": explain,
        }  # fmt: skip
        request: RecallRequest = validated(RecallRequest, arguments)
        return await self._recall.recall(self.scope, request)


def _listed(values: Any) -> Any:
    """A tuple; but what is no list stays as it is, so that validation says what is wrong instead of splitting it."""
    return tuple(values) if isinstance(values, list | tuple | set | frozenset) else values


def _uuid(value: UUID | str) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise ValidationFailedError("memory_id is not a UUID") from None


def _plain(name: str, value: object) -> str:
    if isinstance(value, str) and value and "\x00" not in value and value.encode("utf-8", "ignore").decode() == value:
        return value
    raise ValidationFailedError(f"{name} must be non-empty text without NUL or lone surrogates")


def _version(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31):
        raise ValidationFailedError("if_version must be a whole number from 0 on")
    return value


def _now(index: str) -> bool:
    if index not in ("now", "later"):
        raise ValidationFailedError('index must be "now" or "later"')
    return index == "now"
