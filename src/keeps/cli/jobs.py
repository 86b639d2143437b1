"""worker, run-job, jobs, operations: background jobs, their queue and their results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from keeps.cli.context import DatabaseUrl, Home, Json, Target, err, out, print_json, run, targeted
from keeps.jobs.worker import JobQueue, Worker
from keeps.lifecycle.service import Lifecycle
from keeps.transfer.erasure import TenantService
from keeps_client.models import Operation
from keeps_client.models.operations import JobName

if TYPE_CHECKING:
    from keeps.engine import Keeps


operations_app = typer.Typer(help="What background jobs did to a tenant: list, show, undo.", no_args_is_help=True)
jobs_app = typer.Typer(help="The worker's queue: what waits, dead letters, retry.", no_args_is_help=True)
OperationId = Annotated[str, typer.Argument(help="The id that `keeps operations list` prints.")]


def register(app: typer.Typer) -> None:
    app.command()(worker)
    app.command("run-job")(run_job)
    for command in (show, undo):
        operations_app.command()(targeted(command))
    operations_app.command("list")(targeted(list_operations))
    for command in (status, held, retry):
        jobs_app.command()(command)
    app.add_typer(operations_app, name="operations")
    app.add_typer(jobs_app, name="jobs")


def worker(
    at_once: Annotated[int, typer.Option(help="How many jobs at once.", min=2, max=64)] = 4,
    metrics_port: Annotated[
        int | None, typer.Option(help="Serve /metrics for Prometheus on this port.", min=0, max=65535)
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="The address of --metrics-port.")] = "127.0.0.1",
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run background jobs until Ctrl-C: sessions, promotion, decay, consolidation, expiry, the index.

    `keeps serve` runs them,
    too.
    """

    async def work() -> None:
        from keeps.server.gauges import serving_metrics
        from keeps.settings import load_settings
        from keeps.telemetry.logs import configure_logs, log

        def said(text: str, event: str, **values: object) -> None:
            if err.is_terminal:
                err.print(text)
            else:
                log().info(event, **values)

        configure_logs(load_settings(home=home, database_url=database_url).log_level)
        async with Target(home, database_url, may_make=True).open() as keeps:
            chosen = keeps.service(Worker)
            chosen.at_once = at_once
            said(f"[bold green]Keeps works[/] on due jobs, {at_once} at once; Ctrl-C ends", "working", at_once=at_once)
            async with AsyncExitStack() as stack:
                if metrics_port is not None:
                    port = await stack.enter_async_context(serving_metrics(keeps, metrics_host, metrics_port))
                    address = f"http://{metrics_host}:{port}/metrics"
                    said(f"metrics: {address}", "metrics", address=address)
                try:
                    await chosen.run()
                except asyncio.CancelledError:
                    await chosen.close()
        said(f"{chosen.done} jobs done", "stopped", jobs_done=chosen.done)

    run(work)


