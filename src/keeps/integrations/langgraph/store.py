"""LangGraph's store: JSON values with namespaces and keys, found by filters and by meaning.

    graph = builder.compile(store=KeepsStore(user_label=1))

With `user_label`, the label at that position names the user in Keeps, so that row security separates users, not a
prefix. Without it, all items belong to one user. The tenant comes from the settings or the token.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Literal, Self

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise ImportError("keeps.integrations.langgraph needs LangGraph's store: pip install 'keeps[langgraph]'") from error

from keeps.engine import Keeps
from keeps.integrations.langgraph.values import as_json, storable_filter
from keeps.integrations.owners import NOT_ALLOWED, Owners
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.memory.whole import Memory
from keeps_client.models import Item as Stored
from keeps_client.models import ItemResult
from keeps_client.models.items import MAX_OPERATIONS

AT_ONCE = 200
MOST_TEXTS, MOST_CHARACTERS = 100, 50_000
_Waiting = tuple[Op, "asyncio.Future[Result]"]


class KeepsStore(BaseStore):
    """A LangGraph store in Keeps.

    While memory is unavailable, reads return nothing, which is logged and counted in `failures`, and writes raise.
    Sync methods may be called anywhere except in the event loop of an engine passed as `keeps`.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner of the items.
        user_label: The position of the label in each namespace that names the owner instead.
        index: Its `fields` are embedded by Keeps, the whole value without any; False: no item is found by meaning.
        ttl: As LangGraph defines it, except that expired items are hidden unless `omit_expired` is False.
    """

    supports_ttl = True

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        tenant_id: str | None = None,
        token: str | None = None,
        user_id: str | None = None,
        user_label: int | None = None,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        if user_id is not None and user_label is not None:
            raise ValueError("user_id names one user, user_label the label that names each; give one of them")
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)
        self._user_id, self._user_label = user_id, user_label
        self._paths = [] if index is False else _paths((index or {}).get("fields") or ["$"])
        self.index_config, self.ttl_config = index or None, ttl
        self._waiting: dict[str | None, list[_Waiting]] = {}
        self._draining: set[asyncio.Task[None]] = set()
        self._mortal: set[str | None] = set()
        """Users whose items this store gave a time to live."""
        self._sweeper: threading.Event | None = None

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by operation."""
        return self._owners.failures

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, in one transaction for each user.

        Raises asyncio.InvalidStateError in the event loop of the engine passed as `keeps`, which would wait for itself.
        Use `await abatch` there.
        """
        return self._owners.now(self._batch(self._checked(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, in one transaction for each user."""
        return await self._owners.run(self._batch(self._checked(ops)))

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> _Started:
        """Remove expired items periodically, in addition to the worker. May be awaited."""
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes if sweep_interval_minutes is not None else configured
        if minutes is not None and self._sweeper is None:
            self._sweeper = threading.Event()
            threading.Thread(
                target=self._sweep, args=(self._sweeper, minutes * 60), name="keeps-sweeper", daemon=True
            ).start()
        return _Started()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> _Started:  # noqa: ARG002  as LangGraph calls it
        """Stop the sweeper; the worker goes on. May be awaited."""
        if self._sweeper is not None:
            self._sweeper.set()
            self._sweeper = None
        return _Started()

    def sweep_ttl(self) -> _Swept:
        """Remove expired items, and return their number.

        May be awaited, but not in the event loop of an engine passed as `keeps`: use `asweep_ttl` there.
        """
        return _Swept(self._owners.now(self._swept()))

    async def asweep_ttl(self) -> int:
        """Remove expired items, and return their number."""
        return await self._owners.run(self._swept())

    async def aclose(self) -> None:
        """Close what this object opened."""
        self.stop_ttl_sweeper()
        await self._owners.close()

    def close(self) -> None:
        """Close what this object opened, without await."""
        self.stop_ttl_sweeper()
        self._owners.close_now()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _checked(self, ops: Iterable[Op]) -> list[Op]:
        """Check all operations before any reaches the database. Raises for an invalid one."""
        checked = list(ops)
        for op in checked:
            validate_op_namespace(op)
            if isinstance(op, SearchOp):
                storable_filter(op.filter)
            if not isinstance(op, ListNamespacesOp):
                self._owner_of(op)
        return checked

    def _owner_of(self, op: GetOp | PutOp | SearchOp) -> str | None:
        if self._user_label is None:
            return self._user_id
        place = op.namespace_prefix if isinstance(op, SearchOp) else op.namespace
        if len(place) <= self._user_label:
            raise InvalidNamespaceError(
                f"Label {self._user_label} of a namespace names the user whose items they are; {place} has none."
            )
        return place[self._user_label]

    def _owner_of_listing(self, op: ListNamespacesOp) -> tuple[str | None, bool]:
        """Return the user whose namespaces to list, and True if they are those of all users."""
        if self._user_label is None:
            return self._user_id, False
        for condition in op.match_conditions or ():
            if condition.match_type == "prefix" and len(condition.path) > self._user_label:
                label = condition.path[self._user_label]
                if label != "*":
                    return label, False
        return None, True

    async def _batch(self, ops: list[Op]) -> list[Result]:
        if len(ops) == 1:
            return [await self._joined(ops[0])]
        results: list[Result] = [None] * len(ops)
        by_owner: dict[tuple[str | None, bool], list[int]] = {}
        for number, op in enumerate(ops):
            is_listing = isinstance(op, ListNamespacesOp)
            owner = self._owner_of_listing(op) if is_listing else (self._owner_of(op), False)
            by_owner.setdefault(owner, []).append(number)
        for (owner, of_all), numbers in by_owner.items():
            chosen = [ops[number] for number in numbers]
            done = await self._listed_of_all(chosen) if of_all else await self._of_owner(owner, chosen)
            for number, result in zip(numbers, done, strict=True):
                results[number] = result
        return results

    async def _joined(self, op: Op) -> Result:
        """Run an operation, together with others that wait for an earlier one; they have no order among them."""
        owner, of_all = self._owner_of_listing(op) if isinstance(op, ListNamespacesOp) else (self._owner_of(op), False)
        if of_all:
            return (await self._listed_of_all([op]))[0]
        queue = self._waiting.get(owner)
        if queue is not None:
            future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
            queue.append((op, future))
            return await future
        self._waiting[owner] = []  # operations that arrive meanwhile wait, and run together
        try:
            return (await self._of_owner(owner, [op]))[0]
        finally:
            if self._waiting[owner]:
                task = asyncio.get_running_loop().create_task(self._drain(owner))
                self._draining.add(task)
                task.add_done_callback(self._draining.discard)
            else:
                del self._waiting[owner]

    async def _drain(self, owner: str | None) -> None:
        while waiting := self._waiting[owner]:
            self._waiting[owner] = []
            unique = _unique(waiting)
            for start in range(0, len(unique), AT_ONCE):
                part = unique[start : start + AT_ONCE]
                try:
                    results: Sequence[Result | Exception] = await self._of_owner(owner, [op for op, _ in part])
                except Exception:  # noqa: BLE001  whatever one of them is wrong about, each is told its own
                    results = [await self._alone(owner, op) for op, _ in part]
                for (_, futures), result in zip(part, results, strict=True):
                    for future in futures:
                        if future.done():
                            continue
                        if isinstance(result, Exception):
                            future.set_exception(result)
                        else:
                            future.set_result(result)
        del self._waiting[owner]

    async def _alone(self, owner: str | None, op: Op) -> Result | Exception:
        try:
            return (await self._of_owner(owner, [op]))[0]
        except Exception as error:  # noqa: BLE001  it goes to whoever asked
            return error

    async def _of_owner(self, owner: str | None, ops: Sequence[Op]) -> list[Result]:
        """Run operations on the items of one user, in order. Reads return nothing while memory is unavailable."""
        writes = any(isinstance(op, PutOp) for op in ops)
        requests = [self._asked(owner, op) for op in ops]
        omit = (self.ttl_config or {}).get("omit_expired", True)

        async def work(memory: Memory) -> list[Result]:
            results: list[ItemResult] = []
            for start in range(0, len(requests), MAX_OPERATIONS):
                part = requests[start : start + MAX_OPERATIONS]
                ask = memory.batch_items if writes else memory.read_items
                results += await ask(part, omit_expired=omit)
            return [
                await _result(memory, op, request, result, omit)
                for op, request, result in zip(ops, requests, results, strict=True)
            ]

        try:
            return await self._owners.ask(owner, work)
        except (*NOT_ALLOWED, ValidationFailedError):
            raise
        except KeepsError as error:
            self._owners.failed("batch", error)
            if writes:
                raise
            return [None if isinstance(op, GetOp) else [] for op in ops]

    async def _listed_of_all(self, ops: Sequence[Op]) -> list[Result]:
        """List the namespaces of all users, for administrators."""

        async def work(memory: Memory) -> list[tuple[str, ...]]:
            page = await memory.admin.list_namespaces()
            namespaces = [namespace for user in page for namespace in user.namespaces]
            while page.next_cursor is not None:
                page = await memory.admin.list_namespaces(after=page.next_cursor)
                namespaces += [namespace for user in page for namespace in user.namespaces]
            return namespaces

        try:
            names = await self._owners.ask(None, work)
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("list_namespaces", error)
            names = []
        return [_cut(names, op) for op in ops if isinstance(op, ListNamespacesOp)]

    def _asked(self, owner: str | None, op: Op) -> dict[str, Any]:
        """Return an operation as a request to Keeps."""
        if isinstance(op, GetOp):
            return {"op": "get", "namespace": op.namespace, "key": op.key, "refresh_ttl": op.refresh_ttl}
        if isinstance(op, PutOp):
            place = {"namespace": op.namespace, "key": op.key}
            if op.value is None:
                return {"op": "delete", **place}
            if op.ttl is not None:
                self._mortal.add(owner)
            value = as_json(op.value)
            texts = self._texts(op, value)
            return {
                "op": "put",
                **place,
                "value": value,
                "index": texts != {},
                "texts": texts or None,
                "ttl_minutes": op.ttl,
            }
        if isinstance(op, SearchOp):
            return {
                "op": "search",
                "prefix": tuple(op.namespace_prefix),
                "query": op.query or None,
                "filter": storable_filter(op.filter),
                "limit": min(op.limit, MAX_OPERATIONS),
                "offset": op.offset,
                "refresh_ttl": op.refresh_ttl,
            }
        if isinstance(op, ListNamespacesOp):
            paths = {each.match_type: tuple(each.path) for each in op.match_conditions or ()}
            asked = {"op": "namespaces", "prefix": paths.get("prefix", ()), "suffix": paths.get("suffix", ())}
            if len(paths) < len(op.match_conditions or ()) or op.limit > MAX_OPERATIONS:
                return {**asked, "limit": MAX_OPERATIONS}  # the rest is selected here
            return {**asked, "max_depth": op.max_depth, "limit": op.limit, "offset": op.offset}
        raise TypeError(f"{type(op).__name__} is not an operation of a store")

    def _texts(self, op: PutOp, value: dict[str, Any]) -> dict[str, str] | None:
        """Return the texts to embed by name; None: the whole value; empty: nothing."""
        if op.index is False:
            return {}
        paths = self._paths if op.index is None else _paths(op.index)
        if paths == [("$", "$")]:
            return None
        named_texts: list[tuple[str, str]] = []
        for path, tokens in paths:
            texts = get_text_at_path(value, tokens)
            named_texts += [(f"{path}.{n}" if len(texts) > 1 else path, text) for n, text in enumerate(texts) if text]
        size = -(-len(named_texts) // MOST_TEXTS) or 1  # adjacent texts are joined if there are too many
        groups = [named_texts[start : start + size] for start in range(0, len(named_texts), size)]
        return {group[0][0]: "\n".join(text for _, text in group)[:MOST_CHARACTERS] for group in groups}

    def _sweep(self, stop: threading.Event, seconds: float) -> None:
        while not stop.wait(seconds):
            try:
                self._owners.now(self._swept())
            except KeepsError as error:
                self._owners.failed("sweep", error)

    async def _swept(self) -> int:
        """Remove expired items of the store's user; with `user_label`, of users that were given a time to live here."""
        owners = self._mortal if self._user_label is not None else {self._user_id}
        return sum([await self._owners.ask(owner, _sweep_items) for owner in list(owners)])


class _Started:
    """The result of a finished call; awaiting it is optional."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


class _Swept(int):
    """A number that may be awaited."""

    def __await__(self) -> Generator[Any, None, int]:
        yield from ()
        return int(self)


async def _sweep_items(memory: Memory) -> int:
    """Remove all expired items of one user, in batches."""
    removed = 0
    while swept := (await memory.batch_items([{"op": "sweep"}]))[0].removed:
        removed += swept
    return removed


async def _result(memory: Memory, op: Op, asked: dict[str, Any], result: ItemResult, omit: bool) -> Result:
    if isinstance(op, GetOp):
        return None if result.item is None else _item(result.item)
    if isinstance(op, SearchOp):
        items = list(result.items)
        while len(items) < op.limit and (result.more or len(result.items) == asked["limit"]):
            more = {**asked, "offset": op.offset + len(items), "limit": min(op.limit - len(items), MAX_OPERATIONS)}
            (result,) = await memory.read_items([more], omit_expired=omit)
            if not result.items:
                break
            items += result.items
        return [_search_item(item) for item in items]
    if isinstance(op, ListNamespacesOp):
        if "max_depth" in asked:
            return list(result.namespaces)
        names = list(result.namespaces)
        while len(result.namespaces) == MAX_OPERATIONS:
            (result,) = await memory.read_items([{**asked, "offset": len(names)}], omit_expired=omit)
            names += result.namespaces
        return _cut(names, op)
    return None


def _unique(waiting: Sequence[_Waiting]) -> list[tuple[Op, list[asyncio.Future[Result]]]]:
    """Return unordered operations without duplicates: reads first, and the last of several writes to a key."""
    reads: dict[str, tuple[Op, list[asyncio.Future[Result]]]] = {}
    writes: dict[tuple[tuple[str, ...], str], tuple[Op, list[asyncio.Future[Result]]]] = {}
    for op, future in waiting:
        if isinstance(op, PutOp):
            place = (op.namespace, op.key)
            futures = writes.pop(place)[1] if place in writes else []
            writes[place] = (op, [*futures, future])
        else:
            reads.setdefault(repr(op), (op, []))[1].append(future)
    return [*reads.values(), *writes.values()]


def _cut(names: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that a listing selects."""

    def fits(name: tuple[str, ...], kind: str, path: Sequence[str]) -> bool:
        part = name[: len(path)] if kind == "prefix" else name[len(name) - len(path) :]
        return len(path) <= len(name) and all(
            pattern in ("*", label) for label, pattern in zip(part, path, strict=True)
        )

    conditions = op.match_conditions or ()
    selected = {
        namespace[: op.max_depth]
        for namespace in names
        if all(fits(namespace, condition.match_type, condition.path) for condition in conditions)
    }
    return sorted(selected)[op.offset : op.offset + op.limit]


def _paths(fields: str | Sequence[str]) -> list[tuple[str, Any]]:
    given = [fields] if isinstance(fields, str) else list(fields)
    return [(path, "$" if path == "$" else tokenize_path(path)) for path in given]


def _item(item: Stored) -> Item:
    return Item(
        value=item.value,
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _search_item(item: Stored) -> SearchItem:
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=item.score,
    )
