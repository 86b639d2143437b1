"""Statements on the log of requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.memory.requests.activity import RequestSample
from keeps.store.db.session import Row, Tx
from keeps.store.db.statements import Statements
from keeps_client.models import LoggedRequest, RequestDetail
from keeps_client.models.requests import RequestQuery

QUERIES = Statements("keeps.memory.requests")
JSON_COLUMNS = ("arguments", "answer", "omitted")


async def log(tx: Tx, requests: Iterable[dict[str, Any]], most: int) -> None:
    """Store requests of any users of the tenant; each user keeps the newest `most`."""
    await tx.execute(QUERIES["requests_log"], json.dumps(list(requests)), most)


async def page(tx: Tx, query: RequestQuery, before: UUID | None, limit: int) -> list[LoggedRequest]:
    rows = await tx.fetch(
        QUERIES["requests_page"],
        tx.scope.tenant_id,
        tx.scope.user_id,
        before,
        query.kind,
        query.found_nothing,
        limit,
    )
    return [LoggedRequest(**dict(row)) for row in rows]


async def samples(tx: Tx, since: datetime, limit: int) -> list[RequestSample]:
    rows = await tx.fetch(QUERIES["request_samples"], tx.scope.tenant_id, tx.scope.user_id, since, limit)
    return [RequestSample(**dict(row)) for row in rows]


async def owners(tx: Tx, query: RequestQuery, before: UUID | None, limit: int) -> dict[UUID, str]:
    """Return the owners of the tenant's requests by id, newest first."""
    rows = await tx.fetch(QUERIES["request_owners"], before, query.kind, query.found_nothing, limit)
    return {row["request_id"]: row["user_id"] for row in rows}


async def named(tx: Tx, request_ids: Sequence[UUID]) -> list[LoggedRequest]:
    rows = await tx.fetch(QUERIES["requests_named"], tx.scope.tenant_id, tx.scope.user_id, request_ids)
    return [LoggedRequest(**dict(row)) for row in rows]


async def get(tx: Tx, request_id: UUID) -> RequestDetail | None:
    row = await tx.fetch_row(QUERIES["request_get"], tx.scope.tenant_id, tx.scope.user_id, request_id)
    return None if row is None else _detail(row)


async def forget(tx: Tx, asked_before: datetime) -> None:
    await tx.execute(QUERIES["requests_forget"], tx.scope.tenant_id, tx.scope.user_id, asked_before)


async def add(tx: Tx, request: RequestDetail) -> bool:
    """Store a request of an export; return False if it is there already."""
    values = request.model_dump(mode="json", include=set(JSON_COLUMNS))
    row = await tx.fetch_row(
        QUERIES["request_insert"],
        tx.scope.tenant_id,
        request.request_id,
        tx.scope.user_id,
        request.agent_id,
        request.session_id,
        request.kind,
        request.door,
        request.query,
        json.dumps(values["arguments"]),
        request.asked_at,
        request.took_ms,
        request.hits,
        request.left_out,
        request.found_nothing,
        json.dumps(values["answer"]),
        json.dumps(values["omitted"]),
    )
    return row is not None


def _detail(row: Row) -> RequestDetail:
    return RequestDetail.model_validate(
        {name: json.loads(value) if name in JSON_COLUMNS else value for name, value in dict(row).items()}
    )
