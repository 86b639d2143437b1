-- Receipts of jobs, what undoing them needs, and whom they concern.

-- name: users_due
-- Users of the tenant with work for a job, after one of them. Ids only.
SELECT user_id FROM keeps.users_due($1, $2, $3, $4)

-- name: memories_lock_many
-- Some of one's own memories, whatever became of them.
SELECT /*:memory memories*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND memory_id = ANY ($3::uuid[])
FOR UPDATE

-- name: operation_start
-- The receipt of a run, at its first change.
INSERT INTO keeps.operations (tenant_id, operation_id, job, status, counts, started_at)
    VALUES ($1, $2, $3, 'running', '{}', $4)
ON CONFLICT DO NOTHING

-- name: operation_finish
INSERT INTO keeps.operations (tenant_id, operation_id, job, started_at, status, counts, error, finished_at)
VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8)
ON CONFLICT (tenant_id, operation_id) DO UPDATE
SET status = EXCLUDED.status, counts = EXCLUDED.counts, error = EXCLUDED.error, finished_at = EXCLUDED.finished_at
RETURNING tenant_id, operation_id, job, status, counts, error, started_at, finished_at, undone_at, undone_by

-- name: job_reschedule
-- Set when a job of the tenant is next due. $2: when it ran · $3: one period later, or at once · $4: if there is no
-- work, at the latest
SELECT keeps.reschedule_job($1, $2, $3, $4)

-- name: operation_changes_insert
-- $4: how the changed fields were before, null for a memory that the operation made · $5: how it left them
INSERT INTO keeps.operation_changes (tenant_id, operation_id, memory_id, user_id, before, after)
SELECT $1, $2, change.memory_id, $6, change.before, change.after
FROM unnest($3::uuid[], $4::jsonb[], $5::jsonb[]) AS change(memory_id, before, after)
ON CONFLICT (tenant_id, operation_id, memory_id) DO UPDATE SET after = EXCLUDED.after

-- name: operations_page
-- Newest first. $2: of one job, or null · $3: of one status, or null · $4, $5: the last of the page before, or null
SELECT tenant_id, operation_id, job, status, counts, error, started_at, finished_at, undone_at, undone_by
FROM keeps.operations
WHERE tenant_id = $1 AND ($2::text IS NULL OR job = $2) AND ($3::text IS NULL OR status = $3)
  AND ($4::timestamptz IS NULL OR (started_at, operation_id) < ($4, $5::uuid))
ORDER BY started_at DESC, operation_id DESC
LIMIT $6

-- name: operation_get
SELECT tenant_id, operation_id, job, status, counts, error, started_at, finished_at, undone_at, undone_by
FROM keeps.operations WHERE tenant_id = $1 AND operation_id = $2

-- name: operation_changes_of
-- One's own changes of an operation, in order of ids, after $4.
SELECT memory_id, before, after FROM keeps.operation_changes
WHERE tenant_id = $1 AND user_id = $2 AND operation_id = $3 AND memory_id > $4
ORDER BY memory_id
LIMIT $5

-- name: operation_undone
UPDATE keeps.operations SET status = 'undone', undone_at = $3, undone_by = $4, counts = $5::jsonb
    WHERE tenant_id = $1 AND operation_id = $2

