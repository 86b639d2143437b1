"""How the answer of a write is kept for a request that is sent again: by what it names, never by what it says.

Kept is the outcome and the ids; the rest is read anew when it is asked for. So a kept answer is small whatever was
written, and what is erased is in no answer. `about` names what an answer tells of, so that erasing can void it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import JsonValue, TypeAdapter

if TYPE_CHECKING:
    from keeps.db.transaction import Tx

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Kept:
    """What is stored of an answer: JSON without contents, and the names of what it is about."""

    answer: JsonValue
    about: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answer(Generic[ResultT]):
    """`keep`: what to store of a result. `give`: the result again; it may raise NotFoundError for what is gone."""

    keep: Callable[[ResultT], Kept]
    give: Callable[[Tx, Any], Awaitable[ResultT]]


def plain(kind: type[ResultT]) -> Answer[ResultT]:
    """Of results that name nothing: numbers, true."""
    adapter = TypeAdapter(kind)

    async def give(_tx: Tx, kept: JsonValue) -> ResultT:
        return adapter.validate_python(kept)

    return Answer(lambda result: Kept(adapter.dump_python(result, mode="json")), give)


def about_plan_state(plan_id: str, key: str) -> list[str]:
    """What the answer of a write to working memory is about: the key, and the plan whose keys may all go."""
    return [f"state:{plan_id}", f"state:{plan_id}\x1f{key}"]
