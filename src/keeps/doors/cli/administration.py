"""keys and tenants: commands for administrators and operators."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from keeps.base.clock import utc_now
from keeps.base.scope import space_of
from keeps.doors.cli.command import Answer, command, group, lines, print_table, table
from keeps.doors.cli.context import DEFAULT_USER_ID, Target, err, out
from keeps.store.access.roles import ORDER
from keeps_client.errors import ConflictError, ValidationFailedError
from keeps_client.validation import given

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import ErasureReceipt, KeyInfo, TenantInfo

PAGE = 1_000
app = typer.Typer()
keys = group()
tenants = group()
app.add_typer(keys, name="keys")
app.add_typer(tenants, name="tenants")
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", help="Write a signed certificate of the erasure to this new file."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def check_roles(roles: list[str]) -> None:
    """Raise ValidationFailedError for a role that does not exist."""
    if unknown := [role for role in roles if role not in ORDER]:
        raise ValidationFailedError(f"{unknown[0]!r} is not a role; choose from {', '.join(ORDER)}")


@command(keys, may_make=True)
async def create(
    target: Target,
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    role: Annotated[
        list[str] | None, typer.Option(help="reader, writer, admin or operator; several times. Default: writer.")
    ] = None,
    for_user: Annotated[
        str | None, typer.Option(help="Only for this user. Without it, X-User-ID names the user.")
    ] = None,
    for_agent: Annotated[str | None, typer.Option(help="Only for this agent of the user.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="It stores nothing.")] = False,
    append_only: Annotated[bool, typer.Option("--append-only", help="It adds memories and sees nothing.")] = False,
    space: Annotated[
        list[str] | None, typer.Option(help="It works in this space only; several times for several spaces.")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="It sees and stores memories of this namespace only; several times.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="It sees and stores semantic, episodic or procedural memories only.")
    ] = None,
    days: Annotated[float | None, typer.Option(help="Days until it expires. Default: never.", min=0.001)] = None,
) -> Answer:
    """Create a key for the tenant (--tenant). The secret is printed only this once."""
    roles: Any = role or ["writer"]
    check_roles(roles)
    if for_user is None and target.user != DEFAULT_USER_ID and target.user != os.environ.get("KEEPS_USER_ID"):
        for_user = target.user  # a user named by --user, not by the environment, is whom the key is for
    if read_only and append_only:
        raise ValidationFailedError("--read-only and --append-only exclude each other")
    access = "read" if read_only else "append" if append_only else None
    limits = given(access=access, spaces=space or None, namespaces=namespace or None, kinds=kind or None)
    ends = None if days is None else utc_now() + timedelta(days=days)
    tenant_id, target = target.by_path()
    async with target.memory() as memory:
        key = await memory.admin.make_key(
            name,
            roles=tuple(roles),
            user_id=for_user,
            agent_id=for_agent,
            limits=limits or None,
            expires_at=ends,
            tenant_id=tenant_id,
        )

    def text() -> None:
        err.print(
            f"key [bold]{key.key_id}[/] for tenant {key.tenant_id}, {_owner(key)}, {_may(key)}; store this"
            " secret now, it is not shown again:"
        )
        print(key.secret)

    return Answer(key, text)


@command(keys, "list")
async def list_keys(target: Target) -> Answer:
    """List the tenant's keys, newest first."""
    tenant_id, target = target.by_path()
    async with target.memory() as memory:
        keys = await memory.admin.list_keys(tenant_id=tenant_id)
    return table(
        keys,
        ["key", "name", "for", "may", "last used", "state"],
        lambda key: (
            key.key_id,
            f"{key.name} …{key.hint}",
            _owner(key),
            _may(key),
            f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
            _state(key),
        ),
        empty="No keys. [dim]`keeps keys create NAME` makes one.[/]",
    )


@command(keys)
async def revoke(
    target: Target, key_id: Annotated[str, typer.Argument(help="The id that `keeps keys list` prints.")]
) -> Answer:
    """Revoke a key: refused everywhere within 10 seconds."""
    tenant_id, target = target.by_path()
    async with target.memory() as memory:
        key = await memory.admin.revoke_key(key_id, tenant_id=tenant_id)
    return Answer(key, f"key {key.key_id} ({key.name}) is revoked")


@command(tenants, "list")
async def list_tenants(memory: Memory) -> Answer:
    """List all tenants with their usage and limits."""
    listed: list[TenantInfo] = []
    while page := await memory.admin.list_tenants(after=listed[-1].tenant_id if listed else "", limit=PAGE):
        listed += page
        if len(page) < PAGE:
            break
    several_cells = len({tenant.cell for tenant in listed}) > 1
    some_frozen = any(tenant.state == "frozen" for tenant in listed)
    return table(
        listed,
        [
            "tenant",
            "users",
            "memories",
            "bytes",
            "limit",
            *(["cell"] if several_cells else []),
            *(["state"] if some_frozen else []),
        ],
        lambda tenant: (
            tenant.tenant_id,
            f"{tenant.users:,}",
            f"{tenant.memories:,}",
            f"{tenant.bytes:,}",
            _limits(tenant),
            *([tenant.cell] if several_cells else []),
            *([tenant.state] if some_frozen else []),
        ),
    )


