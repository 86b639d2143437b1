"""/v1/admin: keys, quotas, erasure, export, import."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response, StreamingResponse

from keeps.access.roles import require
from keeps.scope import Scope, check_id
from keeps.server.deps import Admin, Caller, Operator, Segment, answer, answers
from keeps.server.lean import LeanRoute, reads_its_body
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import ErasureReceipt, ImportSummary, KeyInfo, MadeKey, NewKey, Quota, TenantInfo

router = APIRouter(prefix="/v1/admin", tags=["administration"], route_class=LeanRoute)
KEYS, TENANTS = TypeAdapter(list[KeyInfo]), TypeAdapter(list[TenantInfo])
User = Annotated[str | None, Query(min_length=1, max_length=255, description="Only this user's data")]


@router.post("/keys", status_code=201, response_model=MadeKey)
async def make_key(new: NewKey, caller: Admin) -> Response:
    """Make a key. The answer holds the secret, which is shown this once."""
    return answer(await caller.services.keys.make(caller.scope, new), 201)


@router.get("/keys", response_model=list[KeyInfo])
async def list_keys(caller: Admin) -> Response:
    """The tenant's keys, newest first, without their secrets."""
    return answers(KEYS, await caller.services.keys.list(caller.scope))


@router.delete("/keys/{key_id:uuid}", response_model=KeyInfo)
async def revoke_key(key_id: UUID, caller: Admin, request: Request) -> Response:
    """Revoke a key: here at once, by other servers within 10 seconds."""
    revoked = await caller.services.keys.revoke(caller.scope, key_id)
    request.app.state.authenticator.forget_keys()
    return answer(revoked)


@router.delete("/users/{user_id}", response_model=ErasureReceipt)
async def erase_user(user_id: Segment, caller: Admin, request: Request) -> Response:
    """Erase a user of the tenant: rows, vectors, state, keys, and what the log says. The receipt is counted."""
    receipt = await caller.services.tenants.erase_user(caller.scope, user_id)
    request.app.state.authenticator.forget_keys()
    return answer(receipt)


@router.get("/tenants", response_model=list[TenantInfo])
async def list_tenants(
    caller: Operator,
    after: Annotated[str, Query(max_length=64)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """Tenants by id, with what they hold. For operators."""
    return answers(TENANTS, await caller.services.tenants.page(after, limit))


@router.put("/tenants/{tenant_id}", response_model=TenantInfo)
async def set_quota(tenant_id: Segment, quota: Quota, caller: Operator) -> Response:
    """Set what a tenant may hold. For operators."""
    return answer(await caller.services.tenants.set_quota(tenant_id, quota))


@router.delete("/tenants/{tenant_id}", response_model=ErasureReceipt)
async def erase_tenant(tenant_id: Segment, caller: Admin, request: Request) -> Response:
    """Erase one's own tenant, or as operator any: every row of every user, the log and the keys."""
    receipt = await caller.services.tenants.erase_tenant(_reachable(caller, tenant_id))
    request.app.state.authenticator.forget_keys()
    return answer(receipt)


@router.get("/export", response_class=StreamingResponse)
async def export(caller: Admin, user_id: User = None) -> StreamingResponse:
    """The tenant's data, or one user's, as JSON lines."""
    if user_id is not None:
        check_id("user_id", user_id)
    return StreamingResponse(caller.services.transfer.export(caller.scope, user_id), media_type="application/x-ndjson")


@router.post("/import", response_model=ImportSummary)
@reads_its_body
async def import_data(request: Request, caller: Admin) -> Response:
    """Store the JSON lines of an export in the tenant, with their ids. What is there already stays as it is."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in JSON_LINES:
        raise ValidationFailedError(f"the body must be JSON lines, with the header Content-Type: {JSON_LINES[0]}")
    body = await request.body()
    lines = body.decode("utf-8", errors="replace").split("\n")
    return answer(await caller.services.transfer.import_lines(caller.scope, lines))


JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/json")


def _reachable(caller: Caller, tenant_id: str) -> Scope:
    """The tenant as a scope: another than one's own only for operators; for others it is not there."""
    if tenant_id == caller.scope.tenant_id:
        return caller.scope
    try:
        require(caller.scope.roles, "operator")
    except Exception:  # noqa: BLE001
        raise NotFoundError(f"no tenant {tenant_id!r}") from None
    return Scope(tenant_id, caller.scope.user_id)
