-- The arms of recall. All run in one read-only transaction as the asking scope.

-- name: recall_statistics
-- How many memories an audience has and how long they are, for BM25. Asked with the term that every memory has.
SELECT count(*) AS memories, COALESCE(sum(term_count), 0)::bigint AS words FROM keeps.memory_terms WHERE tenant_id = $1

-- name: recall_text
-- All memories that hold a wanted term (app.terms, by policy), as parallel lists: 16-byte ids, packed terms with their
-- sizes, lengths in words, and hashed sessions. The limit is a number here: of a parameter a generic plan would think
-- that it is small, and read the whole table for the first rows.
SELECT COALESCE(string_agg(uuid_send(found.memory_id), ''), '') AS ids, COALESCE(string_agg(found.packed, ''),
    '') AS packed,
       array_agg(octet_length(found.packed)) AS sizes, array_agg(found.term_count) AS lengths,
       array_agg(CASE WHEN found.session_id IS NULL THEN 0 ELSE hashtextextended(found.session_id, 0) END) AS sessions
FROM (SELECT memory_id, packed, term_count, session_id
      FROM keeps.memory_terms
      WHERE tenant_id = $1 AND life = ANY ($2::text[])
      LIMIT 50000) AS found

-- name: recall_text_filtered
-- The same among memories that pass a filter, which comes before the limit.
SELECT COALESCE(string_agg(uuid_send(found.memory_id), ''), '') AS ids, COALESCE(string_agg(found.packed, ''),
    '') AS packed,
       array_agg(octet_length(found.packed)) AS sizes, array_agg(found.term_count) AS lengths,
       array_agg(CASE WHEN found.session_id IS NULL THEN 0 ELSE hashtextextended(found.session_id, 0) END) AS sessions
FROM (SELECT memory_terms.memory_id, memory_terms.packed, memory_terms.term_count, memory_terms.session_id
      FROM keeps.memory_terms
      JOIN keeps.memories ON memories.tenant_id = memory_terms.tenant_id AND memories.memory_id = memory_terms.memory_id
      WHERE memory_terms.tenant_id = $1 AND memory_terms.life = ANY ($2::text[]) AND memories.tenant_id = $1
        AND /*:condition*/ true
      LIMIT 50000) AS found

-- name: recall_vector
-- The nearest memories. First pass: the distance of sign bits over the whole audience, read index-only; then the exact
-- distance of the best of those. The question's bits come from a subquery, or a generic plan would make them anew for
-- each row. $4 question · $5 how many pass · $6 how many return
WITH near AS MATERIALIZED (
    SELECT memory_id
    FROM keeps.memory_vectors
    WHERE tenant_id = $1 AND model = $2 AND life = ANY ($3::text[])
    ORDER BY bits <~> (SELECT binary_quantize($4::halfvec)::bit varying)
    LIMIT $5
)
SELECT memory_vectors.memory_id, (1 - (memory_vectors.embedding <=> $4::halfvec))::real AS similarity
FROM near JOIN keeps.memory_vectors
  ON memory_vectors.tenant_id = $1 AND memory_vectors.memory_id = near.memory_id AND memory_vectors.model = $2
ORDER BY memory_vectors.embedding <=> $4::halfvec
LIMIT $6

-- name: recall_vector_exact
-- The nearest memories of a small audience: the exact distance of all, which takes less time than two passes.
SELECT memory_id, (1 - (embedding <=> $4::halfvec))::real AS similarity
FROM keeps.memory_vectors
WHERE tenant_id = $1 AND model = $2 AND life = ANY ($3::text[])
ORDER BY embedding <=> $4::halfvec
LIMIT $5

