-- What jobs do to the memories of one user.

-- name: memories_faded
-- One's own short-term memories whose retention has fallen under the limit, the longest ago first; readings put it off.
-- $3 now · $4 how many
SELECT /*:memory memories*/
FROM keeps.memories LEFT JOIN keeps.memory_access
  ON memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.layer = 'short_term'
  AND memories.archived_at IS NULL AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL
  AND keeps.fades_at(memories.importance, 0, memories.updated_at) <= $3
  AND keeps.fades_at(memories.importance, COALESCE(memory_access.access_count, 0),
                     GREATEST(memories.updated_at, memory_access.last_accessed_at)) <= $3
  AND NOT keeps.was_undone($1, memories.memory_id, 'decay')
ORDER BY keeps.fades_at(memories.importance, 0, memories.updated_at)
LIMIT $4
FOR UPDATE OF memories

-- name: memory_meanings
-- What some memories mean, as the model $3 reads them.
SELECT memory_id, embedding FROM keeps.memory_vectors WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])
    AND model = $3

-- name: promotions_undone
-- Of some memories those whose promotion was undone, whichever job had promoted them.
SELECT wanted.memory_id, $1::text AS tenant_id FROM unnest($2::uuid[]) AS wanted(memory_id)
WHERE EXISTS (SELECT FROM keeps.operation_changes JOIN keeps.operations USING (tenant_id, operation_id)
              WHERE operation_changes.tenant_id = $1 AND operation_changes.memory_id = wanted.memory_id
                AND operation_changes.after ->> 'layer' = 'long_term' AND operations.status = 'undone')

-- name: memories_promotable
-- One's own short-term memories that may pass the gate, with how they were read: important ones, and those that were
-- recalled. In order of their ids, after $3. $4: important enough alone · $5: important enough if read · $6: created
-- before · $7 how many
SELECT /*:memory memories*/,
       COALESCE(memory_access.access_count, 0) AS access_count,
       GREATEST(memories.updated_at, memory_access.last_accessed_at) AS last_used_at
FROM keeps.memories LEFT JOIN keeps.memory_access
  ON memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.layer = 'short_term'
  AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL AND memories.created_at <= $6
  AND memories.memory_id > $3
  AND (memories.importance >= $4 OR (memories.importance >= $5 AND memory_access.access_count > 0))
ORDER BY memories.memory_id
LIMIT $7
FOR UPDATE OF memories

-- name: memories_may_pass
-- The same without locks, for looking only: one's own short-term memories that may pass the gate, with how they were
-- read: important ones, and those that were recalled. In order of their ids, after $3. $4: important enough alone · $5:
-- important enough if read · $6: created before · $7 how many
SELECT memories.memory_id, memories.content, memories.importance, memories.created_at,
       COALESCE(memory_access.access_count, 0) AS access_count,
       GREATEST(memories.updated_at, memory_access.last_accessed_at) AS last_used_at
FROM keeps.memories LEFT JOIN keeps.memory_access
  ON memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.layer = 'short_term'
  AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL AND memories.created_at <= $6
  AND memories.memory_id > $3
  AND (memories.importance >= $4 OR (memories.importance >= $5 AND memory_access.access_count > 0))
ORDER BY memories.memory_id
LIMIT $7

