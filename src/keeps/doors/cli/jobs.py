"""worker, run-job, jobs, operations: background jobs, their queue and their results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from keeps.doors.cli.command import Answer, command, group, lines, table
from keeps.doors.cli.context import DatabaseUrl, Home, Target, err
from keeps.memory.jobs.worker import JobQueue, Worker
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.transfer.erasure import TenantService
from keeps_client.models.operations import JobName

if TYPE_CHECKING:
    from keeps.engine import Keeps
    from keeps_client import Memory
    from keeps_client.models import Operation
    from keeps_client.models.operations import OperationChange

app = typer.Typer()
operations = group()
jobs = group()
app.add_typer(operations, name="operations")
app.add_typer(jobs, name="jobs")
OperationId = Annotated[str, typer.Argument(help="The id that `keeps operations list` prints.")]


@command(app)
async def worker(
    at_once: Annotated[int, typer.Option(help="Number of jobs that run at once.", min=2, max=64)] = 4,
    metrics_port: Annotated[
        int | None, typer.Option(help="Serve /metrics for Prometheus on this port.", min=0, max=65535)
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="Address for --metrics-port.")] = "127.0.0.1",
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run background jobs until Ctrl-C.

    Sessions, promotion, decay, consolidation, expiry, the index. `keeps serve` runs them, too.
    """
    from keeps.base.settings import load_settings
    from keeps.base.telemetry.logs import configure_logs, log
    from keeps.doors.server.gauges import serving_metrics

    def report(text: str, event: str, **values: object) -> None:
        if err.is_terminal:
            err.print(text)
        else:
            log().info(event, **values)

    configure_logs(load_settings(home=home, database_url=database_url).log_level)
    async with Target(home, database_url, may_make=True).open() as keeps:
        running = keeps.service(Worker)
        running.at_once = at_once
        report(
            f"[bold green]Keeps works[/] on due jobs, {at_once} at a time; Ctrl-C stops it", "working", at_once=at_once
        )
        async with AsyncExitStack() as stack:
            if metrics_port is not None:
                port = await stack.enter_async_context(serving_metrics(keeps, metrics_host, metrics_port))
                address = f"http://{metrics_host}:{port}/metrics"
                report(f"metrics: {address}", "metrics", address=address)
            try:
                await running.run()
            except asyncio.CancelledError:
                await running.close()
    report(f"{running.done} jobs done", "stopped", jobs_done=running.done)


@command(app, "run-job")
async def run_job(
    keeps: Keeps,
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(get_args(JobName))}.")],
    tenant: Annotated[str | None, typer.Option(help="Only this tenant. Default: all.")] = None,
) -> Answer:
    """Run a job now, due or not, and print its result."""
    from keeps.memory.lifecycle.service import check_job

    check_job(name)
    done: list[Operation] = []
    tenants = 0
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed} users"))
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        async for tenant_id in _tenants(keeps, tenant):
            bar.update(task, description=f"{name} {tenant_id}")
            operation = await keeps.service(Lifecycle).run(
                tenant_id, name, progress=lambda users: bar.advance(task, users)
            )
            tenants += 1
            done += [operation] if operation else []
    changed = f"{len(done)} changed" if done else "nothing to do"
    summary = f"{name}: {tenants} tenant{'s' if tenants != 1 else ''}, {changed}"
    return Answer(done, "\n".join([*map(_line, done), summary]))


async def _tenants(keeps: Keeps, tenant: str | None) -> AsyncIterator[str]:
    if tenant is not None:
        yield tenant
        return
    after = ""
    while page := await keeps.service(TenantService).page(after, 1_000):
        for each in page:
            yield each.tenant_id
        after = page[-1].tenant_id


@command(operations, "list")
async def list_operations(
    memory: Memory,
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 200.")] = 20,
) -> Answer:
    """List the operations of background jobs in the tenant, newest first."""
    page = await memory.operations(job=job, limit=limit)
    empty = (
        "No job has changed anything yet. [dim]`keeps serve` and `keeps worker` run them; "
        "`keeps run-job decay` runs one now.[/]"
    )
    return lines(page.items, _line, empty=empty, value=page)


@command(operations)
async def show(memory: Memory, target: Target, operation_id: OperationId) -> Answer:
    """Show one operation, with its changes to your own memories."""

    def line(change: OperationChange) -> str:
        after = ", ".join(f"{name} → {value}" for name, value in change.after.items())
        return f"  [dim]{change.memory_id}[/]  {'made' if change.before is None else escape(after)}"

    detail = await memory.operation(operation_id)
    changes = [line(change) for change in detail.changes]
    nothing = f"[dim]It changed no memory of {target.user}; name another user with --user.[/]"
    return Answer(detail, "\n".join([_line(detail), *(changes or [nothing])]))


@command(operations)
async def undo(memory: Memory, operation_id: OperationId) -> Answer:
    """Undo an operation as a whole, for the whole tenant."""
    operation = await memory.undo(operation_id)
    return Answer(operation, _line(operation))


@command(jobs)
async def status(keeps: Keeps) -> Answer:
    """Show the number of waiting, running and failed jobs."""
    return table(
        await keeps.service(JobQueue).status(),
        ["job", "status", "jobs", "oldest"],
        lambda count: (count.job, count.status, count.jobs, f"{count.oldest:%Y-%m-%d %H:%M:%S}"),
        empty="The queue is empty.",
    )


@command(jobs)
async def held(keeps: Keeps) -> Answer:
    """List the dead letters: jobs that failed after all attempts."""
    dead = await keeps.service(JobQueue).held()
    return lines(
        dead,
        lambda job: (
            f"{job.id}  {job.job} of {job.tenant_id}, {job.attempts} attempts, last {job.failed_at:%Y-%m-%d %H:%M}"
        ),
        empty="No failed jobs.",
        note="Retry: keeps jobs retry ID, or --all. Errors: keeps operations list --tenant …" if dead else "",
    )


@command(jobs)
async def retry(
    keeps: Keeps,
    job_id: Annotated[int | None, typer.Argument(help="The id that `keeps jobs held` prints.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Retry all of them.")] = False,
) -> str:
    """Queue a dead letter again."""
    if (job_id is None) is not every:
        raise typer.BadParameter("give the id of a job or --all")
    return f"{await keeps.service(JobQueue).retry(job_id)} queued again"


def _line(operation: Operation) -> str:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in operation.counts.items()) or "nothing"
    colour = {"completed": "green", "failed": "red", "undone": "yellow", "running": "cyan"}[operation.status]
    undo = f"keeps operations undo {operation.operation_id} --tenant {operation.tenant_id}"
    undoable = f"  [dim]{undo}[/]" if operation.undoable else ""
    error = f"\n  {escape(operation.error)}" if operation.error else ""
    return (
        f"[dim]{operation.operation_id}[/]  {operation.started_at:%Y-%m-%d %H:%M}  {operation.job} "
        f" [{colour}]{operation.status}[/]: {counts}{undoable}{error}"
    )
