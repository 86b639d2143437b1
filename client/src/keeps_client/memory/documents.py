"""Documents: an organisation's written knowledge."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import BinaryIO
from uuid import UUID

from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.memory.base import Doing
from keeps_client.models import (
    Document,
    DocumentDeleted,
    DocumentHits,
    DocumentReceipt,
    DocumentText,
    NewDocument,
    Page,
)
from keeps_client.models.documents import (
    DELETE_DOCUMENT,
    GET_DOCUMENT,
    LIST_DOCUMENTS,
    READ_DOCUMENT,
    SEARCH_DOCUMENTS,
)
from keeps_client.models.memories import Visibility
from keeps_client.uploads import opened, whole_path
from keeps_client.validation import as_uuid, given, listed


class Documents(Doing):
    """Methods for documents."""

    async def add_document(
        self,
        text: str | PathLike[str] | None = None,
        *,
        file: str | PathLike[str] | None = None,
        data: bytes | None = None,
        stream: BinaryIO | None = None,
        name: str | None = None,
        title: str | None = None,
        source: str | None = None,
        metadata: Mapping[str, object] | None = None,
        tags: Sequence[str] | None = None,
        visibility: Visibility = "tenant",
        media_type: str | None = None,
        replaces: str | None = None,
        passage_tokens: int | None = None,
    ) -> DocumentReceipt:
        """Add a document: one of `text` (Markdown), `file`, `data` or `stream`, of at most 50 MiB.

        A `Path` as `text` is a file.

        The extension of `name` (by default the file's) sets the format, otherwise `media_type`.

        Everyone in the tenant may read it, unless `visibility` is "private". A document with the `source` of an
        existing one (for a file, its absolute path) is a new version and replaces it atomically. `replaces`: the
        previous source of a renamed document. `passage_tokens`: maximum length of a passage, 64 to 508, by default 256.

        Raises ValidationFailedError with the reason if the document is refused, and NotConfiguredError if its format
        needs an extra.
        """
        fields = given(
            title=title,
            source=source,
            metadata=metadata,
            tags=listed(tags),
            visibility=visibility,
            replaces=replaces,
            passage_tokens=passage_tokens,
        )
        if isinstance(text, PathLike):
            if file is not None:
                raise ValidationFailedError("give a document as one of text, file, data or stream")
            text, file = None, text
        if file is not None and source is None:
            fields["source"] = whole_path(file)
        new = validated(NewDocument, fields)
        with opened(text, file, data, stream, name) as (called, found):
            return await self._upload(found, called, new, media_type)

    async def list_documents(
        self, *, limit: int = 20, cursor: str | None = None, under: str | None = None, mine: bool = False
    ) -> Page[Document]:
        """Return your own documents and those that the tenant shares, newest first, a page at a time.

        `under`: only those whose source has this prefix; `mine`: only your own.
        """
        return await self._do(LIST_DOCUMENTS, limit=limit, cursor=cursor, under=under, mine=mine)

    async def get_document(self, document_id: UUID | str) -> Document:
        """Return a document. Raises NotFoundError."""
        return await self._do(GET_DOCUMENT, document_id=as_uuid(document_id, "document_id"))

    async def read_document(self, document_id: UUID | str, *, start: int = 0, length: int = 20_000) -> DocumentText:
        """Return a range of a document's text, in characters, as citations count them. Raises NotFoundError."""
        found = as_uuid(document_id, "document_id")
        return await self._do(READ_DOCUMENT, document_id=found, start=start, length=length)

    async def delete_document(self, document_id: UUID | str, *, hard: bool = False) -> DocumentDeleted:
        """Delete a document, and its passages that no other document has; `hard` also erases them from the log.

        Raises NotFoundError.
        """
        return await self._do(DELETE_DOCUMENT, document_id=as_uuid(document_id, "document_id"), hard=hard)

    async def search_documents(self, query: str, *, limit: int = 10, tags: Sequence[str] | None = None) -> DocumentHits:
        """Return the passages that best answer a query, best first."""
        return await self._do(SEARCH_DOCUMENTS, query=query, limit=limit, tags=listed(tags))

    @abstractmethod
    async def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        """Upload a document."""
