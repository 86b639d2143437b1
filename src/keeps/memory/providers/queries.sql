-- Which providers a tenant has met.

-- name: provider_list
SELECT tenant_id, provider_id, tier, capabilities, registered_at FROM keeps.providers WHERE tenant_id = $1
    ORDER BY provider_id

-- name: provider_put
INSERT INTO keeps.providers (tenant_id, provider_id, tier, capabilities, registered_at)
    VALUES ($1, $2, $3, $4::jsonb, $5)
ON CONFLICT (tenant_id, provider_id) DO UPDATE
    SET tier = EXCLUDED.tier, capabilities = EXCLUDED.capabilities, registered_at = EXCLUDED.registered_at

-- name: provider_redact
-- What one's own events say of an entry that is gone.
SELECT keeps.redact_own_events($1, ARRAY['memory.written'])
