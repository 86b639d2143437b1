"""CrewAI: the storage of its memory.

    storage = KeepsStorage(user_id="alice")
    memory = Memory(storage=storage, embedder=text_vectors, llm=…)
    crew = Crew(agents=[…], tasks=[…], memory=memory)

CrewAI searches by the vector of a question. `text_vectors` makes vectors that contain their text, so that Keeps, which
embeds texts itself, finds memories by meaning and by words.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

try:
    from crewai.memory.storage.factory import set_memory_storage_factory
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ImportError as error:
    raise ImportError("keeps.integrations.crewai needs CrewAI: pip install 'keeps[crewai]'") from error

from keeps.base.text.trust import trust_of
from keeps.engine import Keeps
from keeps.integrations.marks import marked
from keeps.integrations.owners import NOT_ALLOWED, Owners
from keeps.integrations.storable import storable, storable_json
from keeps_client.checked import validated
from keeps_client.errors import KeepsError, NotFoundError, ValidationFailedError
from keeps_client.memory.whole import Memory
from keeps_client.models import Filters, NewMemory
from keeps_client.models import Memory as Stored
from keeps_client.models.common import MAX_BATCH_ITEMS, MAX_LIMIT
from keeps_client.values import MAX_CONTENT_CHARACTERS

NAMESPACE = "crewai"
FIELDS = "crewai"
"""The metadata key for what a record has beside its text."""
SPEC = "keeps"
"""`Memory(storage="keeps:alice")` is the memory of alice, after `use_keeps`."""
DEFAULT_SPEC = "lancedb"
QUERY_CHARACTERS = 10_000
IDS = 50
"""Number of ids that one filter names."""
BYTES_A_NUMBER = 6
SIGNATURE_NUMBERS = 32
TINY = 2.0**-70
"""Keeps the numbers of a text from changing the length of its vector. A power of two, so nothing is rounded."""
AnswerT = TypeVar("AnswerT")


def text_vectors(input: Sequence[str]) -> list[list[float]]:  # noqa: A002  CrewAI's name
    """Return vectors that contain their texts: an embedder for `KeepsStorage`, which computes embeddings itself.

    Equal texts have the cosine 1, other texts about 0, so CrewAI's own comparison drops only what is said twice.
    """
    return [_vector_of(storable(text)[:MAX_CONTENT_CHARACTERS]) for text in input]


class KeepsStorage:
    """The storage of the memory of one user: a `StorageBackend`.

    While memory is unavailable, searches return nothing and nothing is stored, which is logged and counted in
    `failures`.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner; without it the user of the token.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
    ) -> None:
        self.user_id = user_id
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    def close(self) -> None:
        """Close what this object opened. CrewAI calls it when a memory is closed; a later call opens it again."""
        self._owners.close_now()

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Store records; those of known ids are replaced. One that cannot be stored is left out and reported."""
        news = [new for record in records if (new := self._new(record)) is not None]

        async def store(memory: Memory) -> None:
            for start in range(0, len(news), MAX_BATCH_ITEMS):
                await memory.remember_many(news[start : start + MAX_BATCH_ITEMS])

        await self._tried("save", store, None)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records nearest to a question, best first, with their relevance.

        CrewAI shows them to models, so text from outside has its mark. Other methods return records as they are.

        Raises ValueError for a vector that `text_vectors` did not make.
        """
        question = text_of(query_embedding).strip()[:QUERY_CHARACTERS]
        filters = _filters(scope_prefix, categories, metadata_filter)
        if not question or limit < 1:
            return []

        async def find(memory: Memory) -> list[tuple[MemoryRecord, float]]:
            result = await memory.recall(
                question, limit=min(limit, MAX_LIMIT), namespace=NAMESPACE, filters=filters, scope="own"
            )
            scored = [(hit.memory, hit.score if hit.relevance is None else hit.relevance) for hit in result.hits]
            return [(_shown(stored), score) for stored, score in scored if score >= min_score]

        return await self._tried("search", find, [])

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records that meet all conditions; return their number. They can be restored for 30 days."""
        groups = [None] if record_ids is None else [record_ids[i : i + IDS] for i in range(0, len(record_ids), IDS)]

        async def forget(memory: Memory) -> int:
            chosen: list[Stored] = []
            for ids in groups:
                chosen += await _all(memory, _filters(scope_prefix, categories, metadata_filter, ids, older_than))
            for stored in chosen:
                with suppress(NotFoundError):  # forgotten concurrently
                    await memory.forget(stored.memory_id)
            return len(chosen)

        return await self._tried("delete", forget, 0)

    def save(self, records: list[MemoryRecord]) -> None:
        self._owners.now(self.asave(records))

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        return self._owners.now(
            self.asearch(query_embedding, scope_prefix, categories, metadata_filter, limit, min_score)
        )

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        return self._owners.now(self.adelete(scope_prefix, categories, record_ids, older_than, metadata_filter))

    def update(self, record: MemoryRecord) -> None:
        """Replace the record of the same id."""
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record; None if there is none."""

        async def find(memory: Memory) -> MemoryRecord | None:
            stored = await memory.find(NAMESPACE, _key(record_id))
            return None if stored is None or stored.visibility != "private" else _record(stored)

        return self._owners.now(self._tried("get_record", find, None))

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return records of a scope and those below it, newest first."""
        if limit <= 0 or offset < 0:
            return []
        return self._records("list_records", scope_prefix)[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return what a scope and those below it contain."""
        records = self._records("get_scope_info", scope)
        return ScopeInfo(
            path=scope or "/",
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=records[-1].created_at if records else None,
            newest_record=records[0].created_at if records else None,
            child_scopes=_children(records, scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below a scope."""
        return _children(self._records("list_scopes", parent), parent)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the number of records by category."""
        records = self._records("list_categories", scope_prefix)
        return dict(Counter(category for record in records for category in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        return len(self._records("count", scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records of a scope and those below it."""
        self.delete(scope_prefix)

    def _records(self, what: str, scope_prefix: str | None) -> list[MemoryRecord]:
        """Return all records of a scope and those below it, newest first."""
        filters = _filters(scope_prefix)

        async def read(memory: Memory) -> list[MemoryRecord]:
            return [_record(stored) for stored in await _all(memory, filters)]

        records = self._owners.now(self._tried(what, read, []))
        return sorted(records, key=lambda record: record.created_at, reverse=True)

    def _new(self, record: MemoryRecord) -> NewMemory | None:
        """Return a record as a memory; None for one that cannot be stored, which is reported."""
        content = storable(record.content)
        own = {
            "scope": _scope(record.scope),
            "scopes": _scopes(record.scope),
            "categories": record.categories,
            "source": record.source,
            "private": record.private,
            "metadata": record.metadata,
        }
        fields = {
            "content": content[:MAX_CONTENT_CHARACTERS],
            "namespace": NAMESPACE,
            "key": _key(record.id),
            "importance": record.importance,
            "valid_from": _aware(record.created_at),
            "metadata": {FIELDS: storable_json(own), **_trust_of(record)},
            "value": {"text": content} if len(content) > MAX_CONTENT_CHARACTERS else None,
        }
        try:
            return validated(NewMemory, fields)
        except ValidationFailedError as error:
            self._owners.failed("save", error)
            return None

    async def _tried(self, what: str, work: Callable[[Memory], Awaitable[AnswerT]], otherwise: AnswerT) -> AnswerT:
        """Return the result of `work`; count and log a failure."""
        try:
            return await self._owners.ask(self.user_id, work)
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed(what, error)
            return otherwise


def use_keeps(
    keeps: Keeps | str | None = None,
    *,
    user_id: str | None = None,
    tenant_id: str | None = None,
    token: str | None = None,
) -> None:
    """Store CrewAI's memories in Keeps from now on, for all of this process.

    `Memory(storage="keeps:alice")` is the memory of alice; `Memory()` and `Memory(storage="keeps")` that of `user_id`.
    Each needs `embedder=text_vectors`. `set_memory_storage_factory(None)` ends it.
    """

    def storage_of(spec: str) -> KeepsStorage | None:
        kind, colon, name = spec.partition(":")
        if kind != SPEC and spec != DEFAULT_SPEC:
            return None
        return KeepsStorage(keeps, user_id=name if colon else user_id, tenant_id=tenant_id, token=token)

    set_memory_storage_factory(storage_of)


def text_of(vector: Sequence[float]) -> str:
    """Return the text of a vector of `text_vectors`. Raises ValueError for any other vector."""
    numbers = [number / TINY for number in vector[SIGNATURE_NUMBERS:]]
    with suppress(ValueError, OverflowError, IndexError, struct.error):
        length, *parts = [int(number) for number in numbers if number == int(number)]
        raw = b"".join(part.to_bytes(BYTES_A_NUMBER, "big") for part in parts)[:length]
        text = raw.decode()
        if list(vector) == _vector_of(text):
            return text
    raise ValueError(
        "KeepsStorage searches by text, and this vector contains none: pass"
        " embedder=keeps.integrations.crewai.text_vectors to the Memory"
    )


def _vector_of(text: str) -> list[float]:
    raw = text.encode()
    digest = hashlib.sha512(raw).digest()[: 2 * SIGNATURE_NUMBERS]
    signature = [number / 32_768 for number in struct.unpack(f">{SIGNATURE_NUMBERS}h", digest)]
    parts = [raw[start : start + BYTES_A_NUMBER] for start in range(0, len(raw), BYTES_A_NUMBER)]
    numbers = [len(raw), *(int.from_bytes(part.ljust(BYTES_A_NUMBER, b"\0"), "big") for part in parts)]
    return signature + [number * TINY for number in numbers]


async def _all(memory: Memory, filters: Filters) -> list[Stored]:
    page = await memory.list(filters=filters, limit=MAX_LIMIT)
    chosen = list(page.items)
    while page.next_cursor is not None:
        page = await memory.list(filters=filters, limit=MAX_LIMIT, cursor=page.next_cursor)
        chosen += page.items
    return chosen


def _filters(
    scope_prefix: str | None = None,
    categories: list[str] | None = None,
    metadata_filter: dict[str, Any] | None = None,
    record_ids: list[str] | None = None,
    older_than: datetime | None = None,
) -> Filters:
    """Return the filter for the records of this storage that meet all conditions."""
    conditions: list[Any] = [{"namespace": {"eq": NAMESPACE}}, {"visibility": {"eq": "private"}}]
    if scope_prefix is not None and _scope(scope_prefix) != "/":
        conditions.append({f"metadata.{FIELDS}.scopes": {"contains": [_scope(scope_prefix)]}})
    if categories:
        named = storable_json(categories)
        conditions.append({"OR": [{f"metadata.{FIELDS}.categories": {"contains": [name]}} for name in named]})
    if metadata_filter:
        conditions.append({f"metadata.{FIELDS}": {"contains": {"metadata": storable_json(metadata_filter)}}})
    if record_ids is not None:
        conditions.append({"key": {"in": [_key(record_id) for record_id in record_ids]}})
    if older_than is not None:
        conditions.append({"valid_from": {"lt": _aware(older_than).isoformat()}})
    return {"AND": conditions}


def _record(stored: Stored) -> MemoryRecord:
    own: Any = stored.metadata.get(FIELDS) or {}
    whole = stored.value.get("text") if isinstance(stored.value, dict) else None
    life = stored.life
    accessed = stored.updated_at if life is None or life.last_accessed_at is None else life.last_accessed_at
    return MemoryRecord(
        id=stored.key or str(stored.memory_id),
        content=whole if isinstance(whole, str) else stored.content,
        scope=own.get("scope", "/"),
        categories=own.get("categories", []),
        metadata=own.get("metadata", {}),
        importance=stored.importance,
        created_at=_naive(stored.valid_from),
        last_accessed=_naive(accessed),
        source=own.get("source"),
        private=own.get("private", False),
    )


def _shown(stored: Stored) -> MemoryRecord:
    """Return a record as a model may read it. CrewAI rewrites records with the metadata that a search returned."""
    record = _record(stored)
    trust = {"trust": stored.metadata["trust"]} if "trust" in stored.metadata else {}
    return record.model_copy(
        update={"content": marked(stored, record.content), "metadata": {**record.metadata, **trust}}
    )


def _trust_of(record: MemoryRecord) -> dict[str, Any]:
    """Return how far a record is trusted, as metadata: by its own `trust`, or by a source that is a tool or a page."""
    if "trust" in record.metadata:
        return {"trust": storable_json(record.metadata["trust"])}
    source = None if record.source is None else storable(record.source)
    return {"trust": "tool"} if trust_of(None, source, {}) == "tool" else {}


def _key(record_id: str) -> str:
    return storable(str(record_id))


def _scope(path: str) -> str:
    """Return a scope as it is stored: `/`, or `/a/b` without a slash at its end."""
    parts = [part for part in storable(path).split("/") if part]
    return f"/{'/'.join(parts)}"


def _scopes(path: str) -> list[str]:
    """Return a scope and those above it, without `/`."""
    parts = [part for part in storable(path).split("/") if part]
    return [f"/{'/'.join(parts[: count + 1])}" for count in range(len(parts))]


def _children(records: Sequence[MemoryRecord], parent: str) -> list[str]:
    depth = len(_scopes(parent))
    paths = (_scopes(record.scope) for record in records)
    return sorted({path[depth] for path in paths if len(path) > depth})


def _aware(moment: datetime) -> datetime:
    """Return a time of CrewAI, which is UTC without saying so."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