def run_job(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(get_args(JobName))}.")],
    tenant: Annotated[str | None, typer.Option(help="Only this tenant. Default: all.")] = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Run a job now, due or not, and print its result."""

    async def work() -> None:
        from keeps.lifecycle.service import check_job

        check_job(name)
        done: list[Operation] = []
        tenants = 0
        async with Target(home, database_url).open() as keeps:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TextColumn("{task.completed} users"),
                TimeElapsedColumn(),
            )
            with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
                task = bar.add_task(name, total=None)
                async for tenant_id in _tenants(keeps, tenant):
                    bar.update(task, description=f"{name} {tenant_id}")
                    made = await keeps.service(Lifecycle).run(
                        tenant_id, name, progress=lambda users: bar.advance(task, users)
                    )
                    tenants += 1
                    done += [made] if made else []
        if as_json:
            print_json([each.model_dump(mode="json") for each in done])
            return
        for each in done:
            _print_operation(each)
        out.print(
            f"{name}: {tenants} tenant{'s' if tenants != 1 else ''},"
            f" {'nothing to do' if not done else f'{len(done)} changed'}"
        )

    run(work)


async def _tenants(keeps: Keeps, tenant: str | None) -> AsyncIterator[str]:
    if tenant is not None:
        yield tenant
        return
    after = ""
    while page := await keeps.service(TenantService).page(after, 1_000):
        for each in page:
            yield each.tenant_id
        after = page[-1].tenant_id


def list_operations(
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 200.")] = 20,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List the operations of background jobs in the tenant, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            page = await memory.operations(job=job, limit=limit)
        if as_json:
            print_json(page.model_dump(mode="json"))
            return
        if not page.items:
            out.print(
                "No job has changed anything yet. [dim]They run by `keeps serve` or `keeps worker`; one now: keeps"
                " run-job decay[/]"
            )
        for each in page.items:
            _print_operation(each)

    run(work)


def show(operation_id: OperationId, *, target: Target, as_json: Json = False) -> None:
    """Show one operation, with its changes to your own memories."""

    async def work() -> None:
        async with target.memory() as memory:
            detail = await memory.operation(operation_id)
            if as_json:
                print_json(detail.model_dump(mode="json"))
                return
            _print_operation(detail)
            for change in detail.changes:
                said = ", ".join(f"{name} → {value}" for name, value in change.after.items())
                out.print(f"  [dim]{change.memory_id}[/]  {'made' if change.before is None else said}", highlight=False)
            if not detail.changes:
                out.print(f"[dim]It changed nothing of {target.user}; --user names another.[/]")

    run(work)


def undo(operation_id: OperationId, *, target: Target, as_json: Json = False) -> None:
    """Undo an operation for the whole tenant, as one."""

    async def work() -> None:
        async with target.memory() as memory:
            done = await memory.undo(operation_id)
        if as_json:
            print_json(done.model_dump(mode="json"))
        else:
            _print_operation(done)

    run(work)


def status(home: Home = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Show the number of jobs that wait, run, and were given up."""

    async def work() -> None:
        async with Target(home, database_url).open() as keeps:
            counts = await keeps.service(JobQueue).status()
        if as_json:
            print_json([count.model_dump(mode="json") for count in counts])
            return
        if not counts:
            out.print("The queue is empty.")
            return
        table = Table("job", "status", "jobs", "oldest")
        for count in counts:
            table.add_row(count.job, count.status, str(count.jobs), f"{count.oldest:%Y-%m-%d %H:%M:%S}")
        out.print(table)

    run(work)


def held(home: Home = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """List the dead letters: jobs that failed after all attempts."""

    async def work() -> None:
        async with Target(home, database_url).open() as keeps:
            jobs = await keeps.service(JobQueue).held()
        if as_json:
            print_json([job.model_dump(mode="json") for job in jobs])
            return
        for job in jobs:
            out.print(
                f"{job.id}  {job.job} of {job.tenant_id}, {job.attempts} attempts, last {job.failed_at:%Y-%m-%d %H:%M}",
                highlight=False,
            )
        out.print(
            "None is held."
            if not jobs
            else "[dim]Again: keeps jobs retry ID, or --all; why: keeps operations list --tenant …[/]"
        )

    run(work)


def retry(
    job_id: Annotated[int | None, typer.Argument(help="The id that `keeps jobs held` prints.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Queue a dead letter again."""
    if (job_id is None) is not every:
        raise typer.BadParameter("give the id of a job, or --all")

    async def work() -> None:
        async with Target(home, database_url).open() as keeps:
            out.print(f"{await keeps.service(JobQueue).retry(job_id)} queued again")

    run(work)


def _print_operation(operation: Operation) -> None:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in operation.counts.items()) or "nothing"
    colour = {"completed": "green", "failed": "red", "undone": "yellow", "running": "cyan"}[operation.status]
    undo = f"keeps operations undo {operation.operation_id} --tenant {operation.tenant_id}"
    undoable = f"  [dim]{undo}[/]" if operation.undoable else ""
    out.print(
        f"[dim]{operation.operation_id}[/]  {operation.started_at:%Y-%m-%d %H:%M}  {operation.job} "
        f" [{colour}]{operation.status}[/]: {counts}{undoable}",
        highlight=False,
        soft_wrap=True,
    )
    if operation.error:
        out.print(f"  {operation.error}", markup=False, highlight=False)
