-- The index catching up with the memories.

-- name: users_to_index
-- Over all tenants, ids only, in their order. $1: model · $2, $3: the last tenant and user of the page before · $4: limit
SELECT tenant_id, user_id FROM keeps.users_to_index($1, $2, $3, $4)

-- name: users_waiting
-- Over all tenants, ids only, those that wait longest first.
SELECT tenant_id, user_id FROM keeps.users_waiting($1)

-- name: waiting_of_user
-- How many of one's own memories and items wait for a vector.
SELECT (SELECT count(*) FROM keeps.memory_pending WHERE tenant_id = $1 AND user_id = $2)
       + (SELECT count(*) FROM keeps.item_pending WHERE tenant_id = $1 AND user_id = $2) AS waiting

-- name: memories_to_index
-- One's own memories that wait for a vector, oldest first. Without a version: the memory was forgotten meanwhile.
-- LATERAL with LIMIT looks each one up, also in a database without statistics.
SELECT waiting.memory_id, memories.kind, memories.content, memories.metadata, memories.trigger_condition,
    memories.layer, memories.version
FROM (SELECT memory_id FROM keeps.memory_pending WHERE tenant_id = $1 AND user_id = $2
      ORDER BY memory_id LIMIT $3) AS waiting
    LEFT JOIN LATERAL (
        SELECT * FROM keeps.memories
        WHERE memories.tenant_id = $1 AND memories.memory_id = waiting.memory_id AND deleted_at IS NULL
        LIMIT 1) AS memories ON true
ORDER BY waiting.memory_id

-- name: memories_queue
-- Queue one's own memories without a vector of this model. EXCEPT reads each table once, whatever the plan.
INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id)
SELECT $1, lacking.memory_id, $2 FROM (
    SELECT memory_id FROM keeps.memories WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NULL
    EXCEPT
    SELECT memory_id FROM keeps.memory_vectors WHERE tenant_id = $1 AND user_id = $2 AND model = $3) AS lacking
ON CONFLICT DO NOTHING

-- name: vectors_insert
-- Store vectors of memories that still say what was embedded: the version is compared. Each with the key of its events.
WITH stored AS (
INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding, tokens)
SELECT memories.tenant_id, memories.memory_id, $2, memories.user_id, CASE memories.visibility WHEN 'tenant' THEN ''
    ELSE memories.user_id END,
       keeps.memory_life(memories.deleted_at, memories.superseded_by, memories.archived_at), vector.embedding,
       vector.tokens
FROM unnest($3::uuid[], $4::integer[], $5::halfvec[], $6::bytea[]) AS vector(memory_id, version, embedding, tokens)
CROSS JOIN LATERAL (
    SELECT * FROM keeps.memories WHERE tenant_id = $1 AND memory_id = vector.memory_id AND version = vector.version
    LIMIT 1) AS memories
ON CONFLICT DO NOTHING
RETURNING memory_id
)
SELECT memories.memory_id, COALESCE(memories.namespace || '/' || memories.key, memories.memory_id::text) AS key
FROM stored CROSS JOIN LATERAL (
    SELECT * FROM keeps.memories WHERE tenant_id = $1 AND memory_id = stored.memory_id LIMIT 1) AS memories

-- name: memory_pending_done
-- Those of these memories that have a vector of the model, or are forgotten, wait no longer.
DELETE FROM keeps.memory_pending WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])
  AND (EXISTS (SELECT FROM keeps.memory_vectors WHERE memory_vectors.tenant_id = $1
                 AND memory_vectors.memory_id = memory_pending.memory_id AND memory_vectors.model = $3)
       OR NOT EXISTS (SELECT FROM keeps.memories WHERE memories.tenant_id = $1
                        AND memories.memory_id = memory_pending.memory_id AND memories.deleted_at IS NULL))

-- name: vectors_of_other_models_delete
-- One's own vectors that a change of model left behind.
DELETE FROM keeps.memory_vectors WHERE tenant_id = $1 AND user_id = $2 AND model <> $3

-- name: vectors_delete
-- One's own vectors, to be made anew: their memories wait for new ones.
WITH gone AS (
    DELETE FROM keeps.memory_vectors WHERE tenant_id = $1 AND user_id = $2 RETURNING memory_id
)
INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id) SELECT DISTINCT $1, memory_id, $2 FROM gone
ON CONFLICT DO NOTHING

-- name: installation_counts
SELECT tenants, users, memories, events, vectors FROM keeps.installation_counts()

-- name: index_missing
-- Over all tenants, a number and a time only.
SELECT missing, since FROM keeps.index_missing($1)

-- name: users_with_other_models
-- Over all tenants, ids only.
SELECT tenant_id, user_id FROM keeps.users_with_other_models($1)

-- name: server_version
SELECT 'PostgreSQL ' || current_setting('server_version') || ', pgvector ' || (SELECT extversion FROM pg_extension
    WHERE extname = 'vector')
       || ', as role ' || current_user AS versions

-- name: storage_bytes
SELECT pg_database_size(current_database()) AS bytes
