"""Documents: what an organisation has written down, and the passages that answer."""

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
"""The formats that are known, and how names of their files end."""


class NewDocument(Wire):
    """The attributes of a new document.

    `source`: its origin, such as a path or an address; added again under it, it is a new version. Without a title it
    has the title in its text, else its file name.
    """

    title: Title | None = None
    source: DocumentSource | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    tags: Tags = ()
    visibility: Visibility = "tenant"
    replaces: DocumentSource | None = None
    """The source it had before, where it was renamed: it stays the document that it was."""
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
    - `removed`: passages that no document has any more.
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

    - `gone`: its document has no file any more, and stays.
    - `detail`: why a file was refused, or its previous name.
    - `notes`: those of its receipt.
    """

    path: str
    action: FolderAction
    detail: str | None = None
    document_id: UUID | None = None
    notes: tuple[str, ...] = ()


class FolderReceipt(Wire):
    """The results for all files. `others`: the number of files in no known format."""

    steps: tuple[FolderStep, ...]
    others: int = 0


class DocumentDeleted(Wire):
    """The result of a deletion: removed passages, and those that stay since another document has them."""

    document_id: UUID
    removed: int
    kept: int


class Citation(Wire):
    """The place of a passage: characters `start` to `end` of the document's text. `page`: the page on which the
    sentence that answers begins."""

    document_id: UUID
    title: str
    source: str | None = None
    headings: tuple[str, ...] = ()
    page: int | None = None
    start: int
    end: int


class DocumentHit(Wire):
    """A passage that answers, where it stands (first where it fits best), and the passages around it."""

    memory_id: UUID
    content: str
    score: float
    relevance: float | None = None
    citations: tuple[Citation, ...]
    before: str | None = None
    after: str | None = None


class PassagePlace(Wire):
    """Characters `start` to `end` of a document's text, which are a memory of their own."""

    memory_id: UUID
    start: int
    end: int


class DocumentText(Wire):
    """A stretch of a document's text. `characters`: of all of it. `passages`: those that touch the stretch, in
    order."""

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
    """Passages, best first. `nothing_known`: none of them speaks of the question."""

    hits: list[DocumentHit]
    nothing_known: bool = False


LIST_DOCUMENTS = Endpoint(
    "list_documents",
    "GET",
    "/v1/documents",
    "reader",
    "documents",
    Page[Document],
    "One's own documents and those that the tenant shares, newest first. `under`: whose source begins so; `mine`:"
    " one's own alone.",
    params=DocumentQuery,
    bare=True,
)
GET_DOCUMENT = Endpoint(
    "get_document", "GET", "/v1/documents/{document_id}", "reader", "documents", Document, "", params=DocumentId
)
READ_DOCUMENT = Endpoint(
    "read_document",
    "GET",
    "/v1/documents/{document_id}/text",
    "reader",
    "documents",
    DocumentText,
    "A stretch of the document's text, which is what citations count in.",
    params=DocumentStretch,
)
DELETE_DOCUMENT = Endpoint(
    "delete_document",
    "DELETE",
    "/v1/documents/{document_id}",
    "writer",
    "documents",
    DocumentDeleted,
    "Remove a document with the passages that no other one says; `hard` takes them out of the log, too.",
    params=DocumentGone,
)
SEARCH_DOCUMENTS = Endpoint(
    "search_documents",
    "POST",
    "/v1/documents/search",
    "reader",
    "documents",
    DocumentHits,
    "The passages that answer best, each with where it stands and what is around it.",
    body=DocumentSearch,
)