@command(tenants, "users")
async def list_users(target: Target) -> Answer:
    """List the users of a tenant (--tenant), by name."""
    tenant, (_, target) = target.tenant, target.by_path()
    users: list[str] = []
    async with target.memory() as memory:
        while page := await memory.admin.list_users(tenant, after=users[-1] if users else "", limit=PAGE):
            users += page
            if len(page) < PAGE:
                break
    return lines(
        users, escape, empty=f"No users in tenant {escape(tenant)}. [dim]`keeps tenants list` lists the tenants.[/]"
    )


@command(tenants)
async def quota(
    target: Target,
    tenant_id: Annotated[str, typer.Argument(help="Id of the tenant.")],
    max_memories: Annotated[int | None, typer.Option(help="Maximum number of memories.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Maximum number of bytes.")] = None,
    no_limit: Annotated[bool, typer.Option("--no-limit", help="Remove both limits.")] = False,
) -> Answer:
    """Show or set a tenant's limits. Existing data stays."""
    limits: dict[str, int | None] = {**given(max_memories=max_memories, max_bytes=max_bytes)}
    if no_limit and limits:
        raise ValidationFailedError("--no-limit removes both limits; do not combine it with other limits")
    if no_limit:
        limits = {"max_memories": None, "max_bytes": None}
    async with target.memory() as memory:
        info = await memory.admin.set_quota(tenant_id, **limits)
    return Answer(
        info,
        f"tenant {info.tenant_id} holds {info.memories:,} memories, {info.bytes:,} bytes; limit: {_limits(info)}",
    )


@command(tenants)
async def erase_user(
    target: Target,
    user_id: Annotated[str, typer.Argument(help="Id of the user (of the tenant in --tenant).")],
    yes: Yes = False,
    certificate: CertificateFile = None,
) -> Answer:
    """Erase a user permanently: rows, vectors, state, keys, and the contents of events."""
    confirm(f"user {user_id} of tenant {target.tenant}", yes=yes)
    tenant_id, target = target.by_path()
    async with target.memory() as memory:
        await _check_certificate(memory, certificate)
        receipt = await memory.admin.erase_user(user_id, tenant_id=tenant_id)
    await target.end_background()
    return erased(receipt, certificate)


@command(tenants)
async def erase(
    target: Target,
    tenant_id: Annotated[str, typer.Argument(help="Id of the tenant.")],
    yes: Yes = False,
    certificate: CertificateFile = None,
) -> Answer:
    """Erase a tenant permanently: every row of every user, the log and the keys."""
    confirm(f"tenant {tenant_id} with all its users", yes=yes)
    async with target.memory() as memory:
        await _check_certificate(memory, certificate)
        receipt = await memory.admin.erase_tenant(tenant_id)
    await target.end_background()
    return erased(receipt, certificate)


async def _check_certificate(memory: Memory, path: Path | None) -> None:
    """Raise an error before the erasure, which cannot be repeated, if no certificate could be written."""
    if path is not None:
        await memory.admin.get_certificate_key()
        _reserve(path)


def _reserve(path: Path) -> None:
    """Make the file of a certificate, empty. Raises ConflictError if it exists."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise ConflictError(f"{path} already exists; choose another file for the certificate") from None


def confirm(what: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(f"Erase {what} for good?"):
        raise typer.Abort


def _may(key: KeyInfo) -> str:
    """Return the roles of a key, and its limits."""
    limits = {} if key.limits is None else key.limits.model_dump(exclude_none=True)
    access = {"read": "reads only", "append": "adds only"}.get(limits.pop("access", ""), "")
    only = [f"only {name} {', '.join(names)}" for name, names in limits.items()]
    return "; ".join([", ".join(key.roles), *([access] if access else []), *only])


def _owner(key: KeyInfo) -> str:
    return (f"user {key.user_id}" if key.user_id else "any user") + (f", agent {key.agent_id}" if key.agent_id else "")


def _state(key: KeyInfo) -> str:
    if key.revoked_at:
        return "revoked"
    if key.expires_at and key.expires_at <= utc_now():
        return "ended"
    return f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "good"


def _limits(info: TenantInfo) -> str:
    limits = [f"{info.max_memories:,} memories"] if info.max_memories is not None else []
    limits += [f"{info.max_bytes:,} bytes"] if info.max_bytes is not None else []
    return ", ".join(limits) or "no limit"


def erased(receipt: ErasureReceipt, certificate: Path | None = None) -> Answer:
    if certificate is not None and receipt.certificate is not None:
        certificate.write_text(receipt.certificate.model_dump_json(indent=1) + "\n", encoding="utf-8")

    def text() -> None:
        space_id = space_of(receipt.user_id) if receipt.user_id else None
        owner = f"user {receipt.user_id}" if space_id is None else f"space {space_id}"
        user = f"{owner} of " if receipt.user_id else ""
        out.print(f"erased: {user}tenant {receipt.tenant_id}")
        rows = [(name, f"{count:,}", f"{receipt.remaining.get(name, 0):,}") for name, count in receipt.removed.items()]
        print_table(["table", "removed", "left"], rows)
        rest = "[green]nothing is left[/]" if receipt.complete else "[red]not complete[/]"
        out.print(f"{receipt.events_redacted:,} events redacted; {rest}")

    return Answer(receipt, text, failed=not receipt.complete)
