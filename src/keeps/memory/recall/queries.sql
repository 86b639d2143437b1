-- The arms of recall. All run in one read-only transaction as the asking scope.

-- name: recall_words
-- What each audience has of some words: its counts, the lists of postings one after the other, and the newest memories
-- with one of the words, which are in no list yet; the signs of its newest vectors, and the rows with the others: the
-- first place of each, and the version of the row. Lists are read from the shortest on, and not beyond $9 entries; of a
-- word that more than half of an audience contains only the number of memories is returned where another word is rarer:
-- it tells next to nothing. But all are read while a memory has no vector of this model: it is found by words alone.
-- `archived`: one of the audiences has archived memories.
-- $2 audiences · $3 lives · $4 words · $5 model · $6 bytes of an entry of signs: others are of another model of the
-- same name · $7 bytes of an entry of a list · $8 entries of a list that is never left out · $9 entries of all lists
SELECT held.audience, held.life, held.memories, held.words, held.next_place, held.folded_to,
       lists.list_words, lists.list_sizes, lists.packed, told.common_words, told.common_counts, newest.new_places,
       newest.new_sessions, newest.new_lengths, newest.new_words, newest.new_counts,
       meant.sign_size, meant.signs, meant.part_firsts, meant.part_versions,
       EXISTS (SELECT FROM keeps.audience_words WHERE tenant_id = $1 AND audience = ANY ($2::text[])
               AND life = 'archived' AND memories > 0) AS archived
FROM keeps.audience_words AS held
CROSS JOIN LATERAL (
    SELECT max(size) AS sign_size, COALESCE(sum(octet_length(packed)) / max(size), 0) AS vectors,
           string_agg(packed, '') FILTER (WHERE NOT folded) AS signs,
           array_agg(first) FILTER (WHERE folded) AS part_firsts,
           array_agg(ctid::text || xmin::text) FILTER (WHERE folded) AS part_versions
    FROM keeps.vector_bits
    WHERE tenant_id = $1 AND audience = held.audience AND life = held.life AND folded = ANY (ARRAY[true, false])
      AND model = $5 AND size = $6) AS meant
CROSS JOIN LATERAL (
    SELECT array_agg(word) FILTER (WHERE common) AS common_words,
           array_agg(holders) FILTER (WHERE common) AS common_counts, array_agg(word) FILTER (WHERE NOT common) AS rarer
    FROM (SELECT word, holders, meant.vectors >= held.memories
                     AND (most AND bool_or(NOT most) OVER () OR before > 0 AND before + holders > $9::integer) AS common
          FROM (SELECT word, sum(holders) AS holders,
                       sum(holders) > GREATEST($8::integer, held.memories / 2) AS most,
                       sum(sum(holders)) OVER (ORDER BY sum(holders), word) - sum(holders) AS before
                FROM (SELECT word, octet_length(packed) / $7::integer AS holders FROM keeps.postings
                      WHERE tenant_id = $1 AND audience = held.audience AND life = held.life
                        AND word = ANY ($4::text[])
                      UNION ALL
                      SELECT said.word COLLATE "C", 1
                      FROM keeps.memory_words, unnest(string_to_array(words, ' ')) AS said(word)
                      WHERE held.memories > $8::integer AND tenant_id = $1 AND audience = held.audience
                        AND life = held.life AND place >= held.folded_to AND said.word = ANY ($4::text[])) AS holding
                GROUP BY word) AS counted) AS weighed) AS told
CROSS JOIN LATERAL (
    SELECT array_agg(word) AS list_words, array_agg(octet_length(packed)) AS list_sizes,
           string_agg(packed, '') AS packed
    FROM keeps.postings
    WHERE tenant_id = $1 AND audience = held.audience AND life = held.life AND word = ANY (told.rarer)) AS lists
CROSS JOIN LATERAL (
    SELECT array_agg(place) AS new_places, array_agg(session) AS new_sessions, array_agg(word_count) AS new_lengths,
           array_agg(words) AS new_words, array_agg(counts) AS new_counts
    FROM keeps.memory_words
    WHERE tenant_id = $1 AND audience = held.audience AND life = held.life AND place >= held.folded_to
      AND string_to_array(words, ' ') && $4::text[]) AS newest
WHERE held.tenant_id = $1 AND held.audience = ANY ($2::text[]) AND held.life = ANY ($3::text[])
ORDER BY held.audience COLLATE "C", held.life COLLATE "C"

