"""Rebuilds a tenant's tables in a separate schema, as PostgreSQL's administrator."""

from __future__ import annotations

from datetime import UTC, datetime

from keeps.store.db.provision import as_administrator
from keeps.store.events import store
from keeps_client.errors import ValidationFailedError
from keeps_client.models import ReplayedTable


async def rebuild(admin_url: str, schema: str, tenant_id: str, until: datetime | None) -> list[ReplayedTable]:
    """Make `schema` with the tenant's rows as its events describe them up to `until`.

    Raises ValidationFailedError when the schema exists.
    """
    if not schema.isidentifier() or schema.lower().startswith(("pg_", "keeps")) or len(schema) > 63:
        raise ValidationFailedError(
            "name the schema with letters, digits and _, such as replayed; pg_… and keeps… are reserved"
        )
    moment = until or datetime.max.replace(tzinfo=UTC)
    rows = await as_administrator(admin_url, store.QUERIES["replay_into"], schema, tenant_id, moment)
    return [ReplayedTable(table=row["table_name"], rows=row["told"]) for row in rows]
