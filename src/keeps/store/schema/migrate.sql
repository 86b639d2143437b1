-- The state of a migration, read and written as keeps_owner in its transaction.

-- name: act_as_owner
-- An administrator migrates as the role that owns the schema.
SET LOCAL ROLE keeps_owner

-- name: lock
SELECT pg_advisory_xact_lock(hashtext('keeps.migrate'))

-- name: wait_at_most
SELECT set_config('lock_timeout', $1, true)

-- name: has_version
SELECT to_regclass('keeps.alembic_version') IS NOT NULL

-- name: version
SELECT version_num FROM keeps.alembic_version

-- The names of table, column and constraint are those of Alembic, which ran the migrations of Keeps 0.1 and 0.2.
-- name: make_version
CREATE TABLE IF NOT EXISTS keeps.alembic_version (
    version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY
)

-- name: insert_version
INSERT INTO keeps.alembic_version (version_num) VALUES ($1)

-- name: update_version
UPDATE keeps.alembic_version SET version_num = $1
