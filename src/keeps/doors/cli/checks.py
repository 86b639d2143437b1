"""The checks of `keeps doctor`: each returns one result, with advice on how to fix it."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import psutil

from keeps.base.clock import utc_now
from keeps.base.scope import JOB_USER_ID, Scope
from keeps.base.settings import Settings
from keeps.doors.cli.counts import counted
from keeps.memory.providers.service import ProviderService
from keeps.memory.transfer.erasure import TenantService
from keeps.sources.databases.service import DatabaseService
from keeps.store.tenants.counts import TenantCounts
from keeps_client.errors import KeepsError

if TYPE_CHECKING:
    from keeps.engine import Keeps
    from keeps.store.db.shards import Shards

WAITING = timedelta(minutes=3)
"""Age of a log segment in the home at which something keeps it from the backups."""
FAR_BEHIND = 64 << 20
TENANTS_AT_ONCE = 500
State = Literal["ok", "note", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    """One result. `note` means no fault, but worth knowing."""

    name: str
    state: State
    finding: str


async def run_checks(settings: Settings, *, counts: bool = False) -> list[Check]:
    """Run all checks, in the order of their dependencies.

    Nothing is written except by opening a home, and by `counts`, which corrects counters.
    """
    checks = [_python()]
    if settings.database_url is None:
        checks += _embedded(settings)
    checks += [await _sandbox(), _model(settings), *await _reranker(settings)]
    if any(check.state == "failed" for check in checks if check.name not in ("sandbox", "model", "reranker")):
        return checks
    return checks + await _database(settings, counts=counts)


def _python() -> Check:
    return Check(
        "python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, user {os.geteuid()}"
    )


def _embedded(settings: Settings) -> list[Check]:
    from keeps.store.db.embedded import inspect_home

    try:
        report = inspect_home(settings.home)
    except KeepsError as error:
        return [Check("home", "failed", error.detail)]
    checks: list[Check] = []
    state = "running" if report.running_pid else "not running" if report.exists else "nothing stored yet"
    checks.append(
        Check(
            "home",
            "ok",
            f"{report.home}: {state}"
            + (
                f", process {report.running_pid}, used by {report.lease_pids or 'nobody'}" if report.running_pid else ""
            ),
        )
    )
    checks.append(Check("programs", "ok", f"PostgreSQL from {report.binaries}, as user {report.run_user}"))
    checks += [Check("home", "note", note) for note in report.notes]
    if report.running_pid and not report.lease_pids:
        checks.append(
            Check(
                "server",
                "note",
                "still running although its last process was killed. The next command that opens this home uses it"
                " again",
            )
        )
    checks += _backups(report.home, report.data.parent, report.running_pid)
    folder = next((each for each in (report.data, *report.data.parents) if each.exists()), Path("/"))
    free = shutil.disk_usage(folder).free
    if free < 1 << 30:
        checks.append(
            Check(
                "disk",
                "failed" if free < 100 << 20 else "note",
                f"only {free >> 20} MiB free for {report.data}; free some space",
            )
        )
    else:
        checks.append(Check("disk", "ok", f"{free / 2**30:.0f} GiB free"))
    return checks


async def _sandbox() -> Check:
    """Start a process that confines itself like those that read documents and ask databases."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-m", "keeps.base.sandbox.limits", stdout=asyncio.subprocess.PIPE, env={}, cwd="/"
    )
    output, _ = await process.communicate()
    return sandbox_check(json.loads(output or "{}"))


def sandbox_check(walls: dict[str, Any]) -> Check:
    """Report which kernel protections confine documents and databases, and what is open without the others."""
    if "seccomp" not in walls:
        return Check(
            "sandbox", "failed", f"documents and databases cannot be used: {walls.get('refused', 'no answer')}"
        )
    standing = [name for name in ("namespaces", "landlock", "seccomp") if walls[name]]
    missing = {
        "landlock": "no Landlock: a compromised parser or SQLite can read files (needs Linux 5.13)",
        "seccomp": "no seccomp: it can send signals, and a database process can reach more of the network",
    }
    lacking = [text for name, text in missing.items() if name not in standing]
    if "namespaces" not in standing and "seccomp" not in standing:
        lacking.insert(0, "a compromised parser can use the network, which Keeps blocks on Linux only")
    around = f"{', '.join(standing) or 'memory and time limits'} for documents and databases"
    return Check("sandbox", "note" if lacking else "ok", "; ".join([around, *lacking]))


