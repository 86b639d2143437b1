"""Items: operations in order, in one transaction. Their vectors are computed before it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from pgvector import HalfVector

from keeps.base.clock import Clock
from keeps.base.cooperative import cooperative_map
from keeps.base.fairness import acting_for
from keeps.base.scope import Scope
from keeps.models.embedder import Embedder, Embedding
from keeps.state.items import store
from keeps.state.items.filters import compile_filter
from keeps.state.items.store import EMBEDDED_CHARACTERS, WHOLE, ItemRow
from keeps.store.db.answers import Answer, StoredAnswer
from keeps.store.db.session import Database, Row, Tx
from keeps.store.db.size_limits import MOST_WHOLE, cost_of
from keeps.store.tenants.service import Introducer
from keeps_client.errors import PayloadTooLargeError, UnavailableError, ValidationFailedError
from keeps_client.models import (
    DeleteItem,
    GetItem,
    Item,
    ItemBatch,
    ItemReads,
    ItemResult,
    ItemResults,
    ListKeys,
    ListNamespaces,
    Page,
    PutItem,
    SearchItems,
    SweepItems,
    UserNamespaces,
)

Operation = GetItem | PutItem | DeleteItem | SearchItems | ListNamespaces | ListKeys | SweepItems


AT_ONCE = 200
"""Maximum number of items read by one statement."""
MOST_LISTINGS = 10
MOST_SECONDS = 10.0
"""Time limit for all reading operations of a batch."""
ROW_BYTES = 500
"""Size of an item in an answer besides its namespace, key and value."""


class _Budget:
    """Limits the size and the time of the reading operations of a batch."""

    def __init__(self) -> None:
        self._spent = 0
        self._ends = time.monotonic() + MOST_SECONDS

    def read(self, rows: Sequence[Row]) -> list[ItemRow]:
        """Read rows and count their size. Raises PayloadTooLargeError above the limit."""
        self._count(sum(cost_of(row["value"], row["namespace"], row["key"]) + ROW_BYTES for row in rows))
        return [ItemRow.read(row) for row in rows]

    def names(self, namespaces: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Count the size of namespaces. Raises PayloadTooLargeError above the limit."""
        self._count(sum(ROW_BYTES + sum(map(len, labels)) for labels in namespaces))
        return namespaces

    def check_time(self) -> None:
        """Raise PayloadTooLargeError if the operations have taken too long."""
        if time.monotonic() > self._ends:
            raise PayloadTooLargeError(
                f"this batch reads for more than {MOST_SECONDS:.0f} s; send its operations in several batches"
            )

    def _count(self, cost: int) -> None:
        self._spent += cost
        if self._spent > MOST_WHOLE:
            raise PayloadTooLargeError("the response to this batch is too large; split the batch")


_Change = PutItem | DeleteItem


def _kind_of(operation: Operation) -> object:
    return _Change if isinstance(operation, _Change) else type(operation)


@dataclass(frozen=True, slots=True)
class _Changes:
    """Puts and deletions next to each other, as one change: nobody sees the steps between.

    `deleted`: keys whose present item goes, before any is put.
    `put`: the last put of each key that is not deleted after it, with its number among the batch's puts.
    """

    deleted: list[tuple[str, str]]
    put: list[tuple[int, PutItem]]
    puts_read: int

    @classmethod
    def of(cls, operations: Sequence[Operation], before: int) -> _Changes:
        """`before`: number of the batch's puts before these."""
        number = before
        deleted: dict[tuple[str, str], None] = {}
        put: dict[tuple[str, str], tuple[int, PutItem]] = {}
        for operation in operations:
            assert isinstance(operation, _Change)
            address = store.stored(operation.namespace), operation.key
            put.pop(address, None)
            if isinstance(operation, PutItem):
                put[address] = number, operation
                number += 1
            else:
                deleted[address] = None
        return cls(list(deleted), list(put.values()), number - before)


