"""Storage format for the answer of a write whose request may be sent again.

An answer is stored as its outcome and the ids it names; the contents are read again when the answer is repeated.
A stored answer is therefore small, and holds nothing that was erased. `about` names what an answer refers to, so that
erasing it can void the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import JsonValue, TypeAdapter

if TYPE_CHECKING:
    from keeps.store.db.transaction import Tx

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The stored form of an answer: JSON without contents, and the names of what it is about."""

    answer: JsonValue
    about: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answer(Generic[ResultT]):
    """A pair of functions that store and restore an answer.

    `keep` returns what to store of a result. `give` returns the result again; it may raise NotFoundError when the data
    is gone.
    """

    keep: Callable[[ResultT], StoredAnswer]
    give: Callable[[Tx, Any], Awaitable[ResultT]]


def plain(kind: type[ResultT]) -> Answer[ResultT]:
    """Return an Answer for results that name nothing, such as numbers or true."""
    adapter = TypeAdapter(kind)

    async def give(_tx: Tx, kept: JsonValue) -> ResultT:
        return adapter.validate_python(kept)

    return Answer(lambda result: StoredAnswer(adapter.dump_python(result, mode="json")), give)


def about_plan_state(plan_id: str, key: str) -> list[str]:
    """Return what the answer of a write to working memory is about.

    These are the key, and the plan, since all keys of a plan may be removed together.
    """
    return [f"state:{plan_id}", f"state:{plan_id}\x1f{key}"]
