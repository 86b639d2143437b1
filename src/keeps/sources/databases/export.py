"""Export of databases, without their credentials, and of the queries on them."""

from __future__ import annotations

from typing import NoReturn

from keeps.sources.databases import store
from keeps.store.db.session import Tx
from keeps.store.export import NO_ID, NO_TIME, Export, JsonRow
from keeps_client.errors import ValidationFailedError
from keeps_client.models import QueryAudit


def _refuse_database(_: JsonRow) -> NoReturn:
    raise ValidationFailedError("is a database; exports contain no credentials, so add it again")


async def _add_nothing(_: Tx, __: object) -> bool:
    return False


def _read_query(row: JsonRow) -> QueryAudit:
    return QueryAudit.model_validate(
        {name: row[column] for name, column in store.AUDIT_COLUMNS.items() if column in row}
    )


EXPORTS = (
    Export("database", store.QUERIES["export_databases"], {"name": ""}, _refuse_database, _add_nothing),
    Export(
        "query",
        store.QUERIES["export_queries"],
        {"asked_at": NO_TIME, "audit_id": NO_ID},
        _read_query,
        store.add_audit,
    ),
)
