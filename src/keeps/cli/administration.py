"""keys and tenants: commands for administrators and operators."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from keeps.access.roles import ORDER
from keeps.cli.context import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Json, Target, err, out, print_json, run, targeted
from keeps.clock import utc_now
from keeps_client.errors import ValidationFailedError
from keeps_client.models import ErasureReceipt, KeyInfo, TenantInfo
from keeps_client.validation import given

keys_app = typer.Typer(help="API keys of a tenant: make, list, revoke.", no_args_is_help=True)
tenants_app = typer.Typer(help="Tenants: list, quota, erase; and erasure of a user.", no_args_is_help=True)
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    for command in (make, revoke):
        keys_app.command()(targeted(command))
    keys_app.command("list")(targeted(list_keys))
    for command in (quota, erase, erase_user):
        tenants_app.command()(targeted(command))
    tenants_app.command("list")(targeted(list_tenants))
    app.add_typer(keys_app, name="keys")
    app.add_typer(tenants_app, name="tenants")


def make(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    role: Annotated[
        list[str] | None, typer.Option(help="reader, writer, admin or operator; several times. Default: writer.")
    ] = None,
    for_user: Annotated[str | None, typer.Option(help="Only for this user; otherwise X-User-ID says for whom.")] = None,
    for_agent: Annotated[str | None, typer.Option(help="Only for this agent of the user.")] = None,
    days: Annotated[float | None, typer.Option(help="Ends after so many days; not given: never.", min=0.001)] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Make a key for the tenant (--tenant). The secret is printed only this once."""
    roles: Any = tuple(role or ("writer",))
    if for_user is None and target.user != DEFAULT_USER_ID and target.user != os.environ.get("KEEPS_USER_ID"):
        for_user = target.user  # who names a user, other than by the environment, means a key of theirs
    ends = None if days is None else utc_now() + timedelta(days=days)
    if unknown := [each for each in roles if each not in ORDER]:
        raise ValidationFailedError(f"{unknown[0]!r} is no role; take {', '.join(ORDER)}")

    async def work() -> None:
        tenant_id = None
        where = target
        if target.url and target.token and target.tenant != DEFAULT_TENANT_ID:
            # Named in the path, not as whose the credentials are: they may be an operator's.
            tenant_id, where = target.tenant, replace(target, tenant=DEFAULT_TENANT_ID)
        async with where.memory() as memory:
            key = await memory.admin.make_key(
                name, roles=roles, user_id=for_user, agent_id=for_agent, expires_at=ends, tenant_id=tenant_id
            )
        if as_json:
            print_json(key.model_dump(mode="json"))
            return
        err.print(
            f"key [bold]{key.key_id}[/] for tenant {key.tenant_id}, {_whose(key)}, {', '.join(key.roles)}; keep the"
            " secret, it is shown this once:",
            soft_wrap=True,
        )
        print(key.secret)

    run(work)


def list_keys(*, target: Target, as_json: Json = False) -> None:
    """List the tenant's keys, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            keys = await memory.admin.list_keys()
        if as_json:
            print_json([key.model_dump(mode="json") for key in keys])
            return
        if not keys:
            out.print("No keys. [dim]`keeps keys make NAME` makes one.[/]")
            return
        table = Table(Column("key", no_wrap=True), "name", "for", "roles", "last used", "state")
        for key in keys:
            used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"
            table.add_row(
                str(key.key_id), f"{key.name} …{key.hint}", _whose(key), ", ".join(key.roles), used, _state(key)
            )
        out.print(table)

    run(work)


def revoke(
    key_id: Annotated[str, typer.Argument(help="The id that `keeps keys list` prints.")],
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Revoke a key: refused everywhere within 10 seconds."""

    async def work() -> None:
        async with target.memory() as memory:
            key = await memory.admin.revoke_key(key_id)
        if as_json:
            print_json(key.model_dump(mode="json"))
        else:
            out.print(f"key {key.key_id} ({key.name}) is revoked")

    run(work)


