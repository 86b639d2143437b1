-- What index_words says to PostgreSQL, as keeps_owner.

-- name: enter
SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true)

-- name: later
SELECT set_config('app.fold_later', $1, true)

-- name: fold
SELECT keeps.fold_words(tenant_id, audience, life) FROM keeps.audience_words WHERE tenant_id = $1

-- name: owners
SELECT DISTINCT tenant_id, user_id FROM keeps.memories ORDER BY tenant_id, user_id

-- name: tenants
SELECT tenant_id FROM keeps.tenants

-- name: signs
INSERT INTO keeps.vector_bits (tenant_id, audience, life, folded, first, model, size, packed)
SELECT $1, held.audience, held.life, true, place / 1024 * 1024, model, 4 + max(octet_length(signs)),
    string_agg(int4send(place) || signs, '' ORDER BY place)
FROM keeps.memory_words AS held JOIN (
    SELECT memory_id, model, substring(varbit_send(binary_quantize(embedding)::bit varying) FROM 5) AS signs
    FROM keeps.memory_vectors WHERE tenant_id = $1) AS meant USING (memory_id)
WHERE held.tenant_id = $1
GROUP BY held.audience, held.life, place / 1024, model

-- name: read
SELECT memory_id, kind, content, metadata::text AS metadata, trigger_condition, layer, tags, key FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND ($3::uuid IS NULL OR memory_id > $3) ORDER BY memory_id LIMIT $4

-- name: store
WITH worded AS (
    SELECT memories.tenant_id, memories.memory_id, user_id,
           keeps.words_audience(visibility, deleted_at, user_id) AS audience,
           keeps.memory_life(deleted_at, superseded_by, archived_at) AS life,
           keeps.words_agent(kind, agent_id) AS agent, COALESCE(hashtext(session_id), 0) AS session,
           item.word_count, item.words, item.counts
    FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::bytea[]) AS item(memory_id, word_count, words, counts)
    JOIN keeps.memories ON memories.tenant_id = $1 AND memories.memory_id = item.memory_id
), taken AS MATERIALIZED (
    SELECT audience, life, keeps.take_places(audience, life, count(*)::integer, sum(word_count)) AS place
    FROM worded GROUP BY audience, life
)
INSERT INTO keeps.memory_words (tenant_id, memory_id, user_id, audience, life, agent, place, session, word_count,
    words, counts)
SELECT tenant_id, memory_id, user_id, audience, life, agent,
       taken.place + row_number() OVER (PARTITION BY audience, life ORDER BY memory_id) - 1, session, word_count,
       words, counts
FROM worded JOIN taken USING (audience, life)