def _model(settings: Settings) -> Check:
    from keeps.models.artifacts import find_model, read_tokenizer

    match settings.embedder:
        case "none":
            return Check("model", "note", "KEEPS_EMBEDDER=none: recall matches words, not meaning")
        case "openai":
            if (
                not settings.embedding_api_key
                and not settings.embedding_base_url
                and not os.environ.get("OPENAI_API_KEY")
            ):
                return Check(
                    "model",
                    "failed",
                    "KEEPS_EMBEDDER=openai needs KEEPS_EMBEDDING_API_KEY or OPENAI_API_KEY, or KEEPS_EMBEDDING_BASE_URL"
                    " for a server of your own",
                )
            return Check(
                "model", "ok", f"{settings.embedding_model} at {settings.embedding_base_url or 'the default URL'}"
            )
        case "local":
            try:
                path = find_model(settings.model_dir)
                read_tokenizer()
            except KeepsError as error:
                return Check("model", "failed", error.detail)
            return Check("model", "ok", f"all-MiniLM-L6-v2 from {path}, checksum OK")
        case named:
            from keeps.models.local import embedder_of

            try:
                return Check("model", "ok", f"{embedder_of(named, settings.home / 'models').model} ({named})")
            except KeepsError as error:
                return Check("model", "failed", error.detail)


async def _reranker(settings: Settings) -> list[Check]:
    from keeps.bootstrap import choose_reranker

    try:
        chosen = choose_reranker(settings)
        if chosen is None:
            return []
        try:
            await chosen.scores("tea?", ["tea"])
        finally:
            await chosen.close()
    except KeepsError as error:
        return [Check("reranker", "failed", error.detail)]
    return [Check("reranker", "ok", f"{chosen.model} ({settings.reranker})")]


def _backups(home: Path, place: Path, server_pid: int | None) -> list[Check]:
    from keeps.operate.backups.making import Plan
    from keeps.operate.backups.state import Verification

    try:
        plan = Plan.of(home)
        if plan is None:
            return [Check("backups", "note", "not turned on; run `keeps backup on FOLDER`, then `keeps backup create`")]
        made = plan.opened().backups()
    except (KeepsError, OSError, ValueError) as error:
        return [
            Check(
                "backups", "failed", f"folder cannot be read: {error}; fix it, or choose another with `keeps backup on`"
            )
        ]
    if problems := _log_of_backups(home, place, plan.folder, server_pid):
        return problems
    if not made:
        return [Check("backups", "note", f"no backup in {plan.folder} yet; run `keeps backup create`")]
    age = utc_now() - made[-1].ended_at
    state: State = "note" if age > timedelta(days=2) else "ok"
    newest = f"{len(made)} in {plan.folder}, the newest {age.total_seconds() / 3600:.1f} hours old"
    verified = Verification.of(plan.folder)
    if verified is None:
        return [Check("backups", state, f"{newest}, none verified; run `keeps backup verify`")]
    checked = f"verified {verified.at:%F}"
    if not verified.good:
        return [
            Check("backups", "failed", f"{newest}, but the one {checked} is damaged; `keeps backup verify` says how")
        ]
    return [Check("backups", state, f"{newest}, {checked}")]


def _log_of_backups(home: Path, place: Path, folder: Path, server_pid: int | None) -> list[Check]:
    """Check what keeps the write-ahead log from the backups."""
    from keeps.operate.backups.making import ShipFailure
    from keeps.store.db.embedded.archiving import BACKUP_PLAN, SPOOL

    for path in (folder, folder / "wal"):
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            return [Check("backups", "failed", f"user {os.geteuid()} cannot write to {path}; change its owner")]
    if (failure := ShipFailure.of(home)) is not None:
        problem = (
            f"process {failure.pid} cannot copy the log to {folder}, so it accumulates in the home: {failure.error}. If"
            " it runs under systemd, add the folder to ReadWritePaths of its unit and restart it"
        )
        return [Check("backups", "failed", problem)]
    spool = place / SPOOL
    segments = list(spool.iterdir()) if os.access(spool, os.R_OK | os.X_OK) else []
    oldest = min((segment.stat().st_mtime for segment in segments), default=time.time())
    if time.time() - oldest > WAITING.total_seconds():
        problem = f"{len(segments)} log segments wait to be copied to {folder}"
        if server_pid is None:
            return [Check("backups", "note", f"{problem}; they are copied when Keeps starts next")]
        return [Check("backups", "failed", f"{problem} by a running Keeps: see its log")]
    if server_pid is not None and psutil.Process(server_pid).create_time() < (home / BACKUP_PLAN).stat().st_mtime:
        problem = "the log is archived only after the database restarts; restart the processes that use it"
        return [Check("backups", "note", problem)]
    return []


