-- What goes out, a page at a time; each as the user whose rows they are. And erasure.

-- name: export_users
SELECT user_id FROM keeps.users_of_tenant()

-- name: export_memories
-- Current truths first, since older ones name them.
SELECT superseded_by IS NOT NULL AS older, memory_id, to_jsonb(memories) AS row FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND (superseded_by IS NOT NULL, memory_id) > ($3::boolean, $4::uuid)
ORDER BY superseded_by IS NOT NULL, memory_id LIMIT 500

-- name: export_sessions
SELECT to_jsonb(sessions) AS row FROM keeps.sessions WHERE tenant_id = $1 AND user_id = $2 ORDER BY created_at, session_id

-- name: export_plans
-- Oldest first: a parent is older than its sub-plans.
SELECT to_jsonb(plans) AS row FROM keeps.plans WHERE tenant_id = $1 AND user_id = $2 ORDER BY created_at, plan_id

-- name: export_task_contexts
SELECT to_jsonb(task_contexts) AS row FROM keeps.task_contexts WHERE tenant_id = $1 AND user_id = $2 ORDER BY created_at, task_id

-- name: export_working_memory
SELECT to_jsonb(working_memory) AS row FROM keeps.working_memory WHERE tenant_id = $1 AND user_id = $2 ORDER BY plan_id, key

-- name: import_working
-- A key that is there stays as it is.
INSERT INTO keeps.working_memory (tenant_id, plan_id, key, user_id, value, version, expires_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5::jsonb, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING key

-- name: count_rows
SELECT name, held FROM keeps.count_rows($1)

-- name: erase_user
SELECT keeps.erase_user() AS redacted

-- name: erase_tenant
SELECT keeps.erase_tenant()

-- name: tenants_list
SELECT tenant_id, users, memories, bytes, max_memories, max_bytes, created_at FROM keeps.list_tenants($1, $2)

-- name: tenant_quota
UPDATE keeps.tenants SET max_memories = $2, max_bytes = $3 WHERE tenant_id = $1
RETURNING tenant_id, memory_count AS memories, memory_bytes AS bytes, max_memories, max_bytes, created_at
