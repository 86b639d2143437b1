"""Requests: the log of recalls and contexts, and one of them beside what would be answered now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.engine import LocalMemory
from keeps_client.errors import ForbiddenError, KeepsError, NotFoundError
from keeps_client.models import LoggedHit, Memory, RequestDetail
from keeps_client.models.context import BUILD_CONTEXT
from keeps_client.models.recall import RECALL

PAGE, SHOWN = 50, 30
KINDS = ("recall", "context")
State = Literal["", "changed since", "forgotten since", "superseded since", "erased since", "not readable"]


@dataclass(frozen=True, slots=True)
class Line:
    """One memory of an answer.

    Attributes:
        text: What the memory said at the time of the answer; None if that cannot be read any more.
        state: What happened to the memory since.
        mark: How its place differs from the other answer, such as `new` or `was 3`.
    """

    memory_id: UUID
    text: str | None
    state: State = ""
    mark: str = ""
    section: str | None = None
    reason: str | None = None
    relevance: float | None = None


async def requests(call: Call) -> Response:
    kind = call.asked("kind") if call.asked("kind") in KINDS else None
    user = call.asked("user") or None
    page = await call.memory.list_requests(
        user_id=user,
        all_users=user is None and call.may("admin"),
        kind=kind,  # pyright: ignore[reportArgumentType]
        found_nothing=bool(call.asked("nothing")),
        limit=PAGE,
        cursor=call.asked("cursor") or None,
    )
    return call.page(
        "requests.html",
        items=page.items,
        more=call.more(page.next_cursor),
        kinds=KINDS,
        days=call.keeps.core.settings.logged_days,
        filtered=bool(kind or user or call.asked("nothing")),
    )


async def request(call: Call) -> Response:
    """Show what was answered then, beside what would be answered now."""
    user = call.asked("user") or call.scope.user_id
    logged = await call.memory.get_request(call.given("request_id"), user_id=user)
    try:
        memory = call.memory if user == call.scope.user_id else call.memory.for_user(user)
    except ForbiddenError:
        memory = None
    then, now, left_out, problem = [], [], [], ""
    if memory is not None:
        then = [await _line_then(memory, logged, hit) for hit in logged.answer[:SHOWN]]
        left_out = [await _line_then(memory, logged, hit) for hit in logged.omitted[:SHOWN]]
        try:
            now = await _lines_now(memory, logged)
        except KeepsError as error:
            problem = error.detail
    then, now = _compared(then, now, logged)
    return call.page(
        "request.html",
        request=logged,
        user=user,
        then=then,
        now=now,
        left_out=left_out,
        may_read=memory is not None,
        problem=problem,
        more=max(0, len(logged.answer) - SHOWN),
        same=[line.memory_id for line in then] == [line.memory_id for line in now],
    )


async def _line_then(memory: LocalMemory, logged: RequestDetail, hit: LoggedHit) -> Line:
    text, state = await _then(memory, logged, hit.memory_id)
    return Line(hit.memory_id, text, state, "", hit.section, hit.reason, hit.relevance)


async def _then(memory: LocalMemory, logged: RequestDetail, memory_id: UUID) -> tuple[str | None, State]:
    """Return the text of a memory at the time of a request, and what happened to the memory since."""
    try:
        current = await memory.get(memory_id)
    except NotFoundError:
        return None, "erased since"
    state = _state(current, logged)
    if current.updated_at <= logged.asked_at:
        return current.content, state
    try:
        text = (await memory.get(memory_id, as_of=logged.asked_at)).content
    except KeepsError:
        return None, state or "not readable"
    if state == "" and text != current.content:
        state = "changed since"
    return text, state


def _state(memory: Memory, logged: RequestDetail) -> State:
    if memory.deleted_at is not None and memory.deleted_at > logged.asked_at:
        return "forgotten since"
    if memory.superseded_by is not None and memory.updated_at > logged.asked_at:
        return "superseded since"
    return ""


async def _lines_now(memory: LocalMemory, logged: RequestDetail) -> list[Line]:
    """Ask the same question again, with the same arguments."""
    arguments = {**logged.arguments, "query": logged.query}
    if logged.kind == "recall":
        result = await memory._do(RECALL, **arguments)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return [Line(hit.memory_id, hit.memory.content, relevance=hit.relevance) for hit in result.hits[:SHOWN]]
    context = await memory._do(BUILD_CONTEXT, **arguments)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    lines = [
        Line(item.memory_id, item.text, section=section.name)
        for section in context.sections
        for item in section.items
        if item.memory_id is not None
    ]
    return lines[:SHOWN]


def _compared(then: Sequence[Line], now: Sequence[Line], logged: RequestDetail) -> tuple[list[Line], list[Line]]:
    """Mark what only one of two answers has, and in a recall what has another rank."""
    before = {line.memory_id: place for place, line in enumerate(then, 1)}
    after = {line.memory_id for line in now}
    marked_then = [_marked(line, "" if line.memory_id in after else "no longer") for line in then]
    marked_now: list[Line] = []
    for place, line in enumerate(now, 1):
        was = before.get(line.memory_id)
        moved = was is not None and was != place and logged.kind == "recall"
        marked_now.append(_marked(line, "new" if was is None else f"was {was}" if moved else ""))
    return marked_then, marked_now


def _marked(line: Line, mark: str) -> Line:
    return Line(line.memory_id, line.text, line.state, mark, line.section, line.reason, line.relevance)


PAGES = {"GET /ui/requests": requests, "GET /ui/requests/{request_id:uuid}": request}
