-- One's own memories in numbers. Each statement is bounded by the owner's index; nothing of others is counted.

-- name: totals
SELECT kind, layer, COALESCE(namespace, '') AS namespace, count(*) AS memories,
    count(*) FILTER (WHERE importance >= 0.7) AS important,
       count(*) FILTER (WHERE metadata ? 'stale_since') AS stale, count(*) FILTER (WHERE kind = 'episodic'
           AND layer = 'long_term') AS promoted
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL
  AND (expires_at IS NULL OR expires_at > $3)
GROUP BY 1, 2, 3

-- name: lives
SELECT count(*) FILTER (WHERE deleted_at IS NOT NULL AND held_for IS NULL) AS forgotten,
       count(*) FILTER (WHERE deleted_at IS NULL AND superseded_by IS NOT NULL) AS superseded,
       count(*) FILTER (WHERE deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NOT NULL) AS archived
FROM keeps.memories WHERE tenant_id = $1 AND user_id = $2

-- name: tags
SELECT tag, count(*) AS memories FROM keeps.memories CROSS JOIN LATERAL unnest(tags) AS tag
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL
GROUP BY tag ORDER BY count(*) DESC, tag LIMIT 20

-- name: used
-- reads: Used
SELECT memories.memory_id, left(memories.content, 200) AS content, memory_access.access_count,
    memory_access.last_accessed_at
FROM keeps.memories JOIN keeps.memory_access ON memory_access.tenant_id = $1
    AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.deleted_at IS NULL
    AND memories.superseded_by IS NULL
ORDER BY memory_access.access_count DESC, memory_access.last_accessed_at DESC LIMIT 10

-- name: used_namespaces
SELECT memories.namespace, sum(memory_access.access_count)::bigint AS readings, count(*) AS memories
FROM keeps.memories JOIN keeps.memory_access ON memory_access.tenant_id = $1
    AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.deleted_at IS NULL
    AND memories.superseded_by IS NULL AND memories.archived_at IS NULL
GROUP BY 1 ORDER BY 2 DESC

-- name: growth
-- reads: Week
SELECT date_trunc('week', created_at, 'UTC')::date AS week, count(*) AS memories FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND created_at > $3::timestamptz - interval '84 days' AND created_at <= $3
GROUP BY 1 ORDER BY 1

-- name: decay_ahead
SELECT count(*) FILTER (WHERE fades <= $3::timestamptz + interval '1 day') AS within_a_day,
    count(*) FILTER (WHERE fades <= $3::timestamptz + interval '7 days') AS within_a_week,
       count(*) AS within_a_month
FROM (SELECT keeps.fades_at(memories.importance, COALESCE(memory_access.access_count, 0), GREATEST(memories.updated_at,
    memory_access.last_accessed_at)) AS fades
      FROM keeps.memories LEFT JOIN keeps.memory_access ON memory_access.tenant_id = $1
          AND memory_access.memory_id = memories.memory_id
      WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.layer = 'short_term'
        AND memories.archived_at IS NULL AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL
        AND keeps.fades_at(memories.importance, 0, memories.updated_at) <= $3::timestamptz + interval '30 days') AS each
WHERE fades <= $3::timestamptz + interval '30 days'

-- name: fading
-- reads: Fading
SELECT memory_id, left(content, 200) AS content, fades AS fades_at
FROM (SELECT memories.memory_id, memories.content, keeps.fades_at(memories.importance,
    COALESCE(memory_access.access_count, 0), GREATEST(memories.updated_at, memory_access.last_accessed_at)) AS fades
      FROM keeps.memories LEFT JOIN keeps.memory_access ON memory_access.tenant_id = $1
          AND memory_access.memory_id = memories.memory_id
      WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.layer = 'short_term'
        AND memories.archived_at IS NULL AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL
        AND keeps.fades_at(memories.importance, 0, memories.updated_at) <= $3::timestamptz + interval '7 days') AS each
WHERE fades <= $3::timestamptz + interval '7 days' ORDER BY fades, memory_id LIMIT 20

-- name: llm_tokens
SELECT job, sum(tokens)::bigint AS tokens FROM keeps.llm_usage
WHERE tenant_id = $1 AND day > $2::date - 30 GROUP BY job ORDER BY 2 DESC

-- name: pending
SELECT count(*) AS pending, min(noticed_at) AS oldest
FROM (SELECT noticed_at FROM keeps.memory_pending WHERE tenant_id = $1 AND user_id = $2
      UNION ALL SELECT noticed_at FROM keeps.item_pending WHERE tenant_id = $1 AND user_id = $2) AS either

-- name: storage
-- reads: StorageSample
-- Of each day, or of the last day before it that has a sample: a tenant that rests is not measured every day.
SELECT days.day::date AS day, held.memories, held.bytes, held.events
FROM generate_series($2::date - 29, $2::date, interval '1 day') AS days(day)
CROSS JOIN LATERAL (SELECT memories, bytes, events FROM keeps.storage_samples
                    WHERE tenant_id = $1 AND storage_samples.day <= days.day
                    ORDER BY storage_samples.day DESC LIMIT 1) AS held
ORDER BY days.day

-- name: kept_experiences
-- What was promoted, the latest first: enough to judge a share.
SELECT content, role FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND kind = 'episodic' AND layer = 'long_term' AND deleted_at IS NULL
    AND superseded_by IS NULL
ORDER BY created_at DESC, memory_id DESC LIMIT 2000
