-- Tenants and users: local replicas, so that foreign keys hold and deletions cascade.

-- name: tenant_ensure
INSERT INTO keeps.tenants (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING

-- name: user_ensure
INSERT INTO keeps.users (tenant_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: users_since
-- When the rows of users were made: one that was erased, or came again, has another. $1, $2: tenants and users, side by
-- side
SELECT tenant_id, user_id, since FROM keeps.users_since($1, $2)

-- name: counts_compare
-- The counters of the tenant of the transaction, and what its rows give. $1: also bytes, which reads all rows
SELECT name, model, kept, held, made_at, counted_at FROM keeps.compare_counts($1)

-- name: counts_correct
-- Add the differences $5 to the counters $3 of the models $4, if they are still those that were compared.
SELECT keeps.correct_counts($1, $2, $3, $4, $5) AS corrected