async def _database(settings: Settings, *, counts: bool) -> list[Check]:
    from keeps.bootstrap import open_keeps
    from keeps.store.db.probe import CITUS, has_citus

    try:
        keeps = await open_keeps(settings)
    except KeepsError as error:
        return [Check("database", "failed", error.detail)]
    try:
        counters = await _counts(keeps) if counts else []
        index = await keeps.status()
        version = await keeps.server_version()
        citus = await has_citus(keeps.database.main)
        results = [*await _providers(keeps), *await _asked_databases(keeps)]
        cells = [*await _standbys(keeps), *await _deaf(keeps), *await _cells(keeps, settings), *await _frozen(keeps)]
    except KeepsError as error:
        return [Check("database", "failed", error.detail)]
    finally:
        await keeps.close()
    checks = [
        Check("database", "note", f"{version}. {CITUS}") if citus else Check("database", "ok", version),
        Check(
            "isolation",
            "ok",
            "row-level security is enabled and forced on every table; keeps_app sees nothing without a tenant and"
            " cannot bypass it",
        ),
        Check(
            "contents",
            "ok",
            f"{counted(index.counts.memories, 'memory')} of {counted(index.counts.users, 'user')} in"
            f" {counted(index.counts.tenants, 'tenant')}; {counted(index.counts.events, 'event')}",
        ),
    ]
    checks += counters
    checks += cells
    checks += results
    others = sorted(model for model in index.counts.vectors if model != index.model)
    if index.pending:
        checks.append(
            Check(
                "index",
                "note",
                f"{index.pending:,} memories wait for a vector of {index.model} and are matched by words until"
                " then; run `keeps reindex`",
            )
        )
    else:
        checks.append(Check("index", "ok", f"complete, model {index.model}"))
    if others:
        checks.append(
            Check(
                "index", "note", f"vectors of other models use space: {', '.join(others)}; `keeps reindex` removes them"
            )
        )
    return checks


async def _counts(keeps: Keeps) -> list[Check]:
    """Compare the counters of every tenant with its rows, and correct them."""
    counts = TenantCounts(keeps.database, keeps.metrics)
    checks: list[Check] = []
    tenants, after = 0, ""
    while page := await keeps.service(TenantService).page(after, TENANTS_AT_ONCE):
        for info in page:
            check = await counts.check(Scope(info.tenant_id, JOB_USER_ID), weigh=True)
            tenants += 1
            checks += [
                Check("counts", "note", f"tenant {info.tenant_id}: {wrong}; it is corrected") for wrong in check.wrong
            ]
        after = page[-1].tenant_id
    return checks or [Check("counts", "ok", f"the counters of {counted(tenants, 'tenant')} equal their rows")]


async def _providers(keeps: Keeps) -> list[Check]:
    """Report providers of other packages that cannot be opened."""
    faults = await keeps.service(ProviderService).faults(Scope())
    return [
        Check("provider", "failed", f"{name} cannot be used: {reason}; fix or uninstall its package")
        for name, reason in faults.items()
    ]


async def _standbys(keeps: Keeps) -> list[Check]:
    """Report the leader and the lag of standbys, if standbys are read."""
    from keeps.store.db.probe import role_of

    if not keeps.database.standbys:
        return []
    leader = await role_of(keeps.database.main, 5)
    checks = [
        Check("leader", "failed", f"{leader.where} is a standby: KEEPS_DATABASE_URL must name the primary")
        if leader.standby
        else Check("leader", "ok", leader.where)
    ]
    for standby in keeps.database.standbys:
        try:
            role = await role_of(standby, 5)
        except KeepsError as error:
            checks.append(Check("standby", "failed", f"{error.detail}; reads use the primary until it is back"))
            continue
        behind = max(0, leader.position - role.position)
        state: State = "note" if behind > FAR_BEHIND or not role.standby else "ok"
        said = f"{behind:,} bytes behind the primary" if role.standby else "is not a standby"
        checks.append(Check("standby", state, f"{role.where}: {said}"))
    return checks


