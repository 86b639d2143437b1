"""Export of the log of requests."""

from __future__ import annotations

from keeps.memory.requests import store
from keeps.store.export import NO_ID, Export, JsonRow
from keeps_client.models import RequestDetail


def _read(row: JsonRow) -> RequestDetail:
    return RequestDetail.model_validate({name: row[name] for name in RequestDetail.model_fields if name in row})


EXPORTS = (Export("request", store.QUERIES["export_requests"], {"request_id": NO_ID}, _read, store.add),)
