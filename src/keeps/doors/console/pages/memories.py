"""Memories: the filtered list; create, forget many, import, export."""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response, StreamingResponse

from keeps.doors.console.mount import Call, read_number
from keeps.memory.memories.counts import MemoryCounts
from keeps.memory.transfer.service import TransferService
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import Memory

PAGE = 50
ORDERS = {"created": "newest first", "importance": "most important first", "recency": "last changed first"}
MOST_AT_ONCE = 500
_LINE = re.compile(r"^line (\d{1,9})")


async def memories(call: Call) -> Response:
    order = call.asked("order") if call.asked("order") in ORDERS else "created"
    filters = _filters(call)
    page = await call.memory.list(
        filters=filters,
        order=order,  # pyright: ignore[reportArgumentType]
        limit=PAGE,
        cursor=call.asked("cursor") or None,
    )
    more = call.more(page.next_cursor)
    if call.request.headers.get("hx-request"):
        return call.page("memory_rows.html", items=page.items, more=more)
    total = await call.keeps.service(MemoryCounts).count(call.scope, filters)
    return call.page(
        "memories.html",
        items=page.items,
        more=more,
        orders=ORDERS,
        order=order,
        total=total,
        filtered=filters is not None,
    )


def _filters(call: Call) -> dict[str, Any] | None:
    conditions: list[dict[str, Any]] = [
        {field: {"eq": call.asked(field)}}
        for field in ("kind", "layer", "namespace", "session_id", "agent_id", "content_type", "source")
        if call.asked(field)
    ]
    if call.asked("tag"):
        conditions.append({"tags": {"contains": call.asked("tag")}})
    if call.asked("text"):
        conditions.append({"content": {"contains": call.asked("text")}})
    if call.asked("mine"):
        conditions.append({"user_id": {"eq": call.scope.user_id}})
    return {"AND": conditions} if conditions else None


async def new(call: Call) -> Response:
    return call.page("new_memory.html")


async def remember(call: Call) -> Response:
    form = await call.form()
    fields = {name: str(value).strip() for name, value in form.items()}
    receipt = await call.memory.remember(
        fields.get("content", ""),
        kind=fields.get("kind", "semantic"),  # pyright: ignore[reportArgumentType]
        tags=tuple(tag for tag in fields.get("tags", "").split(",") if tag.strip()),
        visibility=fields.get("visibility", "private"),  # pyright: ignore[reportArgumentType]
        index="now",
    )
    return call.go(f"/ui/memories/{receipt.memory_id}", receipt.status)


async def forget_many(call: Call) -> Response:
    """Show what would be forgotten; then, confirmed, forget it."""
    form = await call.form()
    ids = [str(value) for value in form.getlist("id")][:MOST_AT_ONCE]
    if not ids:
        raise ValidationFailedError("select the memories to forget first")
    if not form.get("sure"):
        return call.page("forget_many.html", items=[await call.memory.get(memory_id) for memory_id in ids])
    done, failed = 0, 0
    for memory_id in ids:
        try:
            await call.memory.forget(memory_id)
            done += 1
        except (NotFoundError, ConflictError):
            failed += 1
    return call.go("/ui/memories", f"{done} forgotten" + (f", {failed} failed" if failed else ""))


async def edit_many(call: Call) -> Response:
    """Change the tags, the importance or the visibility of the chosen memories."""
    form = await call.form()
    ids = [str(value) for value in form.getlist("id")][:MOST_AT_ONCE]
    fields = {name: str(form.get(name, "")).strip() for name in ("add_tag", "remove_tag", "importance", "visibility")}
    if not ids or not any(fields.values()):
        raise ValidationFailedError("select memories and enter a change: a tag, the importance, or the visibility")
    done, failed = 0, 0
    for memory_id in ids:
        try:
            memory = await call.memory.get(memory_id)
            await call.memory.update(memory_id, if_version=memory.version, **_changes(memory, fields))
            done += 1
        except (NotFoundError, ConflictError):
            failed += 1
    return call.go("/ui/memories", f"{done} changed" + (f", {failed} failed" if failed else ""))


def _changes(memory: Memory, fields: dict[str, str]) -> dict[str, Any]:
    changes: dict[str, Any] = {name: fields[name] for name in ("importance", "visibility") if fields[name]}
    if fields["add_tag"] or fields["remove_tag"]:
        tags = [tag for tag in memory.tags if tag != fields["remove_tag"]]
        changes["tags"] = list(dict.fromkeys([*tags, *filter(None, [fields["add_tag"]])]))
    return changes


async def export(call: Call) -> Response:
    await call.admit("admin")
    lines = call.keeps.service(TransferService).export(call.scope, None if call.asked("all") else call.scope.user_id)
    headers = {"content-disposition": 'attachment; filename="keeps-export.jsonl"'}
    return StreamingResponse(lines, headers=headers, media_type="application/x-ndjson")


async def bring(call: Call) -> Response:
    """Import JSON lines of an export, or a part after `first` lines; existing memories stay as they are."""
    form = await call.form("admin")
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise ValidationFailedError("choose a JSON lines file from an export")
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
    "POST /ui/memories/edit": edit_many,
    "GET /ui/memories/export": export,
    "POST /ui/memories/import": bring,
}
