"""Documents: an organisation's written knowledge, and its passages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Hundred, Metadata, Page, Text, Wire
from keeps_client.models.memories import Tags, Visibility

MAX_FILE_BYTES = 50 << 20
Title = Annotated[Text, StringConstraints(min_length=1, max_length=500)]
DocumentSource = Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
PassageTokens = Annotated[int, Field(ge=64, le=508)]
"""Tokens of the built-in model, up to what it reads of a text."""
DocumentStatus = Literal["created", "updated", "unchanged"]
FolderAction = Literal["created", "updated", "renamed", "unchanged", "removed", "refused", "gone"]
SUFFIXES: dict[str, tuple[str, ...]] = {
    "text": (".txt", ".text", ".log", ".rst"),
    "markdown": (".md", ".markdown"),
    "csv": (".csv", ".tsv"),
    "json": (".json", ".jsonl", ".ndjson"),
    "email": (".eml",),
    "html": (".html", ".htm"),
    "pdf": (".pdf",),
    "docx": (".docx",),
    "xlsx": (".xlsx",),
}
"""Supported formats, with their file extensions."""


class NewDocument(Wire):
    """The attributes of a new document.

    `source`: its origin, such as a path or an address; adding the same source again creates a new version. Default
    title: the title in its text, else its file name.
    """

    title: Title | None = None
    source: DocumentSource | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    tags: Tags = ()
    visibility: Visibility = "tenant"
    replaces: DocumentSource | None = None
    """The previous source of a renamed document, which stays the same document."""
    passage_tokens: PassageTokens | None = None
    """Maximum length of a passage; by default that of the previous version, at first 256."""


class Document(Wire):
    """A document as it is stored. `characters` and the places of passages are those of its text; `sha256` is of the
    file's bytes, in hexadecimal."""

    document_id: UUID
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    title: str
    source: str | None = None
    format: str
    sha256: str
    metadata: dict[str, JsonValue]
    tags: tuple[str, ...]
    visibility: Visibility
    passage_tokens: int | None = None
    pages: int
    pages_without_text: int
    characters: int
    passages: int
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class DocumentReceipt(Wire):
    """The result of adding a document.

    - `stored`: new passages.
    - `known`: passages that existed, also in other documents.
    - `removed`: passages that no document contains any more.
    - `hidden`: characters that are in the file but not shown, which are left out.
    """

    status: DocumentStatus
    document: Document
    stored: int = 0
    known: int = 0
    removed: int = 0
    hidden: int = 0
    notes: tuple[str, ...] = ()


class FolderStep(Wire):
    """The result for a file, `path` within the folder.

    - `gone`: its file is gone, and the document stays.
    - `detail`: why a file was refused, or its previous name.
    - `notes`: those of its receipt.
    """

    path: str
    action: FolderAction
    detail: str | None = None
    document_id: UUID | None = None
    notes: tuple[str, ...] = ()


class FolderReceipt(Wire):
    """The results for all files. `others`: the number of files in unsupported formats."""

    steps: tuple[FolderStep, ...]
    others: int = 0


class DocumentDeleted(Wire):
    """The result of a deletion: removed passages, and those that stay because another document has them."""

    document_id: UUID
    removed: int
    kept: int


class Citation(Wire):
    """The place of a passage: characters `start` to `end` of the document's text. `page`: the page on which the
    answering sentence begins.
    """

    document_id: UUID
    title: str
    source: str | None = None
    headings: tuple[str, ...] = ()
    page: int | None = None
    start: int
    end: int


class DocumentHit(Wire):
    """A passage that answers, its places (the best first), and the passages around it."""

    memory_id: UUID
    content: str
    score: float
    relevance: float | None = None
    citations: tuple[Citation, ...]
    before: str | None = None
    after: str | None = None


class PassagePlace(Wire):
    """Characters `start` to `end` of a document's text that form one memory."""

    memory_id: UUID
    start: int
    end: int


class DocumentText(Wire):
    """A range of a document's text. `characters`: the length of the whole text. `passages`: those that overlap
    it, in order.
    """

    document_id: UUID
    start: int
    text: str
    characters: int
    passages: tuple[PassagePlace, ...] = ()


class DocumentId(Wire):
    document_id: UUID


class DocumentGone(DocumentId):
    hard: bool = False


class DocumentQuery(Wire):
    limit: Hundred = 20
    cursor: Cursor = None
    under: DocumentSource | None = None
    mine: bool = False


class DocumentStretch(DocumentId):
    start: Annotated[int, Field(ge=0)] = 0
    length: Annotated[int, Field(ge=1, le=100_000)] = 20_000


class DocumentSearch(Wire):
    query: Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    tags: Tags = ()


class DocumentHits(Wire):
    """Passages, best first. `nothing_known`: probably none of them answers the question."""

    hits: list[DocumentHit]
    nothing_known: bool = False


LIST_DOCUMENTS = Endpoint(
    "list_documents",
    "GET",
    "/v1/documents",
    "reader",
    "documents",
    Page[Document],
    "List your own documents and those that the tenant shares, newest first. `under`: only sources with "
    "this prefix; `mine`: only your own.",
    params=DocumentQuery,
    bare=True,
)
GET_DOCUMENT = Endpoint(
    "get_document",
    "GET",
    "/v1/documents/{document_id}",
    "reader",
    "documents",
    Document,
    "Return a document.",
    params=DocumentId,
)
READ_DOCUMENT = Endpoint(
    "read_document",
    "GET",
    "/v1/documents/{document_id}/text",
    "reader",
    "documents",
    DocumentText,
    "Return a range of the document's text; citations count its characters.",
    params=DocumentStretch,
)
DELETE_DOCUMENT = Endpoint(
    "delete_document",
    "DELETE",
    "/v1/documents/{document_id}",
    "writer",
    "documents",
    DocumentDeleted,
    "Delete a document with the passages that no other document contains; with `hard`, also from the log.",
    params=DocumentGone,
)
SEARCH_DOCUMENTS = Endpoint(
    "search_documents",
    "POST",
    "/v1/documents/search",
    "reader",
    "documents",
    DocumentHits,
    "Return the passages that best answer the query, each with its place and the text around it.",
    body=DocumentSearch,
)