async def _deaf(keeps: Keeps) -> list[Check]:
    """Report cells from which a worker hears nothing."""
    from keeps.memory.jobs.worker import DEAF

    return [
        Check("worker", "note", f"{cell.name}: a worker with these settings starts jobs late. {DEAF}")
        for cell in await keeps.database.cells.all()
        if not await cell.hears()
    ]


async def _cells(keeps: Keeps, settings: Settings) -> list[Check]:
    """Check the cells, if there are several, or the shards behind a router."""
    from keeps.operate.cells.service import CellService

    if keeps.database.shards is not None:
        return await _shards(keeps.database.shards, str(settings.router))
    service = CellService(keeps, settings, {})
    cells = await service.list()
    if len(cells) == 1:
        return []
    checks = [Check("cells", "failed", f"{cell.name}: {cell.problem}") for cell in cells if cell.problem]
    checks += [
        Check(
            "cells",
            "note",
            f"{cell.cell} has rows of tenant {cell.tenant_id}, which is in {cell.is_in}: repeat"
            " `keeps tenants move` to finish",
        )
        for cell in await service.left_over()
    ]
    return checks or [Check("cells", "ok", ", ".join(f"{cell.name}: {cell.tenants or 0:,} tenants" for cell in cells))]


async def _shards(shards: Shards, engine: str) -> list[Check]:
    """Check each shard, and that the router leads each of its tenants there."""
    from keeps.store.db.probe import probe

    checks: list[Check] = []
    for name in shards.names:
        try:
            cell = await shards.get(name)
            await probe(cell)
        except KeepsError as error:
            checks.append(Check("shards", "failed", f"{name}: {error.detail}"))
    try:
        await shards.check()
    except KeepsError as error:
        return [*checks, Check("router", "failed", error.detail)]
    checks.append(Check("router", "ok", f"{engine} leads tenants to their shards: {', '.join(shards.names)}"))
    return checks


async def _frozen(keeps: Keeps) -> list[Check]:
    """Check the bundles of frozen tenants, if there are some."""
    from keeps.operate.freezing.service import FreezeService

    try:
        entries = await keeps.service(FreezeService).all(check=True)
    except KeepsError as error:
        return [Check("frozen", "failed", error.detail)]
    checks: list[Check] = []
    for entry in entries:
        name = entry.tenant_id or entry.tenant_hash
        if entry.problem:
            checks.append(Check("frozen", "failed", f"{name}: {entry.problem}; it stays frozen, others are unaffected"))
        elif entry.state == "freezing":
            checks.append(
                Check(
                    "frozen",
                    "note",
                    f"{name}: a freeze runs or was interrupted; `keeps tenants freeze {name}` finishes it",
                )
            )
        elif entry.state != "frozen":
            checks.append(
                Check(
                    "frozen", "note", f"{name}: a thaw runs or was interrupted; `keeps tenants thaw {name}` finishes it"
                )
            )
    if entries and not checks:
        checks.append(Check("frozen", "ok", f"{counted(len(entries), 'frozen tenant')}, each with its bundle"))
    return checks


async def _asked_databases(keeps: Keeps) -> list[Check]:
    """Check the databases of all tenants, and report unneeded rights of their roles."""
    checks: list[Check] = []
    count, after = 0, ""
    while page := await keeps.service(TenantService).page(after, 100):
        for tenant in page:
            for database in await keeps.service(DatabaseService).list(
                Scope(tenant.tenant_id, "doctor", roles=frozenset({"operator"}))
            ):
                count += 1
                checks += [
                    Check("databases", "note", f"{tenant.tenant_id}/{database.name}: {one}")
                    for one in database.warnings
                ]
        after = page[-1].tenant_id
    if count and not checks:
        checks.append(Check("databases", "ok", f"{count} can be queried, each with a read-only role"))
    return checks
