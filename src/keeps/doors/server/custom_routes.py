"""Endpoints beyond a plain request and response: the event stream, uploads, export and import."""

from __future__ import annotations

import json
from io import StringIO
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import Response, StreamingResponse

from keeps.base.scope import Scope, check_id
from keeps.base.text.json_parts import JsonParts
from keeps.doors.server.bodies import buffered_body, check_charset, uploading
from keeps.doors.server.event_stream import EventStream
from keeps.doors.server.parameters import Finding, validation_error
from keeps.doors.server.routes import Call, Operation, Respond, response_of, route_of
from keeps.memory.spaces.entering import check_entry
from keeps.memory.spaces.service import SpaceService
from keeps.memory.transfer.service import TransferService
from keeps.sources.documents.service import DocumentService
from keeps.store.access.limits import check_grant
from keeps.store.access.part import scope_of_tenant
from keeps.store.events.service import EventService, split_names
from keeps_client.checked import validated
from keeps_client.endpoint import Endpoint
from keeps_client.errors import UnavailableError, ValidationFailedError
from keeps_client.models import DocumentReceipt, ImportSummary, NewDocument
from keeps_client.models.common import Id, Wire
from keeps_client.models.events import Names
from keeps_client.models.spaces import SpaceId
from keeps_client.uploads import PATH as UPLOADS
from keeps_client.validation import event_types, memory_kinds

JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/json")
Position = Annotated[int, Field(ge=0, lt=2**63)]


class StreamParams(Wire):
    """Parameters of the event stream."""

    types: Names = None
    kinds: Names = None
    after: Position | None = None


class ExportParams(Wire):
    """Parameters of an export."""

    user_id: Annotated[str | None, Field(min_length=1, max_length=255, description="Only this user's data")] = None


class TenantExportParams(ExportParams):
    """Parameters of an export of a tenant that the path names."""

    tenant_id: Id


class ImportParams(Wire):
    """Parameters of an import."""

    dry_run: bool = False


_STREAM_DOC = """Stream events as they happen, as server-sent events.

`Last-Event-ID` (or `after`) resumes; without it the stream begins with new events."""
_UPLOAD_DOC = """Add a document as multipart/form-data: the part `file`, and `document`, its attributes as JSON.

With an existing source, it becomes a new version."""
_EXPORT_DOC = "Export the tenant's data, or one user's, as JSON lines."
_IMPORT_DOC = """Import the JSON lines of an export into the tenant, with their ids.

Existing data stays as it is. With `dry_run` nothing is stored: the response says what would be stored."""
STREAM_EVENTS = Endpoint(
    "stream_events", "GET", "/v1/events/stream", "reader", "events", str, _STREAM_DOC, StreamParams
)
ADD_DOCUMENT = Endpoint(
    "add_document",
    "POST",
    UPLOADS,
    "writer",
    "documents",
    DocumentReceipt,
    _UPLOAD_DOC,
    status=201,
    created=lambda receipt: receipt.status == "created",
)
EXPORT = Endpoint("export", "GET", "/v1/admin/export", "admin", "administration", str, _EXPORT_DOC, ExportParams)
_EXPORT_TENANT_DOC = "Export the data of your own tenant, or of any tenant as operator, or of one user, as JSON lines."
EXPORT_TENANT = Endpoint(
    "export_tenant",
    "GET",
    "/v1/admin/tenants/{tenant_id}/export",
    "admin",
    "administration",
    str,
    _EXPORT_TENANT_DOC,
    TenantExportParams,
)
EXPORT_SPACE = Endpoint(
    "export_space",
    "GET",
    "/v1/spaces/{space_id}/export",
    "reader",
    "spaces",
    str,
    "Export a space with its members as JSON lines, which an administrator can import. For curators.",
    SpaceId,
)
IMPORT_DATA = Endpoint(
    "import_data", "POST", "/v1/admin/import", "admin", "administration", ImportSummary, _IMPORT_DOC, ImportParams
)
_LAST_EVENT_ID: TypeAdapter[int] = TypeAdapter(Position)


