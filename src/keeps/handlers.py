"""Maps each endpoint to the service method that handles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from keeps.access.roles import require
from keeps.engine import Handler, Keeps
from keeps.scope import Scope
from keeps_client.endpoint import Endpoint
from keeps_client.errors import ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import (
    ErasureReceipt,
    Event,
    KeyInfo,
    Memory,
    NewMention,
    NewWorkingItem,
    Page,
    QueryResult,
    Receipt,
    WorkingItem,
    access,
    context,
    conversations,
    databases,
    documents,
    events,
    graph,
    insights,
    items,
    knowledge,
    memories,
    operations,
    plans,
    providers,
    recall,
    sessions,
    tasks,
    tools,
    transcripts,
    working,
)
from keeps_client.validation import event_types, memory_kinds

Handlers = Mapping[Endpoint[Any], Handler]


def handlers_of(k: Keeps) -> dict[Endpoint[Any], Handler]:
    """Return a handler for each endpoint, over the services of an engine."""
    parts = (
        _memory_handlers,
        _context_handlers,
        _knowledge_handlers,
        _state_handlers,
        _framework_handlers,
        _graph_handlers,
        _source_handlers,
        _log_handlers,
        _access_handlers,
    )
    return {endpoint: handler for part in parts for endpoint, handler in part(k).items()}


def _memory_handlers(k: Keeps) -> Handlers:
    """Remember, recall and forget."""

    async def listed(s: Scope, p: memories.MemoryQuery, _: object) -> Page[Memory]:
        if (p.namespace is None) != (p.key is None):
            raise ValidationFailedError("namespace and key go together: the two name a memory")
        if p.namespace is not None and p.key is not None:
            found = await k.memories.find(s, p.namespace, p.key) or await k.shown.find(s, None, p.namespace, p.key)
            return Page[Memory].model_construct(items=[found] if found else [], next_cursor=None)
        return await k.memories.list(s, filters=p.filters, order=p.order, limit=p.limit, cursor=p.cursor)

    async def updated(s: Scope, p: memories.ChangedMemory, b: memories.MemoryChange) -> Receipt:
        try:
            return await k.memories.update(s, p.memory_id, b, if_version=p.if_version, index_now=p.index == "now")
        except NotFoundError:
            return await k.shown.update(s, p.memory_id, b, if_version=p.if_version)

    async def got(s: Scope, p: memories.MemoryAt, _: object) -> Memory:
        try:
            return await k.memories.get(s, p.memory_id, as_of=p.as_of)
        except NotFoundError:
            if p.as_of is not None:
                raise
            return await k.shown.get(s, p.memory_id)

    async def history(s: Scope, p: memories.MemoryId, _: object) -> list[Event]:
        try:
            return await k.memories.history(s, p.memory_id)
        except NotFoundError:
            return await k.shown.history(s, p.memory_id)

    async def forgotten(
        s: Scope, memory_id: UUID | None, namespace: str | None, key: str | None, hard: bool, if_version: int | None
    ) -> Receipt:
        try:
            return await k.forgetting.forget(s, memory_id, namespace, key, hard=hard, if_version=if_version)
        except NotFoundError:
            if if_version is not None:
                raise  # entries have no versions
            return await k.shown.forget(s, memory_id, namespace, key)

    return {
        memories.REMEMBER: lambda s, p, b: k.memories.remember(s, b, index_now=p.index == "now"),
        memories.REMEMBER_MANY: lambda s, _, b: k.memories.remember_many(s, b.items, index_now=b.index == "now"),
        memories.LIST_MEMORIES: listed,
        memories.GET_MEMORY: got,
        memories.UPDATE_MEMORY: updated,
        memories.FORGET_MEMORY: lambda s, p, _: forgotten(s, p.memory_id, None, None, p.hard, p.if_version),
        memories.FORGET_KEY: lambda s, p, _: forgotten(s, None, p.namespace, p.key, p.hard, p.if_version),
        memories.MOVE_KEYS: lambda s, _, b: k.memory_keys.move(s, b.namespace, b.key, b.to),
        memories.FORGET_KEYS: lambda s, _, b: k.forgetting.forget_keys(s, b.namespace, b.key, hard=b.hard),
        memories.RESTORE_MEMORY: lambda s, p, _: k.memories.restore(s, p.memory_id),
        memories.GET_HISTORY: history,
        recall.RECALL: lambda s, _, b: k.providers.recall(s, b),
    }


def _context_handlers(k: Keeps) -> Handlers:
    """Build contexts and store conversations."""
    return {
        context.BUILD_CONTEXT: lambda s, _, b: k.router.context(s, b),
        context.ADD_SOURCE: lambda s, _, b: k.sources.add(s, b),
        context.LIST_SOURCES: lambda s, _, __: k.sources.list(s),
        context.REMOVE_SOURCE: lambda s, p, _: k.sources.remove(s, p.name),
        conversations.STORE_EXCHANGE: lambda s, _, b: k.conversations.store(s, b),
        conversations.LOG_ACTIVITY: lambda s, _, b: k.conversations.log_activity(s, b),
        conversations.SESSION_NOTES: lambda s, p, _: k.conversations.notes(s, p.session_id),
        conversations.END_SESSION: lambda s, p, _: k.conversations.end(s, p.session_id),
    }


def _knowledge_handlers(k: Keeps) -> Handlers:
    """Answer the CoALA names."""
    return {
        knowledge.STORE_KNOWLEDGE: lambda s, _, b: k.knowledge.store(s, b),
        knowledge.UPSERT_KNOWLEDGE: lambda s, _, b: k.knowledge.upsert(s, b),
        knowledge.QUERY_KNOWLEDGE: lambda s, p, _: k.knowledge.query(
            s, p.query, limit=p.limit, public=p.include_public
        ),
        knowledge.SEARCH_KNOWLEDGE: lambda s, p, _: k.knowledge.query(s, p.q, limit=p.limit),
        knowledge.LOG_INTERACTION: lambda s, _, b: k.knowledge.log(s, b),
        knowledge.GET_RECENT_HISTORY: lambda s, p, _: k.knowledge.recent(s, p.agent_id, p.limit),
        knowledge.SEARCH_INTERACTIONS: lambda s, p, _: k.knowledge.search_log(s, p.q, p.agent_id, p.limit),
        knowledge.STORE_SKILL: lambda s, _, b: k.knowledge.store_skill(s, b),
        knowledge.GET_RELEVANT_SKILLS: lambda s, p, _: k.knowledge.skills(s, p.q, p.agent_id, p.limit),
    }


def _state_handlers(k: Keeps) -> Handlers:
    """Keep what agents share: working memory, tasks, plans, sessions."""

    async def put(s: Scope, p: working.PlanKey, b: working.WorkingValue) -> WorkingItem:
        new = NewWorkingItem.model_construct(
            key=p.key,
            value=b.value,
            expected_version=b.expected_version,
            ttl_seconds=b.ttl_seconds,
            workflow=b.workflow,
        )
        return await k.working.put(s, p.plan_id, new)

    return {
        working.GET_PLAN_STATE: lambda s, p, _: k.working.get(s, p.plan_id, p.key),
        working.SET_PLAN_STATE: put,
        working.ADD_PLAN_STATE: lambda s, p, b: k.working.put(s, p.plan_id, b),
        working.LIST_PLAN_STATE: lambda s, p, _: k.working.page(s, p.plan_id, p.limit, p.cursor, values=p.values),
        working.DELETE_PLAN_KEY: lambda s, p, _: k.working.delete(s, p.plan_id, p.key),
        working.DELETE_PLAN_STATE: lambda s, p, _: k.working.clear(s, p.plan_id, workflow=p.workflow),
        working.APPEND_TO_LIST: lambda s, _, b: k.working.change(s, b),
        working.EXTEND_LIST: lambda s, _, b: k.working.change(s, b),
        working.UPDATE_OBJECT: lambda s, _, b: k.working.change(s, b),
        working.INCREMENT: lambda s, _, b: k.working.change(s, b),
        tasks.STORE_TASK_CONTEXT: lambda s, p, b: k.tasks.store(s, b, details=p.details),
        tasks.GET_TASK_CONTEXT: lambda s, p, _: k.tasks.get(s, p.task_id, details=p.details),
        tasks.GET_TASK_BY_SUBTASK: lambda s, p, _: k.tasks.by_subtask(s, p.sub_task_id, details=p.details),
        tasks.UPDATE_TASK_CONTEXT: lambda s, p, b: k.tasks.update(s, p.task_id, b, details=p.details),
        tasks.PUT_SUB_TASK: lambda s, p, b: k.tasks.put_sub_task(s, p.task_id, p.sub_task_id, b),
        tasks.DELETE_TASK_CONTEXT: lambda s, p, _: k.tasks.delete(s, p.task_id),
        plans.STORE_PLAN_CONTEXT: lambda s, _, b: k.plans.store_context(s, b),
        plans.GET_PLAN_CONTEXT: lambda s, p, _: k.plans.context(s, p.plan_id),
        plans.GET_PLAN_BY_CORRELATION: lambda s, p, _: k.plans.context_by_correlation(s, p.correlation_id),
        plans.UPDATE_PLAN_CONTEXT: lambda s, p, b: k.plans.update_context(s, p.plan_id, b),
        plans.CREATE_PLAN: lambda s, _, b: k.plans.create(s, b),
        plans.GET_PLAN: lambda s, p, _: k.plans.get(s, p.plan_id),
        plans.UPDATE_PLAN: lambda s, p, b: k.plans.update(s, p.plan_id, b),
        plans.DELETE_PLAN: lambda s, p, _: k.plans.delete(s, p.plan_id),
        plans.LIST_PLANS: lambda s, p, _: k.plans.page(
            s,
            status=p.status,
            session_id=p.session_id,
            parent_plan_id=p.parent_plan_id,
            visibility=p.visibility,
            limit=p.limit,
            cursor=p.cursor,
        ),
        sessions.CREATE_SESSION: lambda s, _, b: k.sessions.create(s, b),
        sessions.GET_SESSION: lambda s, p, _: k.sessions.get(s, p.session_id),
        sessions.UPDATE_SESSION: lambda s, p, b: k.sessions.update(s, p.session_id, b),
        sessions.DELETE_SESSION: lambda s, p, _: k.conversations.delete_session(s, p.session_id),
        sessions.LIST_SESSIONS: lambda s, p, _: k.sessions.page(s, p.ended, p.limit, p.cursor),
    }


def _framework_handlers(k: Keeps) -> Handlers:
    """Keep what frameworks store: transcripts and items."""
    return {
        transcripts.CREATE_TRANSCRIPT: lambda s, p, b: k.transcripts.create(s, p.app, b),
        transcripts.LIST_TRANSCRIPTS: lambda s, p, _: k.transcripts.page(s, p.app, p.limit, p.cursor),
        transcripts.GET_TRANSCRIPT: lambda s, p, _: k.transcripts.get(s, p),
        transcripts.APPEND_TO_TRANSCRIPT: lambda s, p, b: k.transcripts.append(s, p.app, p.transcript_id, b),
        transcripts.REMOVE_LAST_ENTRY: lambda s, p, _: k.transcripts.remove_last_entry(s, p.app, p.transcript_id),
        transcripts.CLEAR_TRANSCRIPT: lambda s, p, _: k.transcripts.clear(s, p.app, p.transcript_id),
        transcripts.DELETE_TRANSCRIPT: lambda s, p, _: k.transcripts.delete(s, p.app, p.transcript_id),
        transcripts.GET_APP_STATE: lambda s, p, _: k.transcripts.state(s, p.app),
        transcripts.LIST_ALL_TRANSCRIPTS: lambda s, p, _: k.transcripts.page_of_all(s, p.app, p.limit, p.cursor),
        items.BATCH_ITEMS: lambda s, _, b: k.items.batch(s, b),
        items.READ_ITEMS: lambda s, _, b: k.items.read(s, b),
        items.LIST_ALL_NAMESPACES: lambda s, p, _: k.items.all_namespaces(s, p.limit, p.after),
    }


def _graph_handlers(k: Keeps) -> Handlers:
    """Keep entities and their relations."""
    return {
        graph.ADD_ENTITY: lambda s, _, b: k.graph.add_entity(s, b),
        graph.GET_ENTITY: lambda s, p, _: k.graph.get_entity(s, p.entity_id, as_of=p.as_of),
        graph.LIST_ENTITIES: lambda s, p, _: k.graph.page(
            s, name=p.name, entity_type=p.entity_type, limit=p.limit, cursor=p.cursor
        ),
        graph.DELETE_ENTITY: lambda s, p, _: k.graph.delete_entity(s, p.entity_id, hard=p.hard),
        graph.MERGE_ENTITIES: lambda s, p, b: k.graph.merge(s, p.entity_id, b.merged_id),
        graph.UNMERGE_ENTITY: lambda s, p, _: k.graph.unmerge(s, p.entity_id),
        graph.ADD_RELATION: lambda s, _, b: k.graph.add_relation(s, b),
        graph.GET_RELATIONS: lambda s, p, _: k.graph.relations_of(
            s, _id_or_name(p.entity_id), direction=p.direction, relation_type=p.relation_type, as_of=p.as_of
        ),
        graph.DELETE_RELATION: lambda s, p, _: k.graph.delete_relation(s, p.relation_id, hard=p.hard),
        graph.TRAVERSE: lambda s, _, b: k.graph.traverse(s, b),
        graph.SHORTEST_PATH: lambda s, _, b: k.graph.shortest_path(s, b),
        graph.GET_MENTIONS: lambda s, p, _: k.graph.mentions(
            s, entity_id=p.entity_id, memory_id=p.memory_id, limit=p.limit
        ),
        graph.ADD_MENTION: lambda s, _, b: k.graph.set_mention(s, b, rejected=False),
        graph.REMOVE_MENTION: lambda s, p, _: k.graph.set_mention(
            s, NewMention(memory_id=p.memory_id, entity_id=p.entity_id), rejected=True
        ),
        graph.READ_ENTITIES: lambda s, p, _: k.reader.read(s, again=p.again),
    }


def _source_handlers(k: Keeps) -> Handlers:
    """Look up documents, databases, tools and providers."""

    async def queried(s: Scope, p: databases.DatabaseName, b: databases.DatabaseQuery) -> QueryResult:
        if b.sql is not None:
            return await k.databases.query_sql(s, p.name, b.sql)
        # A name in an address may be one that no database can have; then there is none of it.
        asked = databases.DataQuestion.model_construct(question=b.question, database=p.name, remember=b.remember)
        return await k.databases.query_data(s, asked)

    return {
        documents.LIST_DOCUMENTS: lambda s, p, _: k.documents.list(s, p),
        documents.GET_DOCUMENT: lambda s, p, _: k.documents.get(s, p.document_id),
        documents.READ_DOCUMENT: lambda s, p, _: k.documents.text(s, p.document_id, p.start, p.length),
        documents.DELETE_DOCUMENT: lambda s, p, _: k.documents.delete(s, p.document_id, hard=p.hard),
        documents.SEARCH_DOCUMENTS: lambda s, _, b: k.documents.search(s, b),
        databases.ADD_DATABASE: lambda s, _, b: k.databases.add(s, b),
        databases.LIST_DATABASES: lambda s, _, __: k.databases.list(s),
        databases.REFRESH_DATABASE: lambda s, p, _: k.databases.refresh(s, p.name),
        databases.REMOVE_DATABASE: lambda s, p, _: k.databases.remove(s, p.name),
        databases.QUERY_DATA: lambda s, _, b: k.databases.query_data(s, b),
        databases.QUERY_SQL: queried,
        databases.LIST_QUERIES: lambda s, p, _: k.databases.audits(s, p),
        tools.ADD_TOOL: lambda s, _, b: k.tools.add(s, b),
        tools.IMPORT_TOOLS: lambda s, _, b: k.tools.import_openapi(s, b),
        tools.LIST_TOOLS: lambda s, p, _: k.tools.list(s, p),
        tools.REMOVE_TOOL: lambda s, p, _: k.tools.remove(s, p.name),
        providers.LIST_PROVIDERS: lambda s, _, __: k.providers.infos(s),
        providers.WRITE_ENTRY: lambda s, p, b: k.providers.write(s, p.provider_id, p.entry_key, b, p.session_id),
        providers.READ_ENTRY: lambda s, p, _: k.providers.read(s, p.provider_id, p.entry_key, p.session_id),
        providers.DELETE_ENTRY: lambda s, p, _: k.providers.delete(s, p.provider_id, p.entry_key, p.session_id),
        providers.APPEND_MARKDOWN: lambda s, _, b: k.providers.append(s, b.text),
        providers.REBUILD_PROVIDER: lambda s, p, _: k.providers.rebuild(s, p.provider_id),
    }


def _log_handlers(k: Keeps) -> Handlers:
    """Read the log and what jobs did."""

    async def logged(s: Scope, p: events.EventQuery, _: object) -> list[Event]:
        types, kinds = event_types(split_names(p.types)), memory_kinds(split_names(p.kinds))
        return await k.events.page(s, after=p.after, types=types, kinds=kinds, limit=p.limit)

    return {
        events.LIST_EVENTS: logged,
        events.VERIFY_EVENTS: lambda s, _, __: k.events.verify(s),
        events.REPLAY_EVENTS: lambda s, p, _: k.events.replay(s, p.until),
        events.RETIRE_EVENTS: lambda _, p, __: k.events.retire(p.older_than_days),
        events.ADD_WEBHOOK: lambda s, _, b: k.webhooks.add(s, b),
        events.LIST_WEBHOOKS: lambda s, _, __: k.webhooks.list(s),
        events.REMOVE_WEBHOOK: lambda s, p, _: k.webhooks.remove(s, p.webhook_id),
        events.LIST_WEBHOOK_FAILURES: lambda s, p, _: k.webhooks.failures(s, p.webhook_id),
        events.RETRY_WEBHOOK: lambda s, p, _: k.webhooks.retry(s, p.webhook_id),
        operations.LIST_OPERATIONS: lambda s, p, _: k.operations.page(
            s, job=p.job, status=p.status, limit=p.limit, cursor=p.cursor
        ),
        operations.GET_OPERATION: lambda s, p, _: k.operations.get(s, p.operation_id),
        operations.UNDO_OPERATION: lambda s, p, _: k.operations.undo(s, p.operation_id),
        operations.LIST_JOBS: lambda _, __, ___: k.queue.status(),
        operations.LIST_HELD_JOBS: lambda _, __, ___: k.queue.held(),
        operations.RETRY_JOBS: lambda _, p, __: k.queue.retry(p.job_id),
        insights.GET_INSIGHTS: lambda s, _, __: k.insights.insights(s),
        insights.AUDIT_JUNK: lambda s, _, __: k.insights.audit_junk(s),
    }


def _access_handlers(k: Keeps) -> Handlers:
    """Administer keys, tenants and users."""

    async def revoked(s: Scope, p: access.KeyId, _: object) -> KeyInfo:
        try:
            return await k.keys.revoke(s, p.key_id)
        finally:
            k.keys.changed()

    async def user_erased(s: Scope, p: access.UserId, _: object) -> ErasureReceipt:
        try:
            return await k.tenants.erase_user(s, p.user_id)
        finally:
            k.keys.changed()

    async def tenant_erased(s: Scope, p: access.TenantId, _: object) -> ErasureReceipt:
        try:
            return await k.tenants.erase_tenant(_reachable(s, p.tenant_id))
        finally:
            k.keys.changed()

    return {
        access.MAKE_KEY: lambda s, _, b: k.keys.make(s, b),
        access.MAKE_TENANT_KEY: lambda s, p, b: k.keys.make(_reachable(s, p.tenant_id), b),
        access.LIST_KEYS: lambda s, _, __: k.keys.list(s),
        access.REVOKE_KEY: revoked,
        access.ERASE_USER: user_erased,
        access.ERASE_TENANT: tenant_erased,
        access.LIST_TENANTS: lambda _, p, __: k.tenants.page(p.after, p.limit),
        access.SET_QUOTA: lambda _, p, b: k.tenants.set_quota(p.tenant_id, b),
    }


def split_names(names: str | None) -> list[str] | None:
    """Names with commas between them, as they are in a query."""
    return None if names is None else [each.strip() for each in names.split(",") if each.strip()]


def _id_or_name(text: str) -> UUID | str:
    try:
        return UUID(text)
    except ValueError:
        return text


def _reachable(scope: Scope, tenant_id: str) -> Scope:
    """The tenant as a scope: another than one's own only for operators; for others it is not there."""
    if tenant_id == scope.tenant_id:
        return scope
    try:
        require(scope.roles, "operator")
    except ForbiddenError:
        raise NotFoundError(f"no tenant {tenant_id!r}") from None
    return Scope(tenant_id, scope.user_id, roles=scope.roles)