-- name: memories_expired
-- One's own memories whose time is over.
SELECT /*:memory memories*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND expires_at IS NOT NULL AND deleted_at IS NULL AND expires_at <= $3
ORDER BY expires_at
LIMIT $4
FOR UPDATE

-- name: session_notes_expire
-- Those that still wait to be consolidated stay.
DELETE FROM keeps.session_notes WHERE tenant_id = $1 AND user_id = $2 AND expires_at <= $3 AND consolidate_at IS NULL

-- name: operation_changes_close
-- The window for undoing is over: what it needed goes.
DELETE FROM keeps.operation_changes USING keeps.operations
WHERE operation_changes.tenant_id = $1 AND operation_changes.user_id = $2
  AND operations.tenant_id = $1 AND operations.operation_id = operation_changes.operation_id
  AND operations.started_at < $3

-- name: operations_forget
DELETE FROM keeps.operations WHERE tenant_id = $1 AND started_at < $2

-- name: storage_sample
-- What the tenant holds today.
INSERT INTO keeps.storage_samples (tenant_id, day, memories, bytes, events)
SELECT tenant_id, $2::date, memory_count, memory_bytes, last_sequence FROM keeps.tenants WHERE tenant_id = $1
ON CONFLICT (tenant_id, day) DO UPDATE
    SET memories = EXCLUDED.memories, bytes = EXCLUDED.bytes, events = EXCLUDED.events

-- name: facts_changed
-- One's own lasting facts without a key that are new since $3, in order of their ids, with the vector of their meaning.
SELECT memories.memory_id, memories.content, memories.namespace, memories.visibility, memories.agent_id,
    memories.session_id, memories.metadata -> 'app_id' AS app_id, memory_vectors.embedding
FROM keeps.memories JOIN keeps.memory_vectors
  ON memory_vectors.tenant_id = $1 AND memory_vectors.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.kind = 'semantic'
    AND memories.layer = 'long_term' AND memories.key IS NULL
  AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL AND memories.archived_at IS NULL
  AND memories.valid_to IS NULL
  AND memories.updated_at > $3 AND memories.memory_id > $4
  AND NOT keeps.was_undone($1, memories.memory_id, 'consolidation')
ORDER BY memories.memory_id LIMIT $5

-- name: facts_alike
-- One's own lasting facts without a key whose meaning is nearest to $4, but for $3 itself.
SELECT memories.memory_id, memories.content, memories.namespace, memories.visibility, memories.agent_id,
       memories.session_id, memories.metadata -> 'app_id' AS app_id,
       1 - (memory_vectors.embedding <=> $4::halfvec) AS similarity
FROM keeps.memory_vectors JOIN keeps.memories
  ON memories.tenant_id = $1 AND memories.memory_id = memory_vectors.memory_id
WHERE memory_vectors.tenant_id = $1 AND memory_vectors.audience IN ($2, '') AND memory_vectors.life = 'current'
  AND memories.user_id = $2 AND memories.kind = 'semantic' AND memories.layer = 'long_term' AND memories.key IS NULL
  AND memories.valid_to IS NULL AND memories.memory_id <> $3
  AND NOT keeps.was_undone($1, memories.memory_id, 'consolidation')
ORDER BY memory_vectors.embedding <=> $4::halfvec
LIMIT 5

-- name: clusters_old
-- What has faded and belongs to no conversation, by agent, kind of activity and week: those of five and more. What an
-- undone run has seen is left alone: a summary that was taken back leaves no row that says so.
SELECT COALESCE(agent_id, '') AS agent_id, content_type, date_trunc('week', valid_from, 'UTC') AS week,
    count(*) AS memories
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND layer = 'short_term' AND kind = 'episodic' AND session_id IS NULL
    AND archived_at IS NOT NULL AND archived_at > $3
    AND archived_at > (SELECT COALESCE(max(started_at), '-infinity') FROM keeps.operations
                       WHERE operations.tenant_id = $1 AND job = 'consolidation' AND status = 'undone')
  AND deleted_at IS NULL AND superseded_by IS NULL AND content_type <> 'summary'
  AND role IS DISTINCT FROM 'tool' AND source IS NULL AND NOT metadata ? 'trust'
GROUP BY 1, 2, 3 HAVING count(*) >= 5
ORDER BY 3, 1, 2 LIMIT 100

-- name: cluster_memories
SELECT memory_id, content, role, valid_from, expires_at FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND layer = 'short_term' AND kind = 'episodic' AND session_id IS NULL
    AND archived_at IS NOT NULL
  AND deleted_at IS NULL AND superseded_by IS NULL AND content_type = $4 AND COALESCE(agent_id, '') = $3
  AND valid_from >= $5::timestamptz AND valid_from < $5::timestamptz + interval '7 days'
  AND role IS DISTINCT FROM 'tool' AND source IS NULL AND NOT metadata ? 'trust' AND (expires_at IS NULL
      OR expires_at > $6)
ORDER BY valid_from, memory_id LIMIT 500

-- name: memories_stale
-- Lasting facts of little weight that nobody read for half a year, and that are not flagged yet. $3: half a year ago
SELECT /*:memory memories*/
FROM keeps.memories LEFT JOIN keeps.memory_access
  ON memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.kind = 'semantic' AND memories.layer = 'long_term'
  AND memories.deleted_at IS NULL AND memories.superseded_by IS NULL AND memories.importance < 0.6
  AND NOT memories.metadata ? 'stale_since'
  AND GREATEST(memories.updated_at, memory_access.last_accessed_at) < $3
  AND memories.content_type <> 'source' AND NOT keeps.was_undone($1, memories.memory_id, 'consolidation')
ORDER BY memories.memory_id LIMIT $4
FOR UPDATE OF memories
