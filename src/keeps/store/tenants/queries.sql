-- Tenants and users: local replicas, so that foreign keys hold and deletions cascade.

-- name: tenant_ensure
INSERT INTO keeps.tenants (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING

-- name: user_ensure
INSERT INTO keeps.users (tenant_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: users_since
-- When the rows of users were made: one that was erased, or came again, has another. $1, $2: tenants and users, side by
-- side
SELECT tenant_id, user_id, since FROM keeps.users_since($1, $2)
