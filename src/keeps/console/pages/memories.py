"""Memories: the list of all, by filters; a new one; many forgotten at once; import and export."""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response, StreamingResponse

from keeps.console.mount import Call, read_number
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError

PAGE = 50
ORDERS = {"created": "newest first", "importance": "most important first", "recency": "last changed first"}
MOST_AT_ONCE = 500
_LINE = re.compile(r"^line (\d{1,9})")


async def memories(call: Call) -> Response:
    order = call.asked("order") if call.asked("order") in ORDERS else "created"
    page = await call.memory.list(
        filters=_filters(call),
        order=order,  # pyright: ignore[reportArgumentType]
        limit=PAGE,
        cursor=call.asked("cursor") or None,
    )
    template = "memory_rows.html" if call.request.headers.get("hx-request") else "memories.html"
    return call.page(template, items=page.items, more=call.more(page.next_cursor), orders=ORDERS, order=order)


def _filters(call: Call) -> dict[str, Any] | None:
    found: list[dict[str, Any]] = [
        {field: {"eq": call.asked(field)}}
        for field in ("kind", "layer", "namespace", "session_id", "agent_id", "content_type", "source")
        if call.asked(field)
    ]
    if call.asked("tag"):
        found.append({"tags": {"contains": call.asked("tag")}})
    if call.asked("text"):
        found.append({"content": {"contains": call.asked("text")}})
    if call.asked("mine"):
        found.append({"user_id": {"eq": call.scope.user_id}})
    return {"AND": found} if found else None


async def new(call: Call) -> Response:
    return call.page("new_memory.html")


async def remember(call: Call) -> Response:
    form = await call.form()
    said = {name: str(value).strip() for name, value in form.items()}
    receipt = await call.memory.remember(
        said.get("content", ""),
        kind=said.get("kind", "semantic"),  # pyright: ignore[reportArgumentType]
        tags=tuple(each for each in said.get("tags", "").split(",") if each.strip()),
        visibility=said.get("visibility", "private"),  # pyright: ignore[reportArgumentType]
        index="now",
    )
    return call.go(f"/ui/memories/{receipt.memory_id}", receipt.status)


async def forget_many(call: Call) -> Response:
    """First what would go; then, confirmed, it goes."""
    form = await call.form()
    ids = [str(each) for each in form.getlist("id")][:MOST_AT_ONCE]
    if not ids:
        raise ValidationFailedError("choose the memories that are to be forgotten first")
    if not form.get("sure"):
        return call.page("forget_many.html", items=[await call.memory.get(each) for each in ids])
    done, failed = 0, 0
    for each in ids:
        try:
            await call.memory.forget(each)
            done += 1
        except (NotFoundError, ConflictError):
            failed += 1
    return call.go("/ui/memories", f"{done} forgotten" + (f", {failed} could not be" if failed else ""))


async def export(call: Call) -> Response:
    await call.admit("admin")
    lines = call.keeps.transfer.export(call.scope, None if call.asked("all") else call.scope.user_id)
    headers = {"content-disposition": 'attachment; filename="keeps-export.jsonl"'}
    return StreamingResponse(lines, headers=headers, media_type="application/x-ndjson")


async def bring(call: Call) -> Response:
    """JSON lines of an export, or a piece of them after `first` lines: what is there stays as it is."""
    form = await call.form("admin")
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise ValidationFailedError("choose a file of JSON lines, as an export gives them")
    lines = (await file.read()).decode("utf-8", "replace").split("\n")
    await form.close()
    dry_run, first = bool(form.get("dry_run")), read_number(str(form.get("first") or ""), "first") or 0
    done = await call.admin.import_lines(lines, dry_run=dry_run)
    if call.request.headers.get("accept") == "application/json":  # a piece of a file, by our script
        errors = [_LINE.sub(lambda found: f"line {int(found[1]) + first}", each) for each in done.errors]
        told = done.model_dump() | {"errors": errors, "lines": len(lines) - (not lines[-1])}
        return JSONResponse(told)
    return call.page("imported.html", done=done, dry_run=dry_run)


PAGES = {
    "GET /ui/memories": memories,
    "GET /ui/memories/new": new,
    "POST /ui/memories/new": remember,
    "POST /ui/memories/forget": forget_many,
    "GET /ui/memories/export": export,
    "POST /ui/memories/import": bring,
}
