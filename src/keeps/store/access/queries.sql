-- Keys of access.

-- name: key_insert
INSERT INTO keeps.api_keys (tenant_id, key_id, user_id, agent_id, name, key_hash, hint, roles, created_by, created_at,
    expires_at, limits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)

-- name: key_list
-- reads: KeyInfo
SELECT tenant_id, key_id, user_id, agent_id, name, hint, roles, limits, created_by, created_at, expires_at, last_used_at,
    revoked_at
FROM keeps.api_keys WHERE tenant_id = $1 ORDER BY created_at DESC, key_id DESC LIMIT 1000

-- name: key_revoke
-- reads: KeyInfo
-- A key that is revoked already stays as it is.
UPDATE keeps.api_keys SET revoked_at = COALESCE(revoked_at, $3) WHERE tenant_id = $1 AND key_id = $2
RETURNING tenant_id, key_id, user_id, agent_id, name, hint, roles, limits, created_by, created_at, expires_at, last_used_at,
    revoked_at

-- name: key_find
-- The one question before there is a tenant.
SELECT tenant_id, key_id, user_id, agent_id, roles, limits, expires_at, revoked_at FROM keeps.find_key($1)
