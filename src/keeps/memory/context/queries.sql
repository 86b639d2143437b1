-- What the router asks of the database besides recall.

-- name: scope_position
-- The number of the last event that this scope could see: its own, or one about what the tenant shares. While it stays,
-- so does every answer.
SELECT GREATEST(
    (SELECT sequence FROM keeps.events WHERE tenant_id = $1 AND user_id = $2 ORDER BY sequence DESC LIMIT 1),
    (SELECT sequence FROM keeps.events WHERE tenant_id = $1 AND visibility = 'tenant'
        ORDER BY sequence DESC LIMIT 1), 0) AS position

-- name: last_conversation
-- The notes of the user's last conversation but this one.
SELECT notes FROM keeps.session_notes
WHERE tenant_id = $1 AND user_id = $2 AND session_id IS DISTINCT FROM $3 AND expires_at > $4
ORDER BY expires_at DESC LIMIT 1

-- name: last_summary
-- The summary of the user's last conversation that is over.
SELECT memory_id, content, metadata, valid_from FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = 'sessions' AND key IS NOT NULL AND deleted_at IS NULL
    AND superseded_by IS NULL
  AND session_id IS DISTINCT FROM $3
ORDER BY valid_from DESC, updated_at DESC LIMIT 1

-- name: sources_known
-- What can be looked up: what the tenant shares, and one's own.
SELECT memory_id, user_id, key AS name, content, value, visibility, updated_at FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant') AND namespace = 'sources' AND key IS NOT NULL
    AND content_type = 'source' AND value ->> 'kind' IN ('document', 'database', 'api')
  AND deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > $3)
ORDER BY key, memory_id LIMIT $4

-- name: sources_fingerprint
-- What changes when anything that can be looked up does, or has its vector. $4: the model.
SELECT count(*) AS sources, max(updated_at) AS changed, sum(version) AS versions,
    count(*) FILTER (WHERE EXISTS (SELECT FROM keeps.memory_vectors AS held
                                   WHERE held.tenant_id = $1 AND held.memory_id = memories.memory_id
                                     AND held.model = $4)) AS vectors
FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant') AND namespace IN ('sources', 'tools')
    AND key IS NOT NULL AND content_type = 'source' AND value ->> 'kind' IN ('document', 'database', 'api')
  AND deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > $3)

-- name: sources_shelf
-- What can be looked up, tools too, each with its vector as it is sent. $5: the model.
SELECT memory_id, user_id, key AS name, content, value, visibility, updated_at,
    (SELECT halfvec_send(held.embedding) FROM keeps.memory_vectors AS held
     WHERE held.tenant_id = $1 AND held.memory_id = memories.memory_id AND held.model = $5) AS vector
FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant') AND namespace IN ('sources', 'tools')
    AND key IS NOT NULL AND content_type = 'source' AND value ->> 'kind' IN ('document', 'database', 'api')
  AND deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > $3)
ORDER BY key, memory_id LIMIT $4

-- name: tools_known
-- The tools: what the tenant shares, and one's own.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant') AND namespace = 'tools' AND key IS NOT NULL
  AND content_type = 'source' AND value ->> 'kind' = 'api' AND deleted_at IS NULL AND superseded_by IS NULL
  AND (expires_at IS NULL OR expires_at > $3)
ORDER BY key, memory_id LIMIT $4

-- name: facts_of_user
-- What is known of the user, the most important first.
SELECT memory_id, content, role, source, metadata, importance, valid_from FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = 'facts' AND key IS NOT NULL AND key LIKE 'user/%'
  AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL AND (valid_to IS NULL OR valid_to > $3)
ORDER BY importance DESC, valid_from DESC LIMIT 10

-- name: standing
-- One's own memories that are told whatever is asked: what defines the user, what matters most, and skills that the
-- agent $3 may use; the most important first, then the newest. What ends by itself is not among them, but for dated
-- facts, until their date. $4 how many · $5 now
SELECT memory_id FROM (
    (SELECT memory_id, kind, importance, created_at FROM keeps.memories
     WHERE tenant_id = $1 AND user_id = $2 AND kind = 'semantic' AND importance >= 0.7
       AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL AND expires_at IS NULL
       AND valid_to IS NULL AND content_type <> 'source'
     ORDER BY importance DESC, created_at DESC, memory_id DESC LIMIT $4)
    UNION
    (SELECT memory_id, kind, importance, created_at FROM keeps.memories
     WHERE tenant_id = $1 AND user_id = $2 AND namespace = 'facts' AND key IS NOT NULL AND key LIKE 'user/%'
       AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL AND expires_at IS NULL
       AND valid_to IS NULL
     ORDER BY importance DESC, created_at DESC, memory_id DESC LIMIT $4)
    UNION
    (SELECT memory_id, kind, importance, created_at FROM keeps.memories
     WHERE tenant_id = $1 AND user_id = $2 AND namespace = 'facts' AND key >= 'user/statement/'
       AND key < 'user/statement0' AND deleted_at IS NULL AND superseded_by IS NULL AND expires_at > $5
       AND valid_to IS NULL
     ORDER BY expires_at, memory_id LIMIT $4)
    UNION
    (SELECT memory_id, kind, importance, created_at FROM keeps.memories
     WHERE tenant_id = $1 AND user_id = $2 AND kind = 'procedural'
       AND ($3::text IS NULL OR agent_id IS NULL OR agent_id = $3)
       AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL AND expires_at IS NULL
       AND valid_to IS NULL
     ORDER BY importance DESC, created_at DESC, memory_id DESC LIMIT $4)
) AS found
ORDER BY kind DESC, importance DESC, created_at DESC, memory_id DESC

-- name: still_there
-- Of some memories, those that this scope can still see and that are true now, with their versions.
SELECT memory_id, version FROM keeps.memories
WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[]) AND deleted_at IS NULL AND superseded_by IS NULL
  AND (expires_at IS NULL OR expires_at > $3) AND (valid_to IS NULL OR valid_to > $3)
