"""Run the statements on working memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from keeps.base.clock import new_id
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import fetch_page
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.errors import ValidationFailedError
from keeps_client.models import AtomicResult, WorkingItem
from keeps_client.models.common import storable_json
from keeps_client.models.names import SPACE_PREFIX

QUERIES = Statements("keeps.state.working")
OF_AN_APP = "app:"
"""Prefix of the id of the plan whose keys all users of an app share through its transcripts."""
MAX_APP_BYTES = 4 << 20


async def put(
    tx: Tx,
    plan_id: str,
    key: str,
    value: object,
    *,
    expires_at: datetime | None,
    now: datetime,
    expected: int | None,
    workflow: bool = False,
) -> WorkingItem | None:
    """Store a value. Return None if the stored version is not the expected one.

    Raises:
        ValidationFailedError: The shared state of an app would be too large.
    """
    _check_plan(tx, plan_id)
    parameters = (
        tx.scope.tenant_id,
        plan_id,
        key,
        tx.scope.user_id,
        json.dumps(value, ensure_ascii=False),
        expires_at,
        now,
        expected,
        new_id(),
        tx.scope.agent_id,
        workflow,
    )
    row = await tx.fetch_row(QUERIES["working_put"], *parameters)
    if row is None and await _end(tx, plan_id, key, now):
        row = await tx.fetch_row(QUERIES["working_put"], *parameters)
    await _check_app(tx, plan_id)
    return None if row is None else item_from_row(row)


async def change(
    tx: Tx,
    plan_id: str,
    key: str,
    path: Sequence[str],
    operation: str,
    given: object,
    now: datetime,
    *,
    workflow: bool = False,
) -> AtomicResult:
    """Change a value in place.

    Args:
        operation: append, extend, merge or increment.
        given: The item, the items, the entries or the number.

    Raises:
        ValidationFailedError: The value would exceed the size that can be stored.
    """
    _check_plan(tx, plan_id)
    parameters = (
        tx.scope.tenant_id,
        plan_id,
        key,
        tx.scope.user_id,
        list(path),
        operation,
        json.dumps(given, ensure_ascii=False),
        now,
        new_id(),
        tx.scope.agent_id,
        workflow,
    )
    row = await tx.fetch_row(QUERIES["working_change"], *parameters)
    if row is None and await _end(tx, plan_id, key, now):
        row = await tx.fetch_row(QUERIES["working_change"], *parameters)
    await _check_app(tx, plan_id)
    result = _result(plan_id, path, row)
    _check_size(key, result.value if row is None or row["whole"] is None else json.loads(row["whole"]))
    return result


async def get(tx: Tx, plan_id: str, key: str, now: datetime) -> WorkingItem | None:
    row = await tx.fetch_row(QUERIES["working_get"], tx.scope.tenant_id, plan_id, key, now, tx.scope.user_id)
    return None if row is None else item_from_row(row)


async def values(tx: Tx, plan_id: str, now: datetime) -> dict[str, JsonValue]:
    """Return the values of a plan's keys, up to the number that an app may share."""
    asked = (tx.scope.tenant_id, plan_id, now, MAX_APP_BYTES, tx.scope.user_id)
    row = await tx.fetch_row(QUERIES["working_values"], *asked)
    return {} if row is None or row["values"] is None else json.loads(row["values"])


async def page(
    tx: Tx, plan_id: str, now: datetime, after: str, limit: int, *, values: bool
) -> tuple[list[WorkingItem], bool]:
    """Return one page, by key, with or without the values, and whether there are more."""
    asked = (tx.scope.tenant_id, plan_id, now, after, limit + 1, values, tx.scope.user_id)
    kept, more = await fetch_page(tx, QUERIES["working_list"], *asked, limit=limit, columns=("value",))
    return [item_from_row(row) for row in kept], more