class ItemService:
    """A store of JSON values for each user."""

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        embedder: Embedder | None,
        clock: Clock,
        notice: Callable[[Scope], None],
    ) -> None:
        """`notice`: called with the scope of items that wait for vectors."""
        self._database = database
        self._introducer = introducer
        self._embedder = embedder
        self._clock = clock
        self._notice = notice

    async def read(self, scope: Scope, batch: ItemReads) -> ItemResults:
        """Get, search and list. Afterwards times to live are renewed if requested."""
        _check_listings(batch.operations)
        return ItemResults.model_construct(results=await self._read(scope, batch.operations, batch.omit_expired))

    async def batch(self, scope: Scope, batch: ItemBatch) -> ItemResults:
        """Run operations in order, all of them or none.

        While the model is away, items are stored without vectors, and found by meaning once they have them.
        """
        ops = batch.operations
        _check_listings(ops)
        if not any(isinstance(op, PutItem | DeleteItem | SweepItems) for op in ops):
            return ItemResults.model_construct(results=await self._read(scope, ops, batch.omit_expired))
        questions = await self._questions(scope, ops)
        puts = [op for op in ops if isinstance(op, PutItem)]
        embedded, waiting = await self._embedded(scope, puts)
        values = await cooperative_map(store.encoded_value, puts)

        again = partial(self._read_again, ops, questions, omit_expired=batch.omit_expired)
        answer: Answer[ItemResults] = Answer(lambda _: StoredAnswer(True), again)
        write = self._introducer.writing(scope, answer)
        async for attempt in write:
            async with attempt as tx:
                touched: list[UUID] = []
                budget = _Budget()
                before = 0
                results: list[ItemResult] = []
                for kind, group in itertools.groupby(ops, _kind_of):
                    same = list(group)
                    if kind is _Change:
                        changes = _Changes.of(same, before)
                        before += changes.puts_read
                        await store.delete(tx, changes.deleted, self._clock())
                        await self._put(tx, changes.put, values, embedded, waiting)
                        results += [ItemResult() for _ in same]
                    elif kind is SweepItems:
                        results += [ItemResult(removed=await store.sweep(tx, self._clock())) for _ in same]
                    else:
                        results += await self._run(tx, same, questions, batch.omit_expired, touched, budget)
                if touched:
                    await store.refresh(tx, touched, self._clock())
                write.result = ItemResults.model_construct(results=results)
        if waiting:
            self._notice(scope)
        return write.result

    async def _put(
        self,
        tx: Tx,
        puts: Sequence[tuple[int, PutItem]],
        values: Sequence[str],
        embedded: Mapping[int, dict[str, Embedding]],
        waiting: Set[int],
    ) -> None:
        """Store items of different keys, each with its number among the batch's puts."""
        if not puts:
            return
        vectors = {row: embedded.get(number, {}) for row, (number, _) in enumerate(puts)}
        later = [row for row, (number, _) in enumerate(puts) if number in waiting]
        model = self._embedder.model if self._embedder else None
        new = [(put, values[number]) for number, put in puts]
        await store.put(tx, new, vectors, later, model, self._clock())

    async def _read_again(
        self, ops: Sequence[Operation], questions: dict[str, HalfVector], tx: Tx, _: object, *, omit_expired: bool
    ) -> ItemResults:
        """Answer a repeated batch: writes are not repeated, and reads run again."""
        results: list[ItemResult] = []
        budget = _Budget()
        for operation in ops:
            if isinstance(operation, GetItem | SearchItems | ListNamespaces | ListKeys):
                results += await self._run(tx, [operation], questions, omit_expired, [], budget)
            else:
                results.append(ItemResult())
        return ItemResults.model_construct(results=results)

    async def all_namespaces(self, scope: Scope, limit: int, after: str) -> Page[UserNamespaces]:
        """Return users of the tenant with their namespaces, about `limit` namespaces at a time."""
        users: list[UserNamespaces] = []
        count = 0
        async with self._database.scoped(scope) as tx:
            owners = await store.owners(tx, after, limit)
            for user_id in owners:
                await tx.become(Scope(scope.tenant_id, user_id))
                names = await store.namespaces(tx, None)
                users.append(UserNamespaces(user_id=user_id, namespaces=names))
                count += len(names)
                if count >= limit:
                    break
        more = len(users) < len(owners) or len(owners) == limit
        return Page(items=users, next_cursor=users[-1].user_id if more and users else None)

    async def sweep_user(self, scope: Scope, now: datetime) -> int:
        """Delete the user's items that have expired at `now`. Return their number."""
        removed = 0
        while True:
            done = 0
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    done = await store.sweep(tx, now)
            if not done:
                return removed
            removed += done

    async def _read(self, scope: Scope, ops: Sequence[Operation], omit_expired: bool) -> list[ItemResult]:
        questions = await self._questions(scope, ops)
        touched: list[UUID] = []
        async with self._database.scoped(scope) as tx:
            results = await self._run(tx, ops, questions, omit_expired, touched, _Budget())
        if touched:
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    await store.refresh(tx, touched, self._clock())
        return results

    async def _run(
        self,
        tx: Tx,
        ops: Sequence[Operation],
        questions: dict[str, HalfVector],
        omit_expired: bool,
        touched: list[UUID],
        budget: _Budget,
    ) -> list[ItemResult]:
        """Run reading operations. `touched`: receives the rows whose time to live is to be renewed."""
        now = self._clock()
        living_at = now if omit_expired else None
        stored_rows: dict[tuple[str, str], Row] = {}
        gets = list({(store.stored(op.namespace), op.key) for op in ops if isinstance(op, GetItem)})
        for start in range(0, len(gets), AT_ONCE):
            hits = await store.get(tx, gets[start : start + AT_ONCE], living_at)
            stored_rows |= {(row["namespace"], row["key"]): row for row in hits}
        names: list[tuple[str, ...]] | None = None
        results: list[ItemResult] = []
        for op in ops:
            budget.check_time()
            rows: list[ItemRow] = []
            match op:
                case GetItem():
                    row = stored_rows.get((store.stored(op.namespace), op.key))
                    rows = budget.read([] if row is None else [row])
                    results.append(_result(item=rows[0].item() if rows else None))
                case SearchItems():
                    hit_rows, more = await self._search(tx, op, questions, living_at)
                    rows = budget.read(hit_rows)
                    items = [row.item() for row in rows]
                    results.append(_result(items=items, more=more or len(hit_rows) == AT_ONCE < op.limit))
                case ListKeys():
                    hits = await store.keys(tx, op.prefix, op.after, living_at, op.limit)
                    results.append(_result(items=[row.item() for row in budget.read(hits)]))
                case ListNamespaces():
                    names = await store.namespaces(tx, living_at) if names is None else names
                    results.append(_result(namespaces=budget.names(await asyncio.to_thread(matching, names, op))))
                case _:
                    raise AssertionError("an operation that reads is one of four")
            if isinstance(op, GetItem | SearchItems) and op.refresh_ttl:
                touched += [row.row_id for row in rows if row.ttl_minutes is not None]
        return results

    async def _search(
        self, tx: Tx, search: SearchItems, questions: dict[str, HalfVector], living_at: datetime | None
    ) -> tuple[Sequence[Row], bool]:
        question, limit = questions.get(search.query or ""), min(search.limit, AT_ONCE)
        if question is None or self._embedder is None:
            condition = compile_filter(search.filter, 8)
            return await store.newest(tx, search.prefix, condition, living_at, limit, search.offset)
        condition = compile_filter(search.filter, 10)
        model = self._embedder.model
        return await store.nearest(tx, search.prefix, question, model, condition, living_at, limit, search.offset)

    async def _questions(self, scope: Scope, ops: Sequence[Operation]) -> dict[str, HalfVector]:
        """Return the vector of each question; none without a model."""
        texts = list(dict.fromkeys(each.query for each in ops if isinstance(each, SearchItems) and each.query))
        vectors = await self._vectors(scope, texts) if texts and self._embedder else []
        return {text: HalfVector(each.sentence) for text, each in zip(texts, vectors, strict=bool(vectors))}

    async def _embedded(
        self, scope: Scope, puts: Sequence[PutItem]
    ) -> tuple[dict[int, dict[str, Embedding]], Set[int]]:
        """Return the vectors of each put's texts, by position and field, and the positions without vectors.

        Those wait for their vectors, because the model is away.
        """
        if self._embedder is None:
            return {}, frozenset()
        texts = [
            (position, field, text)
            for position, put in enumerate(puts)
            if put.index
            for field, text in (put.texts if put.texts is not None else {WHOLE: store.whole_text(put.value)}).items()
            if text
        ]
        embeddings: dict[int, dict[str, Embedding]] = {}
        try:
            vectors = await self._vectors(scope, [text for _, _, text in texts]) if texts else []
        except UnavailableError:
            return {}, {position for position, _, _ in texts}
        for (position, field, _), vector in zip(texts, vectors, strict=True):
            embeddings.setdefault(position, {})[field] = vector
        return embeddings, frozenset()

    async def _vectors(self, scope: Scope, texts: Sequence[str]) -> list[Embedding]:
        assert self._embedder is not None
        with acting_for(scope.tenant_id):
            return await self._embedder.embed([text[:EMBEDDED_CHARACTERS] for text in texts])


