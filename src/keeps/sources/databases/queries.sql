-- Databases that may be asked, and what was asked of them.

-- name: own_identity
-- When this server began: no other says the same.
SELECT EXTRACT(epoch FROM pg_postmaster_start_time())::text AS began

-- name: database_insert
INSERT INTO keeps.databases (tenant_id, database_id, name, dialect, location, credential, key_id, purpose, asked_by,
    allowed, samples, tables, warnings, described_at, created_by, created_at, updated_at, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $14, $14, 1)
ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING version

-- name: database_named
SELECT * FROM keeps.databases WHERE tenant_id = $1 AND name = $2

-- name: databases_list
SELECT * FROM keeps.databases WHERE tenant_id = $1 ORDER BY name LIMIT 200

-- name: database_described
UPDATE keeps.databases SET tables = $3, warnings = $4, described_at = $5, updated_at = $5, version = version + 1
WHERE tenant_id = $1 AND name = $2
RETURNING version

-- name: database_remove
DELETE FROM keeps.databases WHERE tenant_id = $1 AND name = $2
RETURNING database_id, created_by

-- name: databases_sealed_otherwise
-- Databases of this tenant whose credential another key opens.
SELECT database_id, credential, key_id FROM keeps.databases WHERE tenant_id = $1 AND key_id <> $2
ORDER BY database_id LIMIT 100 FOR UPDATE

-- name: database_sealed
UPDATE keeps.databases SET credential = $3, key_id = $4 WHERE tenant_id = $1 AND database_id = $2

-- name: audit_insert
INSERT INTO keeps.query_audit (tenant_id, audit_id, user_id, agent_id, database_name, question, sql, outcome, rule, tables,
    row_count, took_ms, asked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (tenant_id, audit_id) DO NOTHING
RETURNING audit_id

-- name: audit_page
-- One's own questions, newest first. $3, $4: the place after which.
SELECT * FROM keeps.query_audit
WHERE tenant_id = $1 AND user_id = $2 AND ($3::timestamptz IS NULL OR (asked_at, audit_id) < ($3, $4::uuid))
ORDER BY asked_at DESC, audit_id DESC
LIMIT $5

-- name: audit_forget
DELETE FROM keeps.query_audit WHERE tenant_id = $1 AND user_id = $2 AND asked_at < $3

-- name: export_databases
-- Databases of the user who added them, without their credentials.
SELECT name, to_jsonb(databases) - '{credential,key_id}'::text[]
    || jsonb_build_object('user_id', created_by, 'credential', 'left out') AS row
FROM keeps.databases WHERE tenant_id = $1 AND created_by = $2 AND name > $3::text ORDER BY name LIMIT 50

-- name: export_queries
SELECT asked_at, audit_id, to_jsonb(query_audit) AS row FROM keeps.query_audit
WHERE tenant_id = $1 AND user_id = $2 AND (asked_at, audit_id) > ($3::timestamptz, $4::uuid)
ORDER BY asked_at, audit_id LIMIT 50
