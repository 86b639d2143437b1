"""Routes beyond a plain request and response: the event stream, export, import, and health for operators."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import JSONResponse, Response, StreamingResponse

from keeps.documents.service import DocumentService
from keeps.events.service import EventService, split_names
from keeps.scope import check_id
from keeps.server.bodies import check_charset, held_body, uploading
from keeps.server.deps import ADMITTING, Caller
from keeps.server.lean import LeanRoute, reads_its_body
from keeps.server.streams import EventStream
from keeps.text.json_parts import JsonParts
from keeps.transfer.service import TransferService
from keeps_client.checked import validated
from keeps_client.errors import KeepsError, UnavailableError, ValidationFailedError
from keeps_client.models import DocumentReceipt, ImportSummary, NewDocument
from keeps_client.models.events import Names
from keeps_client.validation import event_types, memory_kinds

router = APIRouter(prefix="/v1", route_class=LeanRoute)
health = APIRouter(tags=["operations"])
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/json")
Reader = Annotated[Caller, Depends(ADMITTING["reader"])]
Admin = Annotated[Caller, Depends(ADMITTING["admin"])]
Writer = Annotated[Caller, Depends(ADMITTING["writer"])]
Position = Annotated[int | None, Query(ge=0, lt=2**63)]
User = Annotated[str | None, Query(min_length=1, max_length=255, description="Only this user's data")]


@router.get("/events/stream", tags=["events"], response_class=Response)
async def stream_events(
    caller: Reader,
    types: Annotated[Names, Query()] = None,
    kinds: Annotated[Names, Query()] = None,
    after: Position = None,
    last_event_id: Annotated[int | None, Header(ge=0, lt=2**63)] = None,
) -> Response:
    """Stream events as they happen, as server-sent events.

    `Last-Event-ID` (or `after`) resumes; without it the stream begins with new events.
    """
    start = after if last_event_id is None else last_event_id
    names, of_kinds = event_types(split_names(types)), memory_kinds(split_names(kinds))
    return EventStream(
        caller.keeps.service(EventService).subscription(caller.scope, after=start, types=names, kinds=of_kinds)
    )


@router.post("/documents", tags=["documents"], response_model=DocumentReceipt, status_code=201)
@reads_its_body
async def add_document(request: Request, caller: Writer) -> Response:
    """Add a document as multipart/form-data: the part `file`, and `document`, its attributes as JSON.

    Under a source that exists, it is a new version.
    """
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise ValidationFailedError("the body must be multipart/form-data with its boundary, with the part `file`")
    check_charset(request)
    try:
        async with uploading(request):
            form = await request.form(max_files=1, max_fields=1, max_part_size=100_000)
    except (HTTPException, MultiPartException) as error:
        detail = error.detail if isinstance(error, HTTPException) else error.message
        raise ValidationFailedError(f"the body cannot be read: {detail}") from None
    except OSError as error:
        raise UnavailableError(f"there is no room to keep the document while it is read ({error.strerror})") from None
    try:
        file, said = form.get("file"), form.get("document")
        if not isinstance(file, UploadFile):
            raise ValidationFailedError("the part `file` is missing; give it a filename")
        new = validated(NewDocument, _object(said) if isinstance(said, str) else {})
        descriptor = file.file.fileno()  # on disk by that, whatever its size
        file.file.seek(0)
        name, media_type = file.filename or "", file.content_type
        done = await caller.keeps.service(DocumentService).add(
            caller.scope, descriptor, name, new, media_type=media_type
        )
    finally:
        await form.close()
    return Response(done.model_dump_json(), 201 if done.status == "created" else 200, media_type="application/json")


def _object(text: str) -> object:
    JsonParts().see(text.encode("utf-8", "replace"))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValidationFailedError('the part `document` must be JSON, such as {"title": "Handbook"}') from None


@router.get("/admin/export", tags=["administration"], response_class=StreamingResponse)
async def export(caller: Admin, user_id: User = None) -> StreamingResponse:
    """Export the tenant's data, or one user's, as JSON lines."""
    if user_id is not None:
        check_id("user_id", user_id)
    return StreamingResponse(
        caller.keeps.service(TransferService).export(caller.scope, user_id), media_type="application/x-ndjson"
    )


@router.post("/admin/import", tags=["administration"], response_model=ImportSummary)
@reads_its_body
async def import_data(request: Request, caller: Admin, dry_run: bool = False) -> Response:
    """Import the JSON lines of an export into the tenant, with their ids.

    Existing data stays as it is. With `dry_run` nothing is stored: the answer says what would be.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in JSON_LINES:
        raise ValidationFailedError(f"the body must be JSON lines, with the header Content-Type: {JSON_LINES[0]}")
    async with held_body(request) as body:
        lines = body.decode("utf-8", errors="replace").split("\n")
        done = await caller.keeps.service(TransferService).import_lines(caller.scope, lines, dry_run=dry_run)
    return Response(done.model_dump_json(), media_type="application/json")


@health.get("/health", name="health")
async def alive() -> dict[str, str]:
    """Report that the process answers. Never touches the database."""
    return {"status": "ok"}


@health.get("/ready")
async def ready(request: Request) -> Response:
    """Report whether requests can be served, by asking the database. 503 when it does not answer."""
    try:
        await request.app.state.keeps.server_version()
    except KeepsError as error:
        return JSONResponse({"status": "unavailable", "detail": error.detail}, 503)
    return JSONResponse({"status": "ready"})


@health.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Return Prometheus metrics."""
    return await request.app.state.exposition.response(request)