def list_tenants(*, target: Target, as_json: Json = False) -> None:
    """List all tenants with their usage and limits."""

    async def work() -> None:
        tenants: list[Any] = []
        async with target.memory() as memory:
            while True:
                after = tenants[-1].tenant_id if tenants else ""
                page = await memory.admin.list_tenants(after=after, limit=1_000)
                tenants += page
                if len(page) < 1_000:
                    break
        if as_json:
            print_json([tenant.model_dump(mode="json") for tenant in tenants])
            return
        spread = len({tenant.cell for tenant in tenants}) > 1
        table = Table("tenant", "users", "memories", "bytes", "may hold", *(["cell"] if spread else []))
        for tenant in tenants:
            most = [f"{tenant.max_memories:,} memories"] if tenant.max_memories is not None else []
            most += [f"{tenant.max_bytes:,} bytes"] if tenant.max_bytes is not None else []
            table.add_row(
                tenant.tenant_id,
                f"{tenant.users:,}",
                f"{tenant.memories:,}",
                f"{tenant.bytes:,}",
                ", ".join(most) or "no limit",
                *([tenant.cell] if spread else []),
            )
        out.print(table)

    run(work)


def quota(
    tenant_id: Annotated[str, typer.Argument(help="Which tenant.")],
    max_memories: Annotated[int | None, typer.Option(help="At most so many memories.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="At most so many bytes.")] = None,
    no_limit: Annotated[bool, typer.Option("--no-limit", help="Remove both limits.")] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show or set a tenant's limits. Existing data stays."""
    limits: dict[str, int | None] = {**given(max_memories=max_memories, max_bytes=max_bytes)}
    if no_limit and limits:
        raise ValidationFailedError("--no-limit removes both limits: give it alone")
    if no_limit:
        limits = {"max_memories": None, "max_bytes": None}

    async def work() -> None:
        async with target.memory() as memory:
            info = await memory.admin.set_quota(tenant_id, **limits)
        if as_json:
            print_json(info.model_dump(mode="json"))
        else:
            out.print(
                f"tenant {info.tenant_id} holds {info.memories:,} memories, {info.bytes:,} bytes; may hold"
                f" {_most(info)}"
            )

    run(work)


def erase_user(
    user_id: Annotated[str, typer.Argument(help="Which user of the tenant (--tenant).")],
    yes: Yes = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Erase a user permanently: rows, vectors, state, keys, and the contents of events."""
    _sure(f"user {user_id} of tenant {target.tenant}", yes=yes)

    async def work() -> int:
        async with target.memory() as memory:
            receipt = await memory.admin.erase_user(user_id)
        return _print_receipt(receipt, as_json=as_json)

    run(work)


def erase(
    tenant_id: Annotated[str, typer.Argument(help="Which tenant.")],
    yes: Yes = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Erase a tenant permanently: every row of every user, the log and the keys."""
    _sure(f"tenant {tenant_id} with all its users", yes=yes)

    async def work() -> int:
        async with target.memory() as memory:
            receipt = await memory.admin.erase_tenant(tenant_id)
        return _print_receipt(receipt, as_json=as_json)

    run(work)


def _sure(what: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(f"Erase {what} for good?"):
        raise typer.Abort


def _whose(key: KeyInfo) -> str:
    return (f"user {key.user_id}" if key.user_id else "any user") + (f", agent {key.agent_id}" if key.agent_id else "")


def _state(key: KeyInfo) -> str:
    if key.revoked_at:
        return "revoked"
    if key.expires_at and key.expires_at <= utc_now():
        return "ended"
    return f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "good"


def _most(info: TenantInfo) -> str:
    most = [f"{info.max_memories:,} memories"] if info.max_memories is not None else []
    most += [f"{info.max_bytes:,} bytes"] if info.max_bytes is not None else []
    return ", ".join(most) or "no limit"


def _print_receipt(receipt: ErasureReceipt, *, as_json: bool) -> int:
    if as_json:
        print_json(receipt.model_dump(mode="json"))
    else:
        whose = (
            f"user {receipt.user_id} of tenant {receipt.tenant_id}"
            if receipt.user_id
            else f"tenant {receipt.tenant_id}"
        )
        table = Table("table", "removed", "left", title=f"erased: {whose}")
        for name, count in receipt.removed.items():
            table.add_row(name, f"{count:,}", f"{receipt.remaining.get(name, 0):,}")
        out.print(table)
        out.print(
            f"{receipt.events_redacted:,} events redacted; "
            + ("[green]nothing is left[/]" if receipt.complete else "[red]not complete[/]")
        )
    return 0 if receipt.complete else 1
