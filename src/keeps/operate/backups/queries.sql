-- What backups ask of their server, as PostgreSQL's administrator.

-- name: server_held
SELECT current_setting('archive_mode') = 'on' AS archives, current_setting('server_version') AS version,
    count(*) AS tenants, COALESCE(sum(memory_count), 0)::bigint AS memories
FROM keeps.tenants

-- name: end_segment
SELECT pg_switch_wal()

-- name: last_replayed
SELECT pg_last_xact_replay_timestamp() AS moment

-- name: everybody
SELECT tenant_id, user_id FROM keeps.users

-- name: every_tenant
SELECT tenant_id FROM keeps.tenants

-- name: counts
SELECT (SELECT count(*) FROM keeps.tenants) AS tenants, (SELECT count(*) FROM keeps.memories) AS memories

-- name: extensions
SELECT format('ALTER EXTENSION %I UPDATE', extname) AS update FROM pg_extension

-- name: analyze
ANALYZE
