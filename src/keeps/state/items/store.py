"""Run the statements on items. Every function takes the transaction first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pgvector import HalfVector
from pydantic import JsonValue

from keeps.base.clock import new_id
from keeps.models.embedder import Embedding
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import fetch_page, fetch_whole
from keeps.store.db.statements import Condition, Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import Item, PutItem

QUERIES = Statements("keeps.state.items")
VALUE = ("value",)
WHOLE = "$"
"""Name of the field whose text is the whole value."""
_END = "\U0010ffff"
PASS_LEAST, PASS_FACTOR, FEW = 250, 25, 1_500
"""Candidates that pass from signs to full vectors: a minimum, and a factor of the limit; up to FEW items all pass."""
SWEPT_AT_ONCE = 500
EMBEDDED_CHARACTERS = 2_000
"""Number of characters of a text that the model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """A row of keeps.items, without its owner."""

    namespace: str
    key: str
    row_id: UUID
    value: dict[str, JsonValue]
    texts: object
    ttl_minutes: float | None
    version: int
    created_at: datetime
    updated_at: datetime
    score: float | None = None

    @classmethod
    def read(cls, row: Row) -> ItemRow:
        values = dict(row)
        values["value"] = json.loads(values["value"])
        return cls(**values)

    def item(self) -> Item:
        return Item.model_construct(
            namespace=labels_of(self.namespace),
            key=self.key,
            value=self.value,
            version=self.version,
            created_at=self.created_at,
            updated_at=self.updated_at,
            score=self.score,
        )


@dataclass(frozen=True, slots=True)
class Unindexed:
    """An item without vectors of a model, and the texts to embed."""

    row_id: UUID
    namespace: str
    version: int
    texts: dict[str, str]


def stored(labels: Sequence[str]) -> str:
    """Return a namespace as stored: a prefix of exactly the namespaces below it."""
    return "".join(f"{label}." for label in labels)


def labels_of(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.removesuffix(".").split("."))


def between(labels: Sequence[str]) -> tuple[str, str]:
    """Return the range of a namespace and all namespaces below it."""
    start = stored(labels)
    return start, f"{start[:-1]}/" if start else _END  # The character after a period.


async def get(tx: Tx, wanted: Sequence[tuple[str, str]], living_at: datetime | None) -> list[Row]:
    """Return the items that exist."""
    sides = [each[0] for each in wanted], [each[1] for each in wanted]
    rows = await fetch_whole(tx, QUERIES["items_get"], *_who(tx), *sides, living_at, columns=VALUE)
    return list(rows)


async def newest(
    tx: Tx, labels: Sequence[str], condition: Condition, living_at: datetime | None, limit: int, offset: int
) -> tuple[Sequence[Row], bool]:
    """Return the newest items of a namespace and below, and whether there are more that exceed one read."""
    asked = (*_who(tx), *between(labels), living_at, limit, offset, *condition.values)
    return await fetch_page(tx, QUERIES["items_newest"].where(condition), *asked, limit=limit, columns=VALUE)


async def nearest(
    tx: Tx,
    labels: Sequence[str],
    question: HalfVector,
    model: str,
    condition: Condition,
    living_at: datetime | None,
    limit: int,
    offset: int,
) -> tuple[Sequence[Row], bool]:
    """Return the items nearest to a question, best first, and whether there are more.

    With a condition, the distance of all matching items is computed.
    """
    values = (*_who(tx), *between(labels), living_at, limit, offset, model, question)
    if condition.sql == "true":
        passing = max(PASS_LEAST, PASS_FACTOR * (limit + offset))
        return await fetch_page(tx, QUERIES["items_nearest"], *values, passing, FEW, limit=limit, columns=VALUE)
    filtered = QUERIES["items_nearest_filtered"].where(condition)
    return await fetch_page(tx, filtered, *values, *condition.values, limit=limit, columns=VALUE)


async def keys(
    tx: Tx, labels: Sequence[str], after: tuple[Sequence[str], str] | None, living_at: datetime | None, limit: int
) -> list[Row]:
    """Return one page of keys, without values. `after`: the namespace and key of the previous page's last item."""
    place = ("", "") if after is None else (stored(after[0]), after[1])
    return await tx.fetch(QUERIES["items_keys"], *_who(tx), *between(labels), living_at, *place, limit)


async def namespaces(tx: Tx, living_at: datetime | None) -> list[tuple[str, ...]]:
    rows = await tx.fetch(QUERIES["items_namespaces"], *_who(tx), living_at)
    return [labels_of(row["namespace"]) for row in rows]


async def put(
    tx: Tx,
    new: Sequence[tuple[PutItem, str]],
    embedded: Mapping[int, Mapping[str, Embedding]],
    waiting: Iterable[int],
    model: str | None,
    now: datetime,
) -> None:
    """Store items of different keys, each with its `encoded_value`, with their vectors (by position) and events.

    `waiting`: positions of the items that get their vectors later.
    """
    done = await _put(tx, [_image(tx, item, value, 1, now, now) for item, value in new])
    changed = [row["row_id"] for row in done if row["version"] > 1]
    if changed:
        await tx.execute(QUERIES["items_unlink"], tx.scope.tenant_id, changed)
    rows = {(row["namespace"], row["key"]): row["row_id"] for row in done}
    addresses = [(stored(item.namespace), item.key) for item, _ in new]
    vectors = [
        (addresses[position][0], rows[addresses[position]], field, vector)
        for position, fields in embedded.items()
        for field, vector in fields.items()
    ]
    if vectors and model is not None:
        await _insert_vectors(tx, model, vectors)
    later = [rows[addresses[position]] for position in waiting]
    if later:
        await tx.execute(QUERIES["item_pending_add"], *_who(tx), later)


