"""Export of documents. Their passages are memories."""

from __future__ import annotations

from keeps.sources.documents import store
from keeps.store.export import NO_ID, NO_TIME, Export, JsonRow, check_as_new
from keeps_client.models import NewDocument


def _read_document(row: JsonRow) -> JsonRow:
    check_as_new(NewDocument, row)
    return row


EXPORTS = (
    Export(
        "document",
        store.QUERIES["export_documents"],
        {"created_at": NO_TIME, "document_id": NO_ID},
        _read_document,
        store.add,
    ),
)