async def stream_events(call: Call) -> Response:
    start = call.params.after
    if (last_event_id := call.request.headers.get("last-event-id")) is not None:
        try:
            start = _LAST_EVENT_ID.validate_python(last_event_id)
        except ValidationError as error:
            findings: list[Finding] = [{**each, "loc": ("last_event_id",)} for each in error.errors()]
            raise validation_error(findings) from None
    types = event_types(split_names(call.params.types))
    kinds = memory_kinds(split_names(call.params.kinds))
    return EventStream(call.keeps.service(EventService).subscription(call.scope, after=start, types=types, kinds=kinds))


async def add_document(call: Call) -> Response:
    request = call.request
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
        raise UnavailableError(f"there is not enough disk space to read the document ({error.strerror})") from None
    try:
        file, attributes = form.get("file"), form.get("document")
        if not isinstance(file, UploadFile):
            raise ValidationFailedError("the part `file` is missing; give it a filename")
        new = validated(NewDocument, _parse_attributes(attributes) if isinstance(attributes, str) else {})
        descriptor = file.file.fileno()  # on disk by that, whatever its size
        file.file.seek(0)
        name, media_type = file.filename or "", file.content_type
        receipt = await call.keeps.service(DocumentService).add(
            call.scope, descriptor, name, new, media_type=media_type
        )
    finally:
        await form.close()
    return response_of(ADD_DOCUMENT, receipt)


def _parse_attributes(text: str) -> object:
    JsonParts().see(text.encode("utf-8", "replace"))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValidationFailedError('the part `document` must be JSON, such as {"title": "Handbook"}') from None


async def export(call: Call) -> Response:
    return _exported(call, call.scope)


async def export_tenant(call: Call) -> Response:
    return _exported(call, scope_of_tenant(call.scope, call.params.tenant_id))


def _exported(call: Call, scope: Scope) -> Response:
    user_id = call.params.user_id
    if user_id is not None:
        check_id("user_id", user_id)
    return StreamingResponse(call.keeps.service(TransferService).export(scope, user_id), media_type=JSON_LINES[0])


async def export_space(call: Call) -> Response:
    owner = await call.keeps.service(SpaceService).exported(call.scope, call.params.space_id)
    return StreamingResponse(call.keeps.service(TransferService).export_owner(owner), media_type=JSON_LINES[0])


async def import_data(call: Call) -> Response:
    kind = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in JSON_LINES:
        raise ValidationFailedError(f"the body must be JSON lines, with the header Content-Type: {JSON_LINES[0]}")
    async with buffered_body(call.request) as body:
        lines = StringIO(body.decode("utf-8", errors="replace"), newline="\n")
        summary = await call.keeps.service(TransferService).import_lines(call.scope, lines, dry_run=call.params.dry_run)
    return response_of(IMPORT_DATA, summary)


def _in_spaces(respond: Respond) -> Respond:
    """Return a response that first checks the limits of a caller, and the membership in a space."""

    async def checked(call: Call) -> Response:
        check_grant(call.scope, call.endpoint, None)
        await check_entry(call.keeps.service(SpaceService), call.scope, call.endpoint)
        return await respond(call)

    return checked


CUSTOM_ROUTES = (
    route_of(Operation(STREAM_EVENTS, _in_spaces(stream_events))),
    route_of(Operation(ADD_DOCUMENT, _in_spaces(add_document), reads_body=True)),
    route_of(Operation(EXPORT, _in_spaces(export))),
    route_of(Operation(EXPORT_TENANT, _in_spaces(export_tenant))),
    route_of(Operation(EXPORT_SPACE, _in_spaces(export_space))),
    route_of(Operation(IMPORT_DATA, _in_spaces(import_data), reads_body=True)),
)
CUSTOM_ENDPOINTS = (STREAM_EVENTS, ADD_DOCUMENT, EXPORT, EXPORT_TENANT, EXPORT_SPACE, IMPORT_DATA)