-- name: recall_vocabulary
-- The words in an audience's lists that begin with some letters. $2 audience · $3 life · $4 beginnings · $5 how many
SELECT DISTINCT word
FROM unnest($4::text[]) AS begins(letters), keeps.postings
WHERE tenant_id = $1 AND audience = $2 AND life = $3 AND word >= begins.letters
  AND word < begins.letters || chr(1114111)
LIMIT $5

-- name: recall_newest_words
-- All words of the newest memories, which are in no list yet, those of a memory together. $2 audiences · $3 lives
SELECT memory_words.words
FROM keeps.audience_words AS held JOIN keeps.memory_words
  ON memory_words.tenant_id = $1 AND memory_words.audience = held.audience AND memory_words.life = held.life
    AND place >= held.folded_to
WHERE held.tenant_id = $1 AND held.audience = ANY ($2::text[]) AND held.life = ANY ($3::text[])

-- name: recall_places_filtered
-- Of the memories at some places those that pass a filter, by their number there. $2 audiences · $3 lives · $4 places ·
-- $5 how many at most
SELECT wanted.number
FROM unnest($2::text[], $3::text[], $4::integer[]) WITH ORDINALITY AS wanted(audience, life, place, number)
CROSS JOIN LATERAL (
    SELECT memory_id FROM keeps.memory_words
    WHERE tenant_id = $1 AND memory_words.audience = wanted.audience AND memory_words.life = wanted.life
      AND memory_words.place = wanted.place
    LIMIT 1) AS found
CROSS JOIN LATERAL (
    SELECT FROM keeps.memories
    WHERE memories.tenant_id = $1 AND memories.memory_id = found.memory_id AND /*:condition*/ true
    LIMIT 1) AS passing
ORDER BY wanted.number
LIMIT $5

-- name: recall_signs
-- The signs of an audience's vectors in some rows. $2 audience · $3 life · $4 model · $5 the first place of each row
SELECT first, ctid::text || xmin::text AS version, size, packed FROM keeps.vector_bits
WHERE tenant_id = $1 AND audience = $2 AND life = $3 AND folded AND first = ANY ($5::integer[]) AND model = $4

-- name: recall_near
-- Of the memories at some places those that pass a filter and whose meaning is nearest. $2 audiences · $3 lives ·
-- $4 places · $5 model · $6 question · $7 how many
SELECT found.memory_id, (1 - (meant.embedding <=> $6::halfvec))::real AS similarity
FROM unnest($2::text[], $3::text[], $4::integer[]) WITH ORDINALITY AS wanted(audience, life, place, number)
CROSS JOIN LATERAL (
    SELECT memory_id FROM keeps.memory_words
    WHERE tenant_id = $1 AND memory_words.audience = wanted.audience AND memory_words.life = wanted.life
      AND memory_words.place = wanted.place
    LIMIT 1) AS found
CROSS JOIN LATERAL (
    SELECT embedding FROM keeps.memory_vectors
    WHERE tenant_id = $1 AND memory_vectors.memory_id = found.memory_id AND model = $5
    LIMIT 1) AS meant
CROSS JOIN LATERAL (
    SELECT FROM keeps.memories
    WHERE memories.tenant_id = $1 AND memories.memory_id = found.memory_id AND /*:condition*/ true
    LIMIT 1) AS passing
ORDER BY meant.embedding <=> $6::halfvec
LIMIT $7

-- name: recall_key
-- The memory that has exactly this key.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND namespace = $2 AND key = $3 AND deleted_at IS NULL AND superseded_by IS NULL
LIMIT 10

