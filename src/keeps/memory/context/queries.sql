-- What the router asks of the database besides recall.

-- name: context_rows
-- The notes of conversations, the state of the sources and memories that are told whatever is asked. Names its scope
-- itself: it is a transaction of its own. $1 tenant · $2 user · $3 bound agent · $4 parts · $5 session · $6 agent that
-- asks · $7 now · $8 model · $9 messages of a conversation without notes · $10 memories of each kind · $11 acting user
SELECT elsewhere, part, notes, last_notes, sources, changed, versions, vectors, /*:memory memory*/
FROM (SELECT set_config('app.acting_user', $11, true) AS acting_user OFFSET 0) AS entered,
    LATERAL keeps.context_rows(CASE WHEN acting_user IS NOT NULL THEN $1 END, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS told, LATERAL (SELECT (told.memory).*) AS memory

-- name: sources_known
-- What can be looked up: what the tenant and one's spaces share, and one's own.
SELECT memory_id, user_id, key AS name, content, value, visibility, updated_at FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant' OR user_id = ANY (keeps.open_spaces('reader'))) AND namespace = 'sources' AND key IS NOT NULL
    AND content_type = 'source' AND value ->> 'kind' IN ('document', 'database', 'api')
  AND deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > $3)
ORDER BY key, memory_id LIMIT $4

-- name: sources_shelf
-- What can be looked up, tools too, each with its vector as it is sent. $5: the model.
SELECT memory_id, user_id, key AS name, content, value, visibility, updated_at,
    (SELECT halfvec_send(held.embedding) FROM keeps.memory_vectors AS held
     WHERE held.tenant_id = $1 AND held.memory_id = memories.memory_id AND held.model = $5) AS vector
FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant' OR user_id = ANY (keeps.open_spaces('reader'))) AND namespace IN ('sources', 'tools')
    AND key IS NOT NULL AND content_type = 'source' AND value ->> 'kind' IN ('document', 'database', 'api')
  AND deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > $3)
ORDER BY key, memory_id LIMIT $4

-- name: tools_known
-- The tools: what the tenant and one's spaces share, and one's own.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant' OR user_id = ANY (keeps.open_spaces('reader'))) AND namespace = 'tools' AND key IS NOT NULL
  AND content_type = 'source' AND value ->> 'kind' = 'api' AND deleted_at IS NULL AND superseded_by IS NULL
  AND (expires_at IS NULL OR expires_at > $3)
ORDER BY key, memory_id LIMIT $4