-- name: recall_vector_filtered
-- The same among memories that pass a filter, which comes before the limit.
WITH near AS MATERIALIZED (
    SELECT memory_vectors.memory_id
    FROM keeps.memory_vectors
    JOIN keeps.memories ON memories.tenant_id = memory_vectors.tenant_id
        AND memories.memory_id = memory_vectors.memory_id
    WHERE memory_vectors.tenant_id = $1 AND memory_vectors.model = $2 AND memory_vectors.life = ANY ($3::text[])
        AND memories.tenant_id = $1
      AND /*:condition*/ true
    ORDER BY memory_vectors.bits <~> (SELECT binary_quantize($4::halfvec)::bit varying)
    LIMIT $5
)
SELECT memory_vectors.memory_id, (1 - (memory_vectors.embedding <=> $4::halfvec))::real AS similarity
FROM near JOIN keeps.memory_vectors
  ON memory_vectors.tenant_id = $1 AND memory_vectors.memory_id = near.memory_id AND memory_vectors.model = $2
ORDER BY memory_vectors.embedding <=> $4::halfvec
LIMIT $6

-- name: recall_fuzzy
-- Memories with a word that looks like $2, a word that nobody wrote: probably a misspelt name. Newest first, bounded by
-- their number and length. Comparing is slow, so only those are compared that hold $6 of its parts $5, as all do that
-- look like it.
SELECT memory_id, similarity
FROM (SELECT memory_id, word_similarity($2, told) AS similarity
      FROM (SELECT memory_id, told
            FROM (SELECT memory_id, told, sum(char_length(told)) OVER (ORDER BY created_at DESC,
                      memory_id DESC) AS characters
                  FROM (SELECT memory_id, created_at,
                            lower(COALESCE(metadata ->> 'speaker', '') || ' ' || left(content, 1000)) AS told
                        FROM keeps.memories
                        WHERE tenant_id = $1
                          AND keeps.memory_life(deleted_at, superseded_by, archived_at) = ANY ($4::text[])
                        ORDER BY created_at DESC, memory_id DESC
                        LIMIT 5000) AS newest) AS counted
            WHERE characters <= 300000
              AND (SELECT count(*) FROM unnest($5::text[]) AS part WHERE strpos(told, part) > 0) >= $6
            OFFSET 0) AS likely) AS compared
WHERE similarity >= $3
ORDER BY similarity DESC
LIMIT 100

-- name: recall_key
-- The memory that has exactly this key.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND namespace = $2 AND key = $3 AND deleted_at IS NULL AND superseded_by IS NULL
LIMIT 10

-- name: recall_neighbours
-- The two turns before and after each of some turns, nearest first, in their conversations. $3: the lives that are
-- asked for
SELECT turn.memory_id,
       ARRAY(SELECT other.memory_id FROM keeps.memories AS other
             WHERE other.tenant_id = $1 AND other.session_id = turn.session_id
               AND (other.valid_from, other.memory_id) < (turn.valid_from, turn.memory_id)
               AND keeps.memory_life(other.deleted_at, other.superseded_by, other.archived_at) = ANY ($3::text[])
             ORDER BY other.valid_from DESC, other.memory_id DESC LIMIT 2) AS before,
       ARRAY(SELECT other.memory_id FROM keeps.memories AS other
             WHERE other.tenant_id = $1 AND other.session_id = turn.session_id
               AND (other.valid_from, other.memory_id) > (turn.valid_from, turn.memory_id)
               AND keeps.memory_life(other.deleted_at, other.superseded_by, other.archived_at) = ANY ($3::text[])
             ORDER BY other.valid_from, other.memory_id LIMIT 2) AS after
FROM keeps.memories AS turn
WHERE turn.tenant_id = $1 AND turn.memory_id = ANY ($2::uuid[]) AND turn.session_id IS NOT NULL

-- name: recall_candidates
-- What scoring needs of each candidate. LIMIT 1 keeps each look-up apart: joined, a database that has no statistics
-- yet would read all vectors of the tenant for each candidate.
SELECT memories.memory_id, memories.session_id, memories.kind, memories.role,
    memories.metadata ->> 'speaker' AS speaker,
       memories.valid_from, memories.valid_to, memories.expires_at, memories.updated_at, memories.importance,
       memories.layer, COALESCE(memory_access.access_count, 0) AS access_count,
       GREATEST(memories.updated_at, memory_access.last_accessed_at) AS last_used_at,
       left(memories.content, 400) AS opening, halfvec_send(memory_vectors.embedding) AS sentence, memory_vectors.tokens