def _check_listings(ops: Sequence[Operation]) -> None:
    """Raise ValidationFailedError for too many namespace listings, since each reads all namespaces of the user."""
    if sum(isinstance(each, ListNamespaces) for each in ops) > MOST_LISTINGS:
        raise ValidationFailedError(f"a batch lists namespaces at most {MOST_LISTINGS} times; split it")


def matching(names: Sequence[tuple[str, ...]], wanted: ListNamespaces) -> list[tuple[str, ...]]:
    """Return the namespaces that a listing asks for, cut to its depth, sorted. Pure."""

    def fits(part: Sequence[str], pattern: Sequence[str]) -> bool:
        return len(part) == len(pattern) and all(
            wildcard in ("*", label) for label, wildcard in zip(part, pattern, strict=True)
        )

    matches = [
        labels
        for labels in names
        if fits(labels[: len(wanted.prefix)], wanted.prefix)
        and fits(labels[len(labels) - len(wanted.suffix) :] if len(wanted.suffix) <= len(labels) else (), wanted.suffix)
    ]
    cut = sorted({labels[: wanted.max_depth] for labels in matches})
    return cut[wanted.offset : wanted.offset + wanted.limit]


def _result(
    item: Item | None = None,
    items: Sequence[Item] = (),
    namespaces: Sequence[tuple[str, ...]] = (),
    *,
    more: bool = False,
) -> ItemResult:
    """Return a result. All fields are set explicitly, because pydantic looks up missing ones on each access."""
    return ItemResult.model_construct(item=item, items=list(items), namespaces=list(namespaces), removed=0, more=more)
