"""tenants freeze, thaw and frozen: tenants whose rows are in bundles outside the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from keeps.doors.cli.cells import tenants
from keeps.doors.cli.command import Answer, command, print_table
from keeps.doors.cli.context import Target, err, out
from keeps.doors.cli.counts import counted
from keeps_client.errors import KeepsError, ValidationFailedError

if TYPE_CHECKING:
    from keeps.operate.freezing.freezing import Freeze

app = typer.Typer()
app.add_typer(tenants, name="tenants")
MOST_DAYS = 36_500
PERIODS = {"d": 1.0, "w": 7.0, "y": 365.0}


@command(tenants)
async def freeze(
    target: Target,
    tenant_id: Annotated[str | None, typer.Argument(help="Id of the tenant.")] = None,
    unused_for: Annotated[
        str | None, typer.Option(help="Instead of one tenant: all without a call for so long, such as 180d, 26w or 1y.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the tenants.")] = False,
    at_most: Annotated[int, typer.Option(help="Maximum number of tenants.", min=1, max=1_000_000)] = 1_000,
) -> Answer:
    """Move the rows of unused tenants to sealed bundles in KEEPS_FROZEN_STORE.

    Their next call brings them back. After an interruption, repeat the command.
    """
    from keeps.operate.freezing.service import FreezeService

    if (tenant_id is None) == (unused_for is None):
        raise ValidationFailedError("name one tenant, or give --unused-for")
    days = None if unused_for is None else days_of(unused_for)
    done: list[Freeze] = []
    failed: list[KeepsError] = []
    async with target.open() as keeps:
        service = keeps.service(FreezeService)
        if dry_run:
            if days is None:
                raise ValidationFailedError("--dry-run lists tenants: give --unused-for")
            unused = await service.unused(days, at_most)
            return Answer(
                [{"tenant_id": name, "used_at": used_at} for name, used_at in unused],
                lambda: print_table(["tenant", "last used"], [(name, f"{used:%F}") for name, used in unused]),
            )
        if tenant_id is not None:
            done.append(await service.freeze(tenant_id))
        elif days is not None:
            async for result in service.freeze_unused(days, at_most):
                if isinstance(result, KeepsError):
                    failed.append(result)
                    err.print(escape(result.detail))
                else:
                    done.append(result)
    rows, size = sum(result.rows for result in done), sum(result.bytes for result in done)
    text = f"froze {counted(len(done), 'tenant')}: {rows:,} rows in {size:,} bytes"
    return Answer(done, text, failed=bool(failed))


@command(tenants)
async def thaw(target: Target, tenant_id: Annotated[str, typer.Argument(help="Id of the tenant.")]) -> Answer:
    """Bring the rows of a frozen tenant back now, instead of at its next call."""
    from keeps.operate.freezing.service import FreezeService

    async with target.open() as keeps:
        tenant = await keeps.service(FreezeService).thaw(tenant_id)
    return Answer(tenant, f"tenant {tenant_id} is back: {tenant.held:,} rows")


@command(tenants)
async def frozen(target: Target) -> Answer:
    """List frozen tenants, and what an interrupted freeze or thaw has left. Exit code 1 if one has a problem."""
    from keeps.operate.freezing.service import FreezeService

    async with target.open() as keeps:
        listed = await keeps.service(FreezeService).all(check=True)

    def text() -> None:
        if not listed:
            out.print("[dim]No tenant is frozen. `keeps tenants freeze` freezes one.[/]")
            return
        rows = [
            (
                tenant.tenant_id or tenant.tenant_hash[:16],
                tenant.state,
                "" if tenant.frozen_at is None else f"{tenant.frozen_at:%F}",
                f"{tenant.held:,}",
                f"{tenant.bytes:,}",
                tenant.cell,
                tenant.problem or "",
            )
            for tenant in sorted(listed, key=lambda tenant: tenant.tenant_id or "")
        ]
        print_table(["tenant", "state", "since", "rows", "bytes", "cell", "problem"], rows)

    return Answer(listed, text, failed=any(tenant.problem for tenant in listed))


def days_of(text: str) -> float:
    """Return the days of a period such as 180d. Raises ValidationFailedError."""
    number, unit = text[:-1], text[-1:]
    if unit not in PERIODS or not number.isdecimal() or not 0 < int(number) * PERIODS[unit] <= MOST_DAYS:
        raise ValidationFailedError(f"--unused-for is {text!r}; write a number of days, weeks or years: 180d, 26w, 1y")
    return int(number) * PERIODS[unit]
