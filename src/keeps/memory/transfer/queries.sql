-- Export of users, erasure, tenants.

-- name: export_users
SELECT user_id FROM keeps.users_of_tenant()

-- name: users_after
SELECT user_id FROM keeps.users_of_tenant() WHERE user_id > $1 ORDER BY user_id LIMIT $2
-- name: users_beginning
SELECT user_id FROM keeps.find_users($1, $2)

-- name: tenants_beginning
SELECT tenant_id FROM keeps.find_tenants($1, $2)

-- name: count_rows
SELECT name, held FROM keeps.count_rows($1)

-- name: left_over
-- Cells in which a move has left rows of a tenant, which is elsewhere.
SELECT cell AS is_in FROM keeps.tenants_elsewhere() WHERE tenant_id = $1 AND NOT arriving

-- name: leave_shared_state
-- Before counting what erasure removes: keys that others wrote, too, become theirs.
SELECT keeps.leave_shared_state()

-- name: erase_user
SELECT keeps.erase_user() AS redacted

-- name: erase_tenant
SELECT keeps.erase_tenant()

-- name: erased_from
-- The database of a transaction, and how far the tenant's log and its chain go.
SELECT current_database() AS database, host(inet_server_addr()) || ':' || inet_server_port() AS server, last_sequence,
    encode(chain_hash, 'hex') AS hash
FROM keeps.tenants WHERE tenant_id = $1

-- name: tenants_list
-- reads: TenantInfo without cell, state
SELECT tenant_id, users, memories, bytes, max_memories, max_bytes, created_at FROM keeps.list_tenants($1, $2)

-- name: tenant_quota
-- $2, $3: the limits · $4, $5: whether each is given; what is not stays.
UPDATE keeps.tenants SET max_memories = CASE WHEN $4 THEN $2 ELSE max_memories END, max_bytes = CASE WHEN $5
    THEN $3 ELSE max_bytes END
WHERE tenant_id = $1
RETURNING tenant_id, memory_count AS memories, memory_bytes + state_bytes AS bytes, max_memories, max_bytes, created_at