-- name: recall_candidates
-- What scoring needs of each candidate: of those at some places, of some memories by their ids ($5), and of the two
-- turns before and after each of some others ($6) in their conversations, without those that are known ($7). All are of
-- the lives that are asked for, and pass the filter. LIMIT 1 keeps each look-up apart: joined, a database that has no
-- statistics yet would read all vectors of the tenant for each candidate. In one row, whose long values PostgreSQL
-- sends as they are and not in pieces of 8 kB; `keeps.recall.rows` reads it. $2 audiences · $3 lives · $4 the places
-- in each, as the text of an array, as $6 and $7 are · $8 the lives that are asked for · $9 model · $10 with words and
-- all that a filter may ask for, for arrays that are kept
WITH around AS MATERIALIZED (
    SELECT turn.memory_id,
           ARRAY(SELECT other.memory_id FROM keeps.memories AS other
                 WHERE other.tenant_id = $1 AND other.session_id = turn.session_id
                   AND (other.valid_from, other.memory_id) < (turn.valid_from, turn.memory_id)
                   AND keeps.memory_life(other.deleted_at, other.superseded_by, other.archived_at) = ANY ($8::text[])
                 ORDER BY other.valid_from DESC, other.memory_id DESC LIMIT 2) AS before,
           ARRAY(SELECT other.memory_id FROM keeps.memories AS other
                 WHERE other.tenant_id = $1 AND other.session_id = turn.session_id
                   AND (other.valid_from, other.memory_id) > (turn.valid_from, turn.memory_id)
                   AND keeps.memory_life(other.deleted_at, other.superseded_by, other.archived_at) = ANY ($8::text[])
                 ORDER BY other.valid_from, other.memory_id LIMIT 2) AS after
    FROM unnest($6::text::uuid[]) AS best(memory_id)
    CROSS JOIN LATERAL (
        SELECT memory_id, session_id, valid_from FROM keeps.memories
        WHERE memories.tenant_id = $1 AND memories.memory_id = best.memory_id AND session_id IS NOT NULL
        LIMIT 1) AS turn
), wanted AS MATERIALIZED (
    SELECT DISTINCT ON (memory_id) memory_id, audience, life, place FROM (
        SELECT held.memory_id, part.audience, part.life, at.place
        FROM unnest($2::text[], $3::text[], $4::text[]) AS part(audience, life, places)
        CROSS JOIN LATERAL unnest(part.places::integer[]) AS at(place)
        CROSS JOIN LATERAL (
            SELECT memory_id FROM keeps.memory_words
            WHERE tenant_id = $1 AND memory_words.audience = part.audience AND memory_words.life = part.life
              AND memory_words.place = at.place
            LIMIT 1) AS held
        UNION ALL
        SELECT given.memory_id, spot.audience, spot.life, spot.place
        FROM (SELECT unnest($5::uuid[]) AS memory_id UNION SELECT unnest(before || after) FROM around
              EXCEPT SELECT unnest($7::text::uuid[])) AS given
        LEFT JOIN LATERAL (
            SELECT audience, life, place FROM keeps.memory_words
            WHERE memory_words.tenant_id = $1 AND memory_words.memory_id = given.memory_id
            LIMIT 1) AS spot ON true) AS found
    ORDER BY memory_id, place
)
SELECT string_agg(uuid_send(wanted.memory_id) || timestamptz_send(valid_from)
                  || timestamptz_send(COALESCE(valid_to, 'infinity'))
                  || timestamptz_send(COALESCE(expires_at, 'infinity'))
                  || timestamptz_send(updated_at) || timestamptz_send(GREATEST(updated_at, last_accessed_at))
                  || float8send(importance)
                  || int8send(COALESCE(access_count, 0)) || int4send(COALESCE(octet_length(sentence), 0))
                  || int4send(COALESCE(octet_length(tokens), 0)), '') AS numbers,
       array_agg(session_id) AS sessions, array_agg(role) AS roles, array_agg(speaker) AS speakers,
       array_agg(opening) AS openings, array_agg(layer = 'short_term') AS fades, array_agg(archived) AS archived,
       string_agg(sentence, '') AS sentences, string_agg(tokens, '') AS tokens,
       array_agg(wanted.audience) AS audiences, array_agg(wanted.life) AS lives, array_agg(wanted.place) AS places,
       array_agg(candidate.user_id) FILTER (WHERE $10) AS users, array_agg(agent_id) FILTER (WHERE $10) AS agents,
       array_agg(kind) FILTER (WHERE $10) AS kinds, array_agg(layer) FILTER (WHERE $10) AS layers,
       array_agg(content_type) FILTER (WHERE $10) AS content_types,
       array_agg(namespace) FILTER (WHERE $10) AS namespaces, array_agg(key) FILTER (WHERE $10) AS keys,
       array_agg(trust) FILTER (WHERE $10) AS trusts,
       array_agg(words) FILTER (WHERE $10) AS words, array_agg(counts) FILTER (WHERE $10) AS counts,
       array_agg(word_count) FILTER (WHERE $10) AS lengths, array_agg(session) FILTER (WHERE $10) AS numbered,
       (SELECT string_agg(uuid_send(memory_id)
                          || COALESCE(uuid_send(before[1]), no_id) || COALESCE(uuid_send(before[2]), no_id)
                          || COALESCE(uuid_send(after[1]), no_id) || COALESCE(uuid_send(after[2]), no_id), '')
        FROM around CROSS JOIN (SELECT decode(repeat('00', 16), 'hex') AS no_id) AS absent) AS turns