def encoded_value(new: PutItem) -> str:
    """Return the value of an item as JSON; it is encoded before the transaction, since it may be long."""
    return json.dumps(new.value, ensure_ascii=False)


def _image(tx: Tx, new: PutItem, value: str, version: int, created_at: datetime, updated_at: datetime) -> str:
    """Return a row with its event's id as JSON."""
    others = {
        "tenant_id": tx.scope.tenant_id,
        "user_id": tx.scope.user_id,
        "namespace": stored(new.namespace),
        "key": new.key,
        "row_id": str(new_id()),
        "event_id": str(new_id()),
        "texts": _texts(new),
        "ttl_minutes": new.ttl_minutes,
        "version": version,
        "created_at": created_at.isoformat(),
        "updated_at": updated_at.isoformat(),
    }
    return f'{json.dumps(others, ensure_ascii=False)[:-1]}, "value": {value}}}'


async def _put(tx: Tx, images: Sequence[str]) -> list[Row]:
    """Store rows with their events. Existing rows keep their row_id."""
    return await tx.fetch(QUERIES["items_put"], f"[{','.join(images)}]", tx.scope.agent_id)


async def add(tx: Tx, new: PutItem, version: int, created_at: datetime, updated_at: datetime) -> bool:
    """Store an imported item with its event, to be indexed later. Return False if it already exists."""
    if await get(tx, [(stored(new.namespace), new.key)], None):
        return False
    rows = await _put(tx, [_image(tx, new, encoded_value(new), version, created_at, updated_at)])
    if _texts(new) is not None:
        await tx.execute(QUERIES["item_pending_add"], *_who(tx), [row["row_id"] for row in rows])
    return True


async def _insert_vectors(tx: Tx, model: str, vectors: Sequence[tuple[str, UUID, str, Embedding]]) -> None:
    await tx.execute(
        QUERIES["item_vectors_insert"],
        *_who(tx),
        model,
        [each[0] for each in vectors],
        [each[1] for each in vectors],
        [each[2] for each in vectors],
        [HalfVector(each[3].sentence) for each in vectors],
    )


async def delete(tx: Tx, wanted: Sequence[tuple[str, str]], now: datetime) -> int:
    """Delete items and redact their events. Return the number deleted."""
    if not wanted:
        return 0
    sides = [each[0] for each in wanted], [each[1] for each in wanted]
    return await _gone(tx, await tx.fetch(QUERIES["items_delete"], *_who(tx), *sides), now)


async def sweep(tx: Tx, now: datetime) -> int:
    """Delete some of the expired items and redact their events. Return the number deleted."""
    return await _gone(tx, await tx.fetch(QUERIES["items_over"], *_who(tx), now, SWEPT_AT_ONCE), now)


async def _gone(tx: Tx, rows: Sequence[Row], now: datetime) -> int:
    ids = [row["row_id"] for row in rows]
    if ids:
        await tx.execute(QUERIES["items_redact"], ids)
        agent = tx.scope.agent_id
        gone = [NewEvent(new_id(), "item.deleted", str(each), now, "private", agent, {}) for each in ids]
        await events.append(tx, gone)
    return len(ids)


async def refresh(tx: Tx, row_ids: Sequence[UUID], now: datetime) -> None:
    await tx.execute(QUERIES["items_refresh"], *_who(tx), list(row_ids), now)


async def queue(tx: Tx, model: str) -> None:
    """Queue what has no vectors of this model."""
    await tx.execute(QUERIES["items_queue"], *_who(tx), model)


async def to_index(tx: Tx, limit: int) -> list[Unindexed]:
    rows = await tx.fetch(QUERIES["items_to_index"], *_who(tx), limit)
    return [
        Unindexed(
            row["row_id"],
            row["namespace"],
            row["version"],
            {
                field: text[:EMBEDDED_CHARACTERS]
                for field, text in _said(json.loads(row["texts"]), json.loads(row["value"])).items()
            },
        )
        for row in rows
    ]


async def insert_vectors(
    tx: Tx, model: str, items: Sequence[Unindexed], embedded: Sequence[Mapping[str, Embedding]]
) -> int:
    """Store vectors of the items that have not changed since they were read. Return the number stored."""
    versions = await tx.fetch(QUERIES["item_versions"], *_who(tx), [item.row_id for item in items])
    still = {(row["row_id"], row["version"]) for row in versions}
    current = [
        (item, fields) for item, fields in zip(items, embedded, strict=True) if (item.row_id, item.version) in still
    ]
    vectors = [
        (item.namespace, item.row_id, field, vector) for item, fields in current for field, vector in fields.items()
    ]
    await _insert_vectors(tx, model, vectors)
    await tx.execute(QUERIES["item_pending_done"], tx.scope.tenant_id, [item.row_id for item, _ in current])
    return len(current)


async def delete_other_models(tx: Tx, model: str) -> None:
    """Delete the vectors of all models except this one."""
    await tx.execute(QUERIES["item_vectors_of_other_models_delete"], *_who(tx), model)


async def owners(tx: Tx, after: str, limit: int) -> list[str]:
    """Return users of the tenant who have items, after `after`."""
    return [row["user_id"] for row in await tx.fetch(QUERIES["item_owners"], after, limit)]


def _texts(new: PutItem) -> dict[str, str] | None:
    """Return the texts to store: None for an item without vectors, {} for the whole value."""
    return None if not new.index or new.texts == {} else new.texts or {}


def _said(texts: dict[str, str], value: dict[str, JsonValue]) -> dict[str, str]:
    return texts or {WHOLE: whole_text(value)}


def whole_text(value: Mapping[str, JsonValue]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _who(tx: Tx) -> tuple[str, str]:
    return tx.scope.tenant_id, tx.scope.user_id
