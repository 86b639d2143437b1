-- Questions of the start-up probe. All run with no tenant set.

-- name: server
-- Who we are to this server and what it can do.
SELECT current_setting('server_version_num')::integer AS version,
       current_user::text AS role,
       rolsuper AS is_superuser,
       rolbypassrls OR EXISTS (SELECT FROM pg_roles AS other
                               WHERE (other.rolsuper OR other.rolbypassrls)
                                 AND pg_has_role(current_user, other.oid, 'MEMBER')) AS can_bypass,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version,
       COALESCE(has_table_privilege(to_regclass('keeps.alembic_version'), 'SELECT'), false) AS has_schema
FROM pg_roles WHERE rolname = current_user

-- name: schema_version
SELECT version_num FROM keeps.alembic_version

-- name: tables
-- Every table of ours but Alembic's own, and whether its wall stands.
SELECT pg_class.relname::text AS name,
       pg_class.relrowsecurity AS row_security,
       pg_class.relforcerowsecurity AS forced,
       pg_has_role(current_user, pg_class.relowner, 'MEMBER') AS owned
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
WHERE pg_namespace.nspname = 'keeps' AND pg_class.relkind IN ('r', 'p') AND pg_class.relname <> 'alembic_version'
ORDER BY pg_class.relname

-- name: rows_without_tenant
-- True if any tenant table shows a row although no tenant is set.
SELECT EXISTS (SELECT FROM keeps.tenants) OR EXISTS (SELECT FROM keeps.users) OR EXISTS (SELECT FROM keeps.memories)
    OR EXISTS (SELECT FROM keeps.memory_access) OR EXISTS (SELECT FROM keeps.memory_terms)
    OR EXISTS (SELECT FROM keeps.memory_vectors) OR EXISTS (SELECT FROM keeps.events)
    OR EXISTS (SELECT FROM keeps.sessions) OR EXISTS (SELECT FROM keeps.plans) OR EXISTS (SELECT FROM keeps.plan_correlations)
    OR EXISTS (SELECT FROM keeps.task_contexts) OR EXISTS (SELECT FROM keeps.task_subtasks) OR EXISTS (SELECT FROM keeps.working_memory)
    OR EXISTS (SELECT FROM keeps.api_keys) OR EXISTS (SELECT FROM keeps.idempotency_keys)
    OR EXISTS (SELECT FROM keeps.webhooks) OR EXISTS (SELECT FROM keeps.webhook_failures)
    OR EXISTS (SELECT FROM keeps.entities) OR EXISTS (SELECT FROM keeps.entity_names) OR EXISTS (SELECT FROM keeps.relations)
    OR EXISTS (SELECT FROM keeps.mentions) OR EXISTS (SELECT FROM keeps.memory_readings)
    OR EXISTS (SELECT FROM keeps.providers) AS seen

-- name: distance
-- One distance, to see that this processor can run pgvector at all.
SELECT array_fill(1::real, ARRAY[384])::halfvec <=> array_fill(0.5::real, ARRAY[384])::halfvec AS distance
