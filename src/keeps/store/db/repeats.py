"""Requests that are sent again: each of their writes runs once, and gives the same answer for 24 hours."""

from __future__ import annotations

import contextvars
import hashlib
import json
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid5

from keeps.store.db.answers import Answer
from keeps.store.db.statements import Statements
from keeps_client.errors import ConflictError, KeepsError, NotFoundError

if TYPE_CHECKING:
    from keeps.base.scope import Scope
    from keeps.store.db.transaction import Row, Tx

ResultT = TypeVar("ResultT")
QUERIES = Statements("keeps.store.db")
GONE = {"gone": True}
"""Replaces an answer whose subject was erased: the repeated request must not run again."""
_NAMESPACE = UUID("3c1b7a0e-8a52-5d0f-9a0e-5a3d6f0c2b91")
_request: contextvars.ContextVar[Request | None] = contextvars.ContextVar("keeps_request", default=None)


@dataclass(slots=True)
class Request:
    """A request that a caller may send again: its Idempotency-Key, and a hash of its content."""

    key: str
    hash: bytes
    answered: bool = False
    """True after its one write that has an answer; a second would get the answer of the first."""
    writes_once: bool = True
    """False for calls of other protocols, which may write several times: see `one_write`."""
    written: Counter[str] = field(default_factory=Counter[str])
    """Count of each write that such a call began."""

    def by(self, acting_user: str | None) -> Request:
        """Return the request as identified among those of several users, or itself for a single user."""
        if acting_user is None:
            return self
        return Request(hashlib.sha256(f"{acting_user}\0{self.key}".encode()).hexdigest(), self.hash)

    def check(self) -> None:
        """Raise AssertionError if the request has had its one write."""
        if self.answered:
            raise AssertionError("a request has one write with an answer; do all it does in that one")


@contextmanager
def repeatable(request: Request | None) -> Generator[None]:
    """Make the first write with an `answer` inside run once for this request, however often it is sent."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


@contextmanager
def one_write(name: str, *given: object) -> Generator[None]:
    """Mark one write of a request that may have several, identified by its name and arguments.

    A request that was interrupted and is sent again therefore completes the rest, though it has less to do.
    """
    whole = _request.get()
    if whole is None or whole.writes_once:
        yield
        return
    what = f"{name} {given!r}"
    count = whole.written[what] = whole.written[what] + 1
    key = hashlib.sha256(f"{whole.key}\0{count}\0{what}".encode("utf-8", "backslashreplace")).hexdigest()
    with repeatable(Request(key, whole.hash)):
        yield


def current_request() -> Request | None:
    request = _request.get()
    return request if request is None or request.writes_once else None


def request_id() -> UUID | None:
    """Return an id that is the same whenever this request is sent again; None without an Idempotency-Key."""
    request = current_request()
    return None if request is None else uuid5(_NAMESPACE, f"{request.key}\x00{request.hash.hex()}")


async def known_answer(tx: Tx, request: Request, answer: Answer[ResultT]) -> ResultT | None:
    """Return the earlier answer of a request, or None if the request is new."""
    stored = await _find(tx, [request])
    return await _give(tx, request, stored[request.key], answer) if request.key in stored else None


async def known_answers(
    tx: Tx, requests: Sequence[Request | None], answer: Answer[ResultT]
) -> dict[int, ResultT | KeepsError]:
    """Return the earlier answers of several requests of one user, or their errors, by position.

    A request that is new, or that has no key, has no entry.
    """
    stored = await _find(tx, [request for request in requests if request is not None])
    outcomes: dict[int, ResultT | KeepsError] = {}
    for position, request in enumerate(requests):
        if request is None or request.key not in stored:
            continue
        try:
            outcomes[position] = await _give(tx, request, stored[request.key], answer)
        except KeepsError as error:
            outcomes[position] = error
    return outcomes


async def save_answers(tx: Tx, done: Sequence[tuple[Request, ResultT]], answer: Answer[ResultT]) -> None:
    """Store the results of requests of one user, and delete the expired answers of that user."""
    if done:
        records = [_record(request, result, answer) for request, result in done]
        await tx.execute(QUERIES["answers_keep"], tx.scope.tenant_id, tx.scope.user_id, json.dumps(records))


async def save_answers_of_users(
    tx: Tx, done: Sequence[tuple[Scope, Request, ResultT]], answer: Answer[ResultT]
) -> bool:
    """Store what requests of several users did; return False if one of them was answered before.

    Afterwards the transaction acts for no user.
    """
    records = [{"user_id": scope.user_id, **_record(request, result, answer)} for scope, request, result in done]
    (row,) = await tx.fetch_for_many(QUERIES["answers_keep_each"], tx.scope.tenant_id, json.dumps(records))
    return row["kept"] == len(records)


async def drop_overdue(tx: Tx) -> None:
    """Delete the expired answers of this user."""
    await tx.execute(QUERIES["answers_drop_overdue"], tx.scope.tenant_id, tx.scope.user_id)


def _record(request: Request, result: ResultT, answer: Answer[ResultT]) -> dict[str, Any]:
    stored = answer.keep(result)
    return {"key": request.key, "hash": request.hash.hex(), "answer": stored.answer, "about": list(stored.about)}


async def _find(tx: Tx, requests: Sequence[Request]) -> dict[str, Row]:
    """Return the stored answers by key."""
    if not requests:
        return {}
    keys = [request.key for request in requests]
    rows = await tx.fetch(QUERIES["answers_find"], tx.scope.tenant_id, tx.scope.user_id, keys)
    return {row["idempotency_key"]: row for row in rows}


async def _give(tx: Tx, request: Request, stored: Row, answer: Answer[ResultT]) -> ResultT:
    if stored["request_hash"] != request.hash:
        raise ConflictError("this Idempotency-Key was used for another request in the last 24 hours; use a new one")
    content = json.loads(stored["answer"])
    if content == GONE:
        raise NotFoundError("this request was already answered; its result has been erased since")
    return await answer.give(tx, content)