FROM wanted
CROSS JOIN LATERAL (
    SELECT memories.session_id, memories.role, memories.metadata ->> 'speaker' AS speaker, memories.valid_from,
           memories.valid_to, memories.expires_at, memories.updated_at, memories.importance, memories.layer,
           memories.user_id, memories.agent_id, memories.kind, memories.content_type, memories.namespace, memories.key,
           CASE WHEN $10 THEN keeps.memory_trust(memories.layer, memories.role, memories.source, memories.metadata)
               END AS trust,
           left(memories.content, 400) AS opening, memories.archived_at IS NOT NULL AS archived
    FROM keeps.memories
    WHERE memories.tenant_id = $1 AND memories.memory_id = wanted.memory_id
      AND keeps.memory_life(memories.deleted_at, memories.superseded_by, memories.archived_at) = ANY ($8::text[])
      AND /*:condition*/ true
    LIMIT 1) AS candidate
LEFT JOIN LATERAL (
    SELECT access_count, last_accessed_at FROM keeps.memory_access
    WHERE candidate.layer = 'short_term'
      AND memory_access.tenant_id = $1 AND memory_access.memory_id = wanted.memory_id
    LIMIT 1) AS memory_access ON true
LEFT JOIN LATERAL (
    SELECT halfvec_send(embedding) AS sentence, memory_vectors.tokens FROM keeps.memory_vectors
    WHERE memory_vectors.tenant_id = $1 AND memory_vectors.memory_id = wanted.memory_id
        AND memory_vectors.model = $9
    LIMIT 1) AS memory_vectors ON true
LEFT JOIN LATERAL (
    SELECT words, counts, word_count, session FROM keeps.memory_words
    WHERE $10 AND memory_words.tenant_id = $1 AND memory_words.memory_id = wanted.memory_id
    LIMIT 1) AS memory_words ON true

-- name: recall_candidates_filtered
-- Those of some memories that pass a filter: neighbours must pass it, too.
SELECT memories.memory_id FROM keeps.memories
WHERE memories.tenant_id = $1 AND memories.memory_id = ANY ($2::uuid[]) AND /*:condition*/ true

-- name: recall_memories
-- The hits, whole, and how they were read. LIMIT 1 keeps each look-up apart: joined, a plan that was made while few had
-- been read would go through all that were.
SELECT /*:memory memories*/,
       memory_access.access_count, memory_access.last_accessed_at
FROM keeps.memories LEFT JOIN LATERAL (
    SELECT access_count, last_accessed_at FROM keeps.memory_access
    WHERE memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
    LIMIT 1) AS memory_access ON true
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

-- name: index_state
-- How far the log is, and what each life of the audiences $2 adds up to: numbers only. $3 model · $4 bytes of an entry
-- of signs
SELECT tenants.last_sequence, held.audience, held.life, held.memories, held.words, held.next_place, held.version,
       COALESCE(meant.vectors, 0) AS vectors
FROM keeps.tenants
LEFT JOIN keeps.audience_words AS held ON held.tenant_id = $1 AND held.audience = ANY ($2::text[])
LEFT JOIN LATERAL (
    SELECT sum(octet_length(packed)) / $4::integer AS vectors FROM keeps.vector_bits
    WHERE tenant_id = $1 AND audience = held.audience AND life = held.life AND folded = ANY (ARRAY[true, false])
      AND model = $3 AND size = $4) AS meant ON true
WHERE tenants.tenant_id = $1

-- name: index_changes
-- The memories of an audience, '' for the tenant's, that events after $2 are about; one is NULL if there are over $3.
SELECT memory_id FROM keeps.changed_memories($1, $2, $3)

-- name: recall_hits
-- Memories as they are read, if the audiences still have these versions; else one row without a memory. Names its
-- scope itself: it is a transaction of its own. $1 tenant · $2 user · $3 bound agent · $4 acting user · $5 the spaces that
-- the user is known to read · $6 audiences · $7 their versions · $8 ids
SELECT elsewhere, current, /*:memory*/, access_count, last_accessed_at
FROM keeps.recall_hits($1, $2, $3, $4, $5, $6, $7, $8)

-- name: open_spaces
-- The spaces that the acting user may read.
SELECT keeps.open_spaces('reader') AS spaces

-- name: audience_versions
-- Of some audiences of any tenants, numbers only.
SELECT tenant_id, audience, version FROM keeps.audience_versions($1, $2)

-- name: index_readings
-- How memories were read that fade by it.
SELECT memory_id, access_count, last_accessed_at FROM keeps.memory_access
WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])

-- name: index_ids
-- The ids of an audience's memories, one after the other. $2 audience · $3 lives
SELECT string_agg(uuid_send(memory_id), '') AS ids FROM keeps.memory_words
WHERE tenant_id = $1 AND audience = $2 AND life = ANY ($3::text[])
