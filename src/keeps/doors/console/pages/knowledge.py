"""Knowledge: documents with their passages marked, databases with their tables, and the audit of queries."""

from __future__ import annotations

from pathlib import PurePath
from uuid import UUID

from starlette.datastructures import UploadFile
from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps_client.errors import NotConfiguredError, ValidationFailedError
from keeps_client.models import DocumentHits, DocumentText

PAGE, TEXT = 30, 20_000


async def knowledge(call: Call) -> Response:
    query = call.asked("q")
    hits: DocumentHits | None = await call.memory.search_documents(query) if query else None
    page = await call.memory.list_documents(limit=PAGE, cursor=call.asked("cursor") or None)
    try:
        databases = await call.memory.list_databases()
    except NotConfiguredError:
        databases = []
    return call.page(
        "knowledge.html",
        found=hits,
        items=page.items,
        more=call.more(page.next_cursor),
        databases=databases,
        tools=await call.memory.list_tools(),
        providers=await call.memory.list_providers(),
    )


async def add(call: Call) -> Response:
    """Add a file as a document; a file of the same name is a new version."""
    form = await call.form()
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise ValidationFailedError("choose a file, or drop one onto the form")
    name = PurePath(file.filename.replace("\\", "/")).name[:200]
    visibility = "private" if form.get("private") else "tenant"
    receipt = await call.memory.add_document(
        data=await file.read(), name=name, title=name, source=f"upload/{name}", visibility=visibility
    )
    await form.close()
    return call.go(f"/ui/knowledge/documents/{receipt.document.document_id}", receipt.status)


async def document(call: Call) -> Response:
    document_id = call.given("document_id")
    start = call.number("start") or 0
    stored = await call.memory.get_document(document_id)
    text = await call.memory.read_document(document_id, start=start, length=TEXT)
    end = text.start + len(text.text)
    return call.page(
        "document.html",
        document=stored,
        text=text,
        end=end,
        before=call.more(str(max(0, start - TEXT)), "start") if start else None,
        following=call.more(str(end), "start") if end < text.characters else None,
        pieces=_pieces(text),
    )


def _pieces(text: DocumentText) -> list[tuple[UUID | None, str]]:
    """Return the text in pieces: each passage with its id, and the text between passages."""
    pieces: list[tuple[UUID | None, str]] = []
    place = text.start
    for each in text.passages:
        start, end = max(place, each.start), min(each.end, text.start + len(text.text))
        pieces.append((None, text.text[place - text.start : start - text.start]))
        pieces.append((each.memory_id, text.text[start - text.start : end - text.start]))
        place = max(place, end)
    pieces.append((None, text.text[place - text.start :]))
    return [(memory_id, piece) for memory_id, piece in pieces if piece]


async def queries(call: Call) -> Response:
    page = await call.memory.list_queries(cursor=call.asked("cursor") or None)
    return call.page("queries.html", items=page.items, more=call.more(page.next_cursor))


async def forget_document(call: Call) -> Response:
    form = await call.form()
    done = await call.memory.delete_document(call.given("document_id"), hard=bool(form.get("hard")))
    return call.go("/ui/knowledge", f"the document is forgotten, with {done.removed} passages")


PAGES = {
    "GET /ui/knowledge": knowledge,
    "POST /ui/knowledge/documents": add,
    "GET /ui/knowledge/queries": queries,
    "GET /ui/knowledge/documents/{document_id:uuid}": document,
    "POST /ui/knowledge/documents/{document_id:uuid}/forget": forget_document,
}
