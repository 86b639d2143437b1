-- Frozen tenants. All run as keeps_app; those that freeze or thaw run in a transaction of the tenant.

-- name: tables
-- The tables with rows of the tenant, each after those that it refers to.
SELECT name, columns FROM keeps.carry_tables() WITH ORDINALITY AS each(name, columns, place) ORDER BY place

-- name: origin
SELECT keeps.bundle_origin() AS origin

-- name: begin
SELECT keeps.freeze_begin($1, $2, $3) AS begun

-- name: lock
SELECT keeps.freeze_lock() AS locked

-- name: open
SELECT batch, held, more FROM keeps.carry_open($1, $2, $3)

-- name: next
SELECT batch, held, more FROM keeps.carry_next($1)

-- name: end
SELECT keeps.freeze_end($1, $2, $3, $4, $5, $6, $7, $8) AS removed

-- name: thaw_lock
SELECT keeps.thaw_lock() AS state

-- name: load
SELECT keeps.carry_load($1, $2, $3) AS stored

-- name: loaded
SELECT keeps.thaw_loaded()

-- name: retirement
-- The time up to which events of other tenants were removed meanwhile, if the tenant still has older ones.
SELECT keeps.retirement_due() AS before

-- name: retire
SELECT removed, kept FROM keeps.retire_events($1)

-- name: thaw_end
SELECT keeps.thaw_end($1) AS ended

-- name: forget
SELECT keeps.frozen_forget($1) AS forgotten

-- name: erase
SELECT keeps.frozen_erase($1) AS erased

-- name: reseal
SELECT keeps.frozen_reseal($1, $2, $3, $4, $5) AS resealed

-- name: entry
SELECT keeps.tenant_hash($1) AS tenant_hash, state, bundle, started_at, frozen_at, revision, held, bytes, digest, sealed,
    sealed_keys, key_id
FROM keeps.frozen_tenant($1)

-- name: entries
SELECT tenant_hash, state, bundle, started_at, frozen_at, revision, held, bytes, sealed, sealed_keys, key_id
FROM keeps.list_frozen($1, $2)

-- name: find_key
SELECT bundle, sealed_keys, key_id FROM keeps.find_frozen_key($1)

-- name: note_use
SELECT keeps.note_use($1, $2)

-- name: unused
SELECT tenant_id, used_at FROM keeps.unused_tenants($1, $2)
