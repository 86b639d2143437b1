"""API keys, erasure, tenants: the models of administration."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import MAX_CHOSEN, Id, Text, UtcTime, Wire
from keeps_client.models.memories import Kind, Label
from keeps_client.models.names import Namespace, SpaceName
from keeps_client.models.proof import Certificate

RoleName = Literal["reader", "writer", "admin", "operator"]


class KeyLimits(Wire):
    """The limits of a key beside its roles. The database enforces them.

    `access`: "read" stores nothing; "append" adds memories and sees nothing. `spaces`: works in these spaces only, as
    far as its user is a member. `namespaces`, `kinds`: sees and stores only memories with one of these, and nothing
    else.
    """

    access: Literal["read", "append"] | None = None
    spaces: Annotated[tuple[SpaceName, ...], Field(min_length=1, max_length=MAX_CHOSEN)] | None = None
    namespaces: Annotated[tuple[Namespace, ...], Field(min_length=1, max_length=MAX_CHOSEN)] | None = None
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1, max_length=3)] | None = None


class NewKey(Wire):
    """A key to create. Without `user_id`, it may act for any user of the tenant; each call names the user with
    `X-User-ID`.
    """

    name: Label
    user_id: Label | None = None
    agent_id: Label | None = None
    roles: Annotated[tuple[RoleName, ...], Field(fail_fast=True, min_length=1, max_length=4)] = ("writer",)
    limits: KeyLimits | None = None
    expires_at: UtcTime | None = None


class KeyInfo(Wire):
    """A key as it is listed: never the secret, only its last characters as `hint`."""

    key_id: UUID
    tenant_id: str
    name: str
    user_id: str | None = None
    agent_id: str | None = None
    roles: tuple[RoleName, ...]
    limits: KeyLimits | None = None
    hint: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class MadeKey(KeyInfo):
    """A new key with its secret, which is shown only once."""

    secret: str = Field(repr=False)


class ErasureReceipt(Wire):
    """The result of an erasure: removed rows by table, and `remaining`, counted afterwards.

    `certificate`: a signed statement of it, where the installation has a key to sign with.
    """

    tenant_id: str
    user_id: str | None = None
    removed: dict[str, int]
    events_redacted: int
    remaining: dict[str, int]
    complete: bool
    erased_at: datetime
    certificate: Certificate | None = None


class TenantInfo(Wire):
    """A tenant with its usage and limits; None: no limit."""

    tenant_id: str
    users: int
    memories: int
    bytes: int
    max_memories: int | None = None
    max_bytes: int | None = None
    created_at: datetime
    cell: str = "main"
    """The cell that has its rows, if there are several PostgreSQL servers."""
    state: Literal["active", "frozen"] = "active"
    """`frozen`: its rows are in a bundle outside the database until its next call; numbers are of that time."""


class Quota(Wire):
    """The limits of a tenant. An omitted limit stays; None: no limit."""

    max_memories: Annotated[int, Field(ge=0, le=2**62)] | None = None
    max_bytes: Annotated[int, Field(ge=0, le=2**62)] | None = None


class ImportSummary(Wire):
    """The result of an import, by lines.

    `unchanged`: lines that are already stored; `differs`: lines whose stored values differ and stay.
    """

    stored: int
    unchanged: int
    differs: int = 0
    failed: int
    errors: list[str]


class KeyId(Wire):
    key_id: UUID


class UserId(Wire):
    user_id: Id


class TenantId(Wire):
    tenant_id: Id


class TenantUserId(Wire):
    tenant_id: Id
    user_id: Id


class TenantKeyId(Wire):
    tenant_id: Id
    key_id: UUID


class TenantUsersQuery(Wire):
    tenant_id: Id
    after: Annotated[Text, Field(max_length=255)] = ""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000


class TenantQuery(Wire):
    after: Annotated[Text, Field(max_length=64)] = ""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


MAKE_KEY = Endpoint(
    "make_key",
    "POST",
    "/v1/admin/keys",
    "admin",
    "administration",
    MadeKey,
    "Create a key. The answer contains the secret, which is shown only once.",
    body=NewKey,
    status=201,
    repeatable=False,
)
MAKE_TENANT_KEY = Endpoint(
    "make_tenant_key",
    "POST",
    "/v1/admin/tenants/{tenant_id}/keys",
    "admin",
    "administration",
    MadeKey,
    "Create a key of your own tenant. Operators can create one for any tenant, including the first of a new one.",
    params=TenantId,
    body=NewKey,
    status=201,
    repeatable=False,
)
LIST_KEYS = Endpoint(
    "list_keys",
    "GET",
    "/v1/admin/keys",
    "admin",
    "administration",
    list[KeyInfo],
    "List the tenant's keys, newest first, without their secrets.",
)
REVOKE_KEY = Endpoint(
    "revoke_key",
    "DELETE",
    "/v1/admin/keys/{key_id}",
    "admin",
    "administration",
    KeyInfo,
    "Revoke a key: immediately on this server, within 10 seconds on others.",
    params=KeyId,
)
LIST_TENANT_KEYS = Endpoint(
    "list_tenant_keys",
    "GET",
    "/v1/admin/tenants/{tenant_id}/keys",
    "admin",
    "administration",
    list[KeyInfo],
    "List the keys of your own tenant, or of any tenant as operator, newest first, without their secrets.",
    params=TenantId,
)
REVOKE_TENANT_KEY = Endpoint(
    "revoke_tenant_key",
    "DELETE",
    "/v1/admin/tenants/{tenant_id}/keys/{key_id}",
    "admin",
    "administration",
    KeyInfo,
    "Revoke a key of your own tenant, or of any tenant as operator.",
    params=TenantKeyId,
)
LIST_TENANT_USERS = Endpoint(
    "list_tenant_users",
    "GET",
    "/v1/admin/tenants/{tenant_id}/users",
    "admin",
    "administration",
    list[str],
    "List the users of your own tenant, or of any tenant as operator, by id. `after`: the last user of the previous"
    " page.",
    params=TenantUsersQuery,
)
ERASE_TENANT_USER = Endpoint(
    "erase_tenant_user",
    "DELETE",
    "/v1/admin/tenants/{tenant_id}/users/{user_id}",
    "admin",
    "administration",
    ErasureReceipt,
    "Erase a user of your own tenant, or of any tenant as operator, as `DELETE /v1/admin/users/{user_id}` does.",
    params=TenantUserId,
    repeatable=False,
)
ERASE_USER = Endpoint(
    "erase_user",
    "DELETE",
    "/v1/admin/users/{user_id}",
    "admin",
    "administration",
    ErasureReceipt,
    "Erase a user of the tenant: rows, vectors, state, keys, and the contents of events. Returns a counted receipt.",
    params=UserId,
    repeatable=False,
)
LIST_TENANTS = Endpoint(
    "list_tenants",
    "GET",
    "/v1/admin/tenants",
    "operator",
    "administration",
    list[TenantInfo],
    "List tenants by id, with their usage. For operators.",
    params=TenantQuery,
)
SET_QUOTA = Endpoint(
    "set_quota",
    "PUT",
    "/v1/admin/tenants/{tenant_id}",
    "operator",
    "administration",
    TenantInfo,
    "Set the quota of a tenant. For operators.",
    params=TenantId,
    body=Quota,
)
ERASE_TENANT = Endpoint(
    "erase_tenant",
    "DELETE",
    "/v1/admin/tenants/{tenant_id}",
    "admin",
    "administration",
    ErasureReceipt,
    "Erase your own tenant, or any tenant as operator: every row of every user, the log and the keys.",
    params=TenantId,
    repeatable=False,
)