FROM keeps.memories
LEFT JOIN LATERAL (
    SELECT access_count, last_accessed_at FROM keeps.memory_access
    WHERE memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
    LIMIT 1) AS memory_access ON true
LEFT JOIN LATERAL (
    SELECT embedding, tokens FROM keeps.memory_vectors
    WHERE memory_vectors.tenant_id = $1 AND memory_vectors.memory_id = memories.memory_id
        AND memory_vectors.model = $3
    LIMIT 1) AS memory_vectors ON true
WHERE memories.tenant_id = $1 AND memories.memory_id = ANY ($2::uuid[])

-- name: recall_candidates_filtered
-- Those of some memories that pass a filter: neighbours must pass it, too.
SELECT memories.memory_id FROM keeps.memories
WHERE memories.tenant_id = $1 AND memories.memory_id = ANY ($2::uuid[]) AND /*:condition*/ true

-- name: recall_memories
-- The hits, whole, and how they were read.
SELECT /*:memory memories*/,
       memory_access.access_count, memory_access.last_accessed_at
FROM keeps.memories LEFT JOIN keeps.memory_access
  ON memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.memory_id = ANY ($2::uuid[])

-- name: recall_as_of
-- Memories as they were known at $3, found by rows ($2) that say the same today: under the id of the row itself, or of
-- the newer truth that superseded it since. Rows that were not known then, or already forgotten, are left out.
SELECT DISTINCT ON (memories.memory_id) found.memory_id AS found_id,
    /*:memory memories*/
FROM keeps.memories AS found
CROSS JOIN LATERAL unnest(ARRAY[found.memory_id, found.superseded_by]) AS wanted(memory_id)
CROSS JOIN LATERAL (SELECT data -> 'memory' AS image FROM keeps.events
                    WHERE events.tenant_id = $1 AND events.subject = wanted.memory_id::text AND events.time <= $3
                        AND events.data ? 'memory' AND events.user_id = found.user_id
                    ORDER BY events.sequence DESC LIMIT 1) AS last
CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.memories, last.image) AS memories
WHERE found.tenant_id = $1 AND found.memory_id = ANY ($2::uuid[]) AND memories.content = found.content
    AND memories.deleted_at IS NULL
  AND ($4::boolean OR memories.archived_at IS NULL)
  AND /*:condition*/ true
ORDER BY memories.memory_id, found.memory_id <> memories.memory_id

-- name: recall_graph
-- Memories that mention entities that the question names ($2: its words, alone and in rows), or with half the weight
-- those that these are linked to; rarer entities count more. $3: how many memories there are · $4: now · $5: how many
WITH asked AS (
    SELECT entity_id, max(weight) AS weight FROM (
        SELECT entity_names.entity_id, 1.0 AS weight FROM keeps.entity_names WHERE tenant_id = $1
            AND name_key = ANY ($2::text[])
        UNION ALL
        SELECT CASE WHEN relations.source_id = entity_names.entity_id THEN relations.target_id
            ELSE relations.source_id END, 0.5
        FROM keeps.entity_names JOIN keeps.relations
          ON relations.tenant_id = $1 AND (relations.source_id = entity_names.entity_id
              OR relations.target_id = entity_names.entity_id)
        WHERE entity_names.tenant_id = $1 AND entity_names.name_key = ANY ($2::text[]) AND relations.deleted_at IS NULL
          AND relations.valid_from <= $4 AND (relations.valid_to IS NULL OR relations.valid_to > $4)
    ) AS either GROUP BY entity_id
), told AS (
    SELECT mentions.memory_id, asked.entity_id, asked.weight, count(*) OVER (PARTITION BY asked.entity_id) AS found
    FROM asked JOIN keeps.mentions ON mentions.tenant_id = $1 AND mentions.entity_id = asked.entity_id
        AND NOT mentions.rejected
)
SELECT memory_id, sum(weight * ln(1 + $3::double precision / found))::double precision AS score
FROM told GROUP BY memory_id ORDER BY score DESC, memory_id LIMIT $5
