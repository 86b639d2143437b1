-- Questions of the start-up probe. All run with no tenant set.

-- name: server
-- Who we are to this server and what it can do.
SELECT current_setting('server_version_num')::integer AS version,
       version() AS engine,
       current_setting('server_encoding') AS encoding,
       EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS citus,
       current_user::text AS role,
       rolsuper AS is_superuser,
       rolbypassrls OR EXISTS (SELECT FROM pg_roles AS other
                               WHERE (other.rolsuper OR other.rolbypassrls)
                                 AND pg_has_role(current_user, other.oid, 'MEMBER')) AS can_bypass,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version,
       COALESCE(has_table_privilege(to_regclass('keeps.alembic_version'), 'SELECT'), false) AS has_schema
FROM pg_roles WHERE rolname = current_user

-- name: in_recovery
SELECT pg_is_in_recovery()

-- name: role
-- Whether this server is a standby, where it listens, and how far its log goes.
SELECT pg_is_in_recovery() AS standby, host(inet_server_addr()) AS address, inet_server_port() AS port,
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
                       '0/0')::bigint AS position

-- name: schema_there
SELECT to_regclass('keeps.alembic_version') IS NOT NULL AS there

-- name: schema_version
SELECT version_num FROM keeps.alembic_version

-- name: serves_from
-- Of a schema that is newer than this Keeps: the oldest that may serve on it.
SELECT keeps.serves_from() AS revision

-- name: tables
-- Every table of ours but Alembic's own, and whether its wall stands.
SELECT pg_class.relname::text AS name,
       pg_class.relrowsecurity AS row_security,
       pg_class.relforcerowsecurity AS forced,
       pg_has_role(current_user, pg_class.relowner, 'MEMBER') AS owned,
       has_any_column_privilege(pg_class.oid, 'SELECT') AS readable
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
WHERE pg_namespace.nspname = 'keeps' AND pg_class.relkind IN ('r', 'p') AND pg_class.relname <> 'alembic_version'
ORDER BY pg_class.relname

-- name: distance
-- One distance, to see that this processor can run pgvector at all.
SELECT array_fill(1::real, ARRAY[384])::halfvec <=> array_fill(0.5::real, ARRAY[384])::halfvec AS distance