async def delete(tx: Tx, plan_id: str, key: str | None, now: datetime, *, workflow: bool = False) -> list[str]:
    """Delete one key, all keys, or those made by a workflow, and redact their events. Return the deleted keys."""
    which = (tx.scope.tenant_id, plan_id, key, now, workflow, tx.scope.user_id)
    rows = await tx.fetch(QUERIES["working_delete"], *which)
    for redacted in [row["key"] for row in rows] if workflow else [key]:
        await tx.execute(QUERIES["working_redact"], plan_id, redacted)
    return [row["key"] for row in rows if not row["expired"]]


async def add(tx: Tx, item: WorkingItem, created_at: datetime) -> bool:
    """Store an imported key with its event. Return False if it already exists."""
    _check_plan(tx, item.plan_id)
    row = await tx.fetch_row(
        QUERIES["working_add"],
        tx.scope.tenant_id,
        item.plan_id,
        item.key,
        tx.scope.user_id,
        json.dumps(item.value, ensure_ascii=False),
        item.version,
        item.expires_at,
        created_at,
        item.updated_at,
        item.workflow,
    )
    if row is None:
        return False
    data = {
        "operation": "set",
        "created_at": created_at.isoformat(),
        **item.model_dump(mode="json", include={"plan_id", "key", "value", "version", "expires_at"}),
        **({"workflow": True} if item.workflow else {}),
    }
    news = [NewEvent(new_id(), "plan.state.written", item.plan_id, item.updated_at, "private", None, data)]
    await events.append(tx, news)
    return True


async def sweep(tx: Tx, now: datetime) -> None:
    """Delete some expired keys of the tenant, and redact their events."""
    for row in await tx.fetch(QUERIES["working_sweep"], tx.scope.tenant_id, now):
        await tx.execute(QUERIES["working_redact"], row["plan_id"], row["key"])


async def _end(tx: Tx, plan_id: str, key: str, now: datetime) -> bool:
    """Delete an expired key and redact its events, so that the next write creates a new key."""
    which = (tx.scope.tenant_id, plan_id, key, now, tx.scope.user_id)
    if await tx.fetch_row(QUERIES["working_end"], *which) is None:
        return False
    await tx.execute(QUERIES["working_redact"], plan_id, key)
    return True


async def _check_app(tx: Tx, plan_id: str) -> None:
    """Raise ValidationFailedError if the shared state of an app is too large to be part of each of its transcripts."""
    if not plan_id.startswith(OF_AN_APP):
        return
    row = await tx.fetch_row(QUERIES["working_bytes"], tx.scope.tenant_id, plan_id, tx.scope.user_id)
    if row is not None and row["bytes"] > MAX_APP_BYTES:
        raise ValidationFailedError(
            f"shared_state: would be larger than {MAX_APP_BYTES >> 20} MiB in total for the app; set less, or remove"
            " keys"
        )


def _check_plan(tx: Tx, plan_id: str) -> None:
    """Raise ValidationFailedError outside of spaces for an id like those that rows of spaces have as stored."""
    if plan_id.startswith(SPACE_PREFIX) and not tx.scope.user_id.startswith(SPACE_PREFIX):
        raise ValidationFailedError(f"plan_id: must not begin with {SPACE_PREFIX!r}, which is reserved for spaces")


def item_from_row(row: Row) -> WorkingItem:
    values = dict(row)
    values["value"] = json.loads(values["value"])
    return WorkingItem.model_construct(id=f"{values['plan_id']}/{values['key']}", **values)


def _check_size(key: str, value: JsonValue) -> None:
    try:
        storable_json(value)
    except ValueError as error:
        raise ValidationFailedError(f"with this change the value of {key!r} {error}") from None


def _result(plan_id: str, path: Sequence[str], row: Row | None) -> AtomicResult:
    if row is None:
        raise AssertionError("an upsert returns a row")
    whole = ".".join((row["key"], *path))
    return AtomicResult.model_construct(
        plan_id=plan_id, path=whole, key=row["key"], value=json.loads(row["value"]), version=row["version"]
    )
