-- What the door itself says to PostgreSQL.

-- name: enter_read
-- Who asks, for this transaction only. Generic plans: the plans are the same (plan tests hold it) and need no planning
-- each time. And the cell where the tenant is, if it is not here.
SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),
       set_config('app.bound_agent', $3, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('statement_timeout', $4, true), set_config('app.acting_user', $5, true),
       set_config('app.grant', $6, true), keeps.elsewhere($1) AS elsewhere

-- name: enter_snapshot
-- The same; all statements after it see the data of one moment.
SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),
       set_config('app.bound_agent', $3, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('statement_timeout', $4, true), set_config('app.acting_user', $5, true),
       set_config('app.grant', $6, true), keeps.elsewhere($1) AS elsewhere

-- name: enter_standby
-- The same on a standby; and how far the tenant has come there.
SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),
       set_config('app.bound_agent', $3, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('statement_timeout', $4, true), set_config('app.acting_user', $5, true),
       set_config('app.grant', $6, true), keeps.elsewhere($1) AS elsewhere, keeps.reached($1) AS reached

-- name: reached
-- How far a tenant has come.
SELECT keeps.reached($1) AS reached

-- name: enter_write
-- The same; and writers of one tenant take turns until commit.
SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),
       set_config('app.bound_agent', $3, true), set_config('app.traceparent', $4, true),
       set_config('plan_cache_mode', 'force_generic_plan', true), set_config('app.acting_user', $5, true), set_config('app.grant', $6, true),
       keeps.take_turn($1) AS elsewhere

-- name: enter_carry
-- The same for a freeze or a thaw, wherever the tenant is, on one snapshot.
SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),
       set_config('app.bound_agent', $3, true), set_config('app.traceparent', $4, true),
       set_config('app.acting_user', $5, true), set_config('app.grant', $6, true), NULL::text AS elsewhere

-- name: enter_user
SELECT set_config('app.current_user', $1, true), set_config('app.bound_agent', $2, true),
       set_config('app.acting_user', $3, true), set_config('app.grant', $4, true)

-- name: append
-- The memories that a transaction of a key that may only add stores, and sees.
SELECT set_config('app.appending', $1, true)

-- name: place_tenant
SELECT keeps.place_tenant($1) AS cell

-- name: elsewhere
SELECT keeps.elsewhere($1) AS cell

-- name: cells
SELECT name, address, key_id FROM keeps.list_cells()

-- name: shard
-- Which database answers, for a router that may lead to several: two addresses may lead to one.
SELECT extract(epoch FROM pg_postmaster_start_time())::text || ' ' || current_database() AS shard

-- name: some_tenants
-- Tenants that are here, at most $1.
SELECT tenant_id FROM keeps.list_tenants('', $1)

-- name: answers_find
-- What requests with these Idempotency-Keys did, within the last 24 hours.
SELECT idempotency_key, request_hash, answer FROM keeps.idempotency_keys
WHERE tenant_id = $1 AND user_id = $2 AND idempotency_key = ANY ($3::text[])
    AND created_at > now() - interval '24 hours'

-- name: answers_keep
-- Keep what requests did, in the transaction that does it; and let the user's overdue ones go. $3: key, hash, answer
-- and about of each
WITH kept AS (
    SELECT * FROM jsonb_to_recordset($3::jsonb) AS item(key text, hash text, answer jsonb, about text[])
), overdue AS (
    DELETE FROM keeps.idempotency_keys
    WHERE tenant_id = $1 AND user_id = $2 AND created_at < now() - interval '24 hours'
      AND idempotency_key <> ALL (SELECT key FROM kept)
)
INSERT INTO keeps.idempotency_keys (tenant_id, user_id, idempotency_key, request_hash, answer, about)
SELECT $1, $2, key, decode(hash, 'hex'), answer, about FROM kept
ON CONFLICT (tenant_id, user_id, idempotency_key)
    DO UPDATE SET request_hash = EXCLUDED.request_hash, answer = EXCLUDED.answer, about = EXCLUDED.about,
        created_at = now()

-- name: answers_keep_each
-- The same of several users, each row kept as its own (ADR 44): how many are, without those that were answered before.
-- $2: user, key, hash, answer and about of each
WITH kept AS (
    INSERT INTO keeps.idempotency_keys (tenant_id, user_id, idempotency_key, request_hash, answer, about)
    SELECT $1, user_id, key, decode(hash, 'hex'), answer, about
    FROM (SELECT item.*, set_config('app.current_user', user_id, true) AS is_user
          FROM jsonb_to_recordset($2::jsonb) AS item(user_id text, key text, hash text, answer jsonb, about text[]))
        AS told
    ON CONFLICT DO NOTHING
    RETURNING user_id
)
SELECT count(*) AS kept FROM kept

-- name: answers_drop_overdue
DELETE FROM keeps.idempotency_keys
WHERE tenant_id = $1 AND user_id = $2 AND created_at < now() - interval '24 hours'

-- name: backend_process
-- The server's own process id, which a pooler does not know.
SELECT pg_backend_pid()

-- name: database_exists
SELECT true FROM pg_database WHERE datname = $1

-- name: app_role_exists
-- Whether the server has the role that serves.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'keeps_app')

-- name: anyone_makes_temporary_tables
-- Whether the database lets every role make temporary tables.
SELECT has_database_privilege('public', current_database(), 'TEMPORARY')

-- name: password_statement
-- ALTER ROLE takes no bound values: PostgreSQL itself quotes them.
SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text)

-- name: engine
-- The server's version text, and the encoding of this database.
SELECT version() AS engine, current_setting('server_encoding') AS encoding

-- name: answers
-- Whether the server answers.
SELECT true

-- name: backend_busy
-- Keeps a server process for a moment.
SELECT pg_sleep(0.3)
