-- What the worker asks over all tenants: names of jobs and ids of tenants, never content.

-- name: declare_jobs
-- $1: names · $2: how often each is due
SELECT keeps.declare_jobs($1, $2)

-- name: take_due_jobs
SELECT tenant_id, job FROM keeps.take_due_jobs($1, $2)

-- name: queue_counts
-- reads: QueueStatus
-- How many jobs are queued, at work, and held after all attempts.
SELECT entrypoint AS job, status::text AS status, count(*) AS jobs, min(created) AS oldest
FROM keeps_jobs.pgqueuer GROUP BY entrypoint, status ORDER BY entrypoint, status

-- name: jobs_held
-- reads: HeldJob
-- Dead letters: jobs that failed after all attempts, oldest first.
SELECT id, entrypoint AS job, convert_from(payload, 'UTF8') AS tenant_id, attempts, updated AS failed_at
FROM keeps_jobs.pgqueuer WHERE status = 'failed' ORDER BY id LIMIT $1

-- name: job_retry
-- One of them again, or all of them.
UPDATE keeps_jobs.pgqueuer SET status = 'queued', attempts = 0, execute_after = now(), updated = now(),
    queue_manager_id = NULL, slot = NULL
WHERE status = 'failed' AND ($1::bigint IS NULL OR id = $1)
RETURNING id
