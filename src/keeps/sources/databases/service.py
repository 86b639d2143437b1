"""Databases: add, list, refresh, remove, query. A query passes the gate, runs in another process, and is audited."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor_of_id, write_cursor
from keeps.base.scope import Scope, check_id
from keeps.base.telemetry.metrics import Metrics
from keeps.memory.memories.service import MemoryService
from keeps.models.chat import ChatModel
from keeps.models.counted import CountedChat
from keeps.models.embedder import Embedder
from keeps.sources.databases import store
from keeps.sources.databases.asking import Chooser, Chosen, write_sql
from keeps.sources.databases.rules import MOST_ROWS
from keeps.sources.databases.runner import Runner
from keeps.sources.databases.sealing import KeyRing
from keeps.sources.databases.store import Held
from keeps.sources.databases.targets import target_of
from keeps.store.access.roles import allows, require
from keeps.store.db.session import Database
from keeps.store.tenants.service import Introducer
from keeps_client.checked import validated
from keeps_client.errors import (
    ConflictError,
    DatabaseFailedError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    QueryRefusedError,
    ValidationFailedError,
)
from keeps_client.models import (
    DatabaseInfo,
    DatabaseRemoved,
    NewDatabase,
    NewMemory,
    NewSource,
    Page,
    QueryAudit,
    QueryResult,
)
from keeps_client.models.databases import AuditQuery, DataQuestion, QueryOutcome
from keeps_client.validation import one_of

MOST_REMEMBERED = 20_000
TellOf = Callable[[Scope, NewSource], Awaitable[object]]
TellNoMore = Callable[[Scope, str], Awaitable[object]]


@dataclass(slots=True)
class _Asked:
    """A query in progress, as it is recorded in the end."""

    database: str
    question: str | None
    sql: str | None = None
    tables: tuple[str, ...] = ()


class DatabaseService:
    """The databases that a tenant may query. `tell_of` and `tell_no_more` inform agents of what can be looked up."""

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        memories: MemoryService,
        runner: Runner,
        keys: KeyRing,
        chat: CountedChat | None,
        embedder: Embedder | None,
        clock: Clock,
        metrics: Metrics,
        tell_of: TellOf,
        tell_no_more: TellNoMore,
    ) -> None:
        self._database = database
        self._introducer = introducer
        self._memories = memories
        self._runner = runner
        self._keys = keys
        self._chat = chat
        self._chooser = Chooser(embedder)
        self._clock = clock
        self._metrics = metrics
        self._tell_of, self._tell_no_more = tell_of, tell_no_more

    async def close(self) -> None:
        await self._runner.close()

    async def add(self, scope: Scope, new: NewDatabase) -> DatabaseInfo:
        """Add a database.

        Raises ConflictError for a taken name, ForbiddenError, DatabaseFailedError, NotConfiguredError.
        """
        target = target_of(new.url)
        database_id = new_id()
        sealed = self._keys.seal(new.url, store.bound_to(scope.tenant_id, database_id))
        async with self._database.scoped(scope) as tx:
            if await store.named(tx, new.name) is not None:
                raise ConflictError(f"database {new.name!r} already exists; remove it first, or refresh it")
        samples = {name: list(columns) for name, columns in new.samples.items()}
        if unlisted := next((name for name in samples if name not in new.tables), None):
            raise ValidationFailedError(f"samples names {unlisted!r}, which is not in tables")
        tables = {name: columns if isinstance(columns, str) else list(columns) for name, columns in new.tables.items()}
        described = await self._runner.describe(scope.tenant_id, target, tables, samples)
        store.tables_of(described["tables"])

        inserted = False
        async for attempt in self._introducer.writing(scope):
            async with attempt as tx:
                inserted = await store.insert(tx, database_id, new, target, sealed, described, self._clock())
        if not inserted:
            raise ConflictError(f"database {new.name!r} already exists; remove it first, or refresh it")
        info = (await self._held(scope, new.name)).info
        await self._tell(scope, info)
        return info

    async def list(self, scope: Scope) -> list[DatabaseInfo]:
        return [each.info for each in await self._askable(scope)]

    async def refresh(self, scope: Scope, name: str) -> DatabaseInfo:
        """Read the tables of a database again. Raises NotFoundError, DatabaseFailedError."""
        await self._describe(scope, await self._held(scope, name))
        info = (await self._held(scope, name)).info
        await self._tell(Scope(scope.tenant_id, info.created_by), info)
        return info

    async def remove(self, scope: Scope, name: str) -> DatabaseRemoved:
        """Remove a database. Raises NotFoundError."""
        added_by: str | None = None
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                added_by = await store.remove(tx, name)
        if added_by is None:
            raise NotFoundError(f"no database {name!r}")
        try:
            await self._tell_no_more(Scope(scope.tenant_id, added_by), name)
        except NotFoundError:
            pass  # The user who added it is gone, or agents were never informed.
        return DatabaseRemoved(name=name)

    async def query_sql(self, scope: Scope, name: str, sql: str) -> QueryResult:
        """Run a statement. Raises NotFoundError, ForbiddenError, QueryRefusedError, DatabaseFailedError."""
        held = await self._held(scope, name)
        require(scope, held.info.asked_by)
        return await self._written_down(scope, held, _Asked(name, None, sql), self._run_once)

    async def query_data(self, scope: Scope, wanted: DataQuestion) -> QueryResult:
        """Answer a question by SQL of the LLM.

        Raises NotConfiguredError without an LLM, ForbiddenError if the answer is to be remembered and the role may not
        write, and the errors of `query_sql`.
        """
        if wanted.remember:
            require(scope, "writer")
        if self._chat is None:
            raise NotConfiguredError(
                "questions in plain language need an LLM: set KEEPS_LLM_BASE_URL, or write SQL (query_sql, `keeps"
                " databases sql`)"
            )
        if wanted.database is not None:
            database = await self._held(scope, wanted.database)
            require(scope, database.info.asked_by)
            databases = [database]
        else:
            databases = await self._askable(scope)
            if not databases:
                raise NotFoundError("there is no database that you may query; add one with add_database")
        chosen = await self._chooser.choose(scope.tenant_id, wanted.question, databases)
        chat = self._chat.of(scope)

        async def work(scope: Scope, held: Held, asked: _Asked) -> QueryResult:
            return await self._written_and_run(chat, scope, Chosen(held, chosen.tables), asked)

        asked = _Asked(chosen.held.info.name, wanted.question)
        found = await self._written_down(scope, chosen.held, asked, work)
        if wanted.remember:
            found = found.model_copy(update={"memory_id": await self._remember(scope, found)})
        return found

    async def audits(self, scope: Scope, wanted: AuditQuery) -> Page[QueryAudit]:
        """Return the user's own audits; an administrator may name another user. Raises ForbiddenError."""
        of = scope
        if wanted.user_id is not None and wanted.user_id != scope.user_id:
            require(scope, "admin")
            check_id("user_id", wanted.user_id)
            of = Scope(scope.tenant_id, wanted.user_id)
        after = read_cursor_of_id(wanted.cursor)
        async with self._database.scoped(of) as tx:
            found = await store.audits(tx, after, wanted.limit + 1)
        last = found[wanted.limit - 1] if len(found) > wanted.limit else None
        return Page[QueryAudit].model_construct(
            items=found[: wanted.limit],
            next_cursor=None if last is None else write_cursor(last.asked_at, str(last.audit_id)),
        )

    async def rotate(self, scope: Scope) -> int:
        """Seal all credentials of a tenant with the newest key; return the number that changed.

        It may be interrupted and run again.
        """
        done = 0
        while True:
            changed = 0
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    changed = await store.rotate(tx, self._keys)
            if not changed:
                return done
            done += changed

    async def _held(self, scope: Scope, name: str) -> Held:
        async with self._database.scoped(scope) as tx:
            database = await store.named(tx, name)
        if database is None:
            raise NotFoundError(f"no database {name!r}")
        return database

    async def _askable(self, scope: Scope) -> list[Held]:
        async with self._database.scoped(scope) as tx:
            return [each for each in await store.all_of(tx) if allows(scope.roles, each.info.asked_by)]

    async def _describe(self, scope: Scope, held: Held) -> None:
        target = target_of(self._keys.open(held.sealed, held.bound))
        description = await self._runner.describe(scope.tenant_id, target, held.allowed, held.samples)
        store.tables_of(description["tables"])
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await store.described(tx, held.info.name, description, self._clock())

    async def _written_down(
        self,
        scope: Scope,
        held: Held,
        asked: _Asked,
        work: Callable[[Scope, Held, _Asked], Awaitable[QueryResult]],
    ) -> QueryResult:
        """Run the work, and record the query whatever its result."""
        started = time.perf_counter()
        outcome: QueryOutcome = "failed"
        rule: str | None = "cancelled"
        rows = 0
        try:
            found = await work(scope, held, asked)
            outcome, rule, rows = "allowed", None, len(found.rows)
            return found.model_copy(update={"question": asked.question})
        except QueryRefusedError as error:
            outcome, rule = "refused", error.rule
            raise
        except DatabaseFailedError as error:
            rule = error.kind
            raise
        except KeepsError as error:
            rule = error.code
            raise
        finally:
            took = int((time.perf_counter() - started) * 1e3)
            self._metrics.queries.labels(held.info.dialect, outcome).inc()
            written = QueryAudit(
                audit_id=new_id(),
                user_id=scope.user_id,
                agent_id=scope.agent_id,
                database=asked.database,
                question=asked.question,
                sql=asked.sql,
                outcome=outcome,
                rule=rule,
                tables=asked.tables,
                rows=rows,
                took_ms=took,
                asked_at=self._clock(),
            )
            async for attempt in self._introducer.writing(scope):
                async with attempt as tx:
                    await store.add_audit(tx, written)

    async def _run_once(self, scope: Scope, held: Held, asked: _Asked) -> QueryResult:
        """Run a query; if the tables have changed since they were read, read them again and run it once more."""
        try:
            return await self._run(scope, held, asked)
        except DatabaseFailedError as error:
            if error.kind != "database":
                raise
            await self._describe(scope, held)
            again = await self._held(scope, held.info.name)
            if again.tables == held.tables:
                raise
            return await self._run(scope, again, asked)

    async def _written_and_run(self, chat: ChatModel, scope: Scope, chosen: Chosen, asked: _Asked) -> QueryResult:
        """Run the LLM's SQL; if that fails, give it the error and run its second attempt."""
        failed: tuple[str, str] | None = None
        while True:
            assert asked.question is not None
            written = await write_sql(chat, chosen, asked.question, failed)
            if not written.sql:
                reason = (written.reason or "no reason was given")[:500]
                raise QueryRefusedError(f"no SQL answers this: {reason}", "llm")
            asked.sql = written.sql
            try:
                found = await self._run_once(scope, chosen.held, asked)
                return found.model_copy(update={"repaired": failed is not None})
            except (QueryRefusedError, DatabaseFailedError) as error:
                if failed is not None or (isinstance(error, DatabaseFailedError) and error.kind != "database"):
                    raise
                failed = written.sql, error.detail

    async def _run(self, scope: Scope, held: Held, asked: _Asked) -> QueryResult:
        started = time.perf_counter()
        written = await self._runner.read(scope.tenant_id, asked.sql or "", held.info.dialect, held.tables)
        asked.tables = written.tables
        target = target_of(self._keys.open(held.sealed, held.bound))
        result = await self._runner.run(scope.tenant_id, target, written.sql, written.tables, MOST_ROWS)
        return QueryResult.model_construct(
            database=held.info.name,
            sql=written.sql,
            tables=written.tables,
            columns=tuple(result["columns"]),
            rows=tuple(map(tuple, result["rows"])),
            cut=result["cut"],
            took_ms=(time.perf_counter() - started) * 1e3,
            question=None,
            repaired=False,
            memory_id=None,
        )

    async def _remember(self, scope: Scope, found: QueryResult) -> UUID:
        """Store an answer as a memory: its contents are untrusted data of the database."""
        rows = json.dumps([dict(zip(found.columns, row, strict=True)) for row in found.rows], ensure_ascii=False)
        memory = validated(
            NewMemory,
            {
                "content": f"{found.question} → {rows}"[:MOST_REMEMBERED],
                "source": f"tool:database {found.database}",
                "content_type": "query_answer",
                "metadata": {"sql": found.sql[:2_000], "database": found.database},
            },
        )
        receipt = await self._memories.remember(scope, memory, index_now=False)
        return one_of(receipt.memory, "the answer was not stored").memory_id

    async def _tell(self, scope: Scope, info: DatabaseInfo) -> None:
        """Inform those who may query the database that it exists."""
        if info.asked_by == "admin":
            return
        tables = ", ".join(each.name for each in info.tables)
        purpose = f"{info.purpose} (tables: {tables})"
        await self._tell_of(scope, NewSource(name=info.name, kind="database", purpose=purpose[:500]))
