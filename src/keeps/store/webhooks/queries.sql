-- Webhooks of the tenant, and events that they could not be given.

-- name: webhook_insert
-- It begins with the events after the present one. Nothing comes back where the tenant has $8 already.
INSERT INTO keeps.webhooks (tenant_id, webhook_id, url, types, secret, active, position, next_attempt_at, created_by,
    created_at)
SELECT $1, $2, $3, $4, $5, true, tenants.last_sequence, $7, $6, $7
FROM keeps.tenants WHERE tenants.tenant_id = $1 AND (SELECT count(*) FROM keeps.webhooks WHERE tenant_id = $1) < $8
RETURNING position

-- name: webhook_list
-- reads: Webhook
SELECT tenant_id, webhook_id, url, types, active, position, attempts, next_attempt_at, last_error, last_delivered_at,
    created_by, created_at,
       (SELECT count(*) FROM keeps.webhook_failures
        WHERE webhook_failures.tenant_id = $1 AND webhook_failures.webhook_id = webhooks.webhook_id) AS failures
FROM keeps.webhooks WHERE tenant_id = $1 ORDER BY created_at DESC, webhook_id DESC

-- name: webhook_delete
DELETE FROM keeps.webhooks WHERE tenant_id = $1 AND webhook_id = $2 RETURNING webhook_id

-- name: webhook_failures
-- reads: WebhookFailure
-- Dead letters, newest first, bounded.
SELECT webhook_id, sequence, attempts, error, failed_at FROM keeps.webhook_failures
WHERE tenant_id = $1 AND webhook_id = $2 ORDER BY sequence DESC LIMIT 200

-- name: webhook_retry
-- Go back to the first dead letter, so that it and what follows is sent again; and at once.
WITH first AS (
    SELECT min(sequence) AS sequence FROM keeps.webhook_failures WHERE tenant_id = $1 AND webhook_id = $2
), cleared AS (
    DELETE FROM keeps.webhook_failures WHERE tenant_id = $1 AND webhook_id = $2
)
UPDATE keeps.webhooks
SET position = LEAST(position, COALESCE((SELECT sequence - 1
    FROM first), position)), attempts = 0, next_attempt_at = $3, active = true
WHERE tenant_id = $1 AND webhook_id = $2
RETURNING webhook_id

-- name: webhook_lease
-- Take a webhook that is due, for a while: one server at a time sends its events, in order.
UPDATE keeps.webhooks SET leased_until = $4
WHERE tenant_id = $1 AND webhook_id = $2 AND active AND next_attempt_at <= $3 AND (leased_until IS NULL
    OR leased_until < $3)
RETURNING url, types, secret, position, attempts

-- name: webhook_moved
-- Everything up to $3 is delivered, or given up.
UPDATE keeps.webhooks SET position = $3, attempts = 0, leased_until = $4, last_error = NULL,
    last_delivered_at = COALESCE($5, last_delivered_at)
WHERE tenant_id = $1 AND webhook_id = $2

-- name: webhook_release
-- Let go of it, until something is due again.
UPDATE keeps.webhooks SET leased_until = NULL, attempts = $3, next_attempt_at = $4, last_error = $5
    WHERE tenant_id = $1 AND webhook_id = $2

-- name: webhook_give_up
-- The dead letter.
INSERT INTO keeps.webhook_failures (tenant_id, webhook_id, sequence, attempts, error, failed_at)
    VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, webhook_id, sequence)
    DO UPDATE SET attempts = EXCLUDED.attempts, error = EXCLUDED.error, failed_at = EXCLUDED.failed_at

-- name: webhooks_behind
-- Over all tenants: how many have something to send, and the seconds that the oldest of it has waited.
SELECT behind, COALESCE(GREATEST(0, extract(epoch FROM now() - since)), 0)::float8 AS seconds
    FROM keeps.webhooks_behind()

-- name: webhooks_due
-- Over all tenants, ids only.
SELECT tenant_id, webhook_id FROM keeps.webhooks_due($1, $2)
