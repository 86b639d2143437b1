-- The log of recalls and contexts.

-- name: requests_log
-- Store requests of users of one tenant. $2: the number that each user keeps.
SELECT keeps.log_requests($1, $2)

-- name: requests_page
-- reads: LoggedRequest
-- One user's requests, newest first. $3: those before this one. $4: the kind. $5: only those that found nothing.
SELECT request_id, user_id, agent_id, session_id, kind, door, query, asked_at, took_ms, hits, left_out, found_nothing
FROM keeps.requests
WHERE tenant_id = $1 AND user_id = $2 AND ($3::uuid IS NULL OR request_id < $3) AND ($4::text IS NULL OR kind = $4)
  AND (NOT $5::boolean OR found_nothing)
ORDER BY request_id DESC LIMIT $6

-- name: request_samples
-- reads: RequestSample
-- The newest requests of one user, for curves. $3: only those since · $4: how many, at most as many as a user keeps
SELECT kind, asked_at, took_ms, found_nothing FROM keeps.requests
WHERE tenant_id = $1 AND user_id = $2 AND asked_at >= $3 ORDER BY request_id DESC LIMIT $4

-- name: request_owners
-- Owners of the tenant's requests, newest first. $1: those before this one. $2: the kind. $3: only those that found
-- nothing.
SELECT request_id, user_id FROM keeps.request_owners($1, $2, $3, $4)

-- name: requests_named
-- reads: LoggedRequest
SELECT request_id, user_id, agent_id, session_id, kind, door, query, asked_at, took_ms, hits, left_out, found_nothing
FROM keeps.requests WHERE tenant_id = $1 AND user_id = $2 AND request_id = ANY ($3::uuid[])

-- name: request_get
-- reads: RequestDetail
SELECT request_id, user_id, agent_id, session_id, kind, door, query, asked_at, took_ms, hits, left_out, found_nothing,
    arguments, answer, omitted
FROM keeps.requests WHERE tenant_id = $1 AND user_id = $2 AND request_id = $3

-- name: requests_forget
DELETE FROM keeps.requests WHERE tenant_id = $1 AND user_id = $2 AND asked_at < $3

-- name: request_insert
INSERT INTO keeps.requests (tenant_id, request_id, user_id, agent_id, session_id, kind, door, query, arguments,
    asked_at, took_ms, hits, left_out, found_nothing, answer, omitted)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (tenant_id, request_id) DO NOTHING
RETURNING request_id

-- name: export_requests
SELECT request_id, to_jsonb(requests) AS row FROM keeps.requests
WHERE tenant_id = $1 AND user_id = $2 AND request_id > $3::uuid ORDER BY request_id LIMIT 50
