-- Statements on memories and the rows derived from them. A row image ($1) carries every column, as JSON.

-- name: memories_insert
-- Store many memories with their events, words and vectors; rows whose key or content is there already are left out and
-- not returned, and nothing of them is written. Each row is written as the user who asks for it, and the policies hold
-- it against that user: `set_config` stands where the row is made, right before PostgreSQL checks it (ADR 44).
-- $1: row images with event_id, words, word_count · $2: how often each word · $3, $4: who asks for each, and the agent
-- that is bound, in the same order · $5, $6, $7: memory id, sentence vector and token vectors where there are any ·
-- $8: the embedding model
WITH item AS (
    SELECT item.*
    FROM ROWS FROM (
        jsonb_to_recordset($1::jsonb) AS (
            /*:memory types*/, event_id uuid, words text, word_count integer),
        unnest($2::bytea[]), unnest($3::text[]), unnest($4::text[])
    ) WITH ORDINALITY AS item(/*:memory*/, event_id, words, word_count, counts, asking, bound, position)
), inserted AS (
    INSERT INTO keeps.memories (
        /*:memory*/)
    SELECT
        /*:memory item*/
    FROM (SELECT item.*, set_config('app.current_user', asking, true) AS is_user,
                 set_config('app.bound_agent', bound, true) AS is_agent
          FROM item ORDER BY position) AS item
    ON CONFLICT DO NOTHING
    RETURNING *
), counter AS (
    -- Numbers without gaps: the row lock lasts until commit, and writers of a tenant take turns anyway.
    UPDATE keeps.tenants SET last_sequence = last_sequence + (SELECT count(*) FROM inserted)
    WHERE tenant_id = (SELECT item.tenant_id FROM item LIMIT 1)
    RETURNING last_sequence - (SELECT count(*) FROM inserted) AS base,
        keeps.begin_chain(tenant_id, last_sequence - (SELECT count(*) FROM inserted), chain_hash) AS chain
), logged AS (
    INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility,
        data)
    SELECT tenant_id, sequence, event_id, type, 'keeps', subject, time, user_id, agent_id, visibility, data
    FROM (SELECT inserted.tenant_id, counter.base + row_number() OVER (ORDER BY item.position) AS sequence,
                 item.event_id, CASE WHEN inserted.held_for IS NOT NULL THEN 'memory.held'
                     WHEN inserted.superseded_by IS NULL THEN 'memory.written' ELSE 'memory.superseded' END AS type, inserted.memory_id::text AS subject,
                 inserted.updated_at AS time, inserted.user_id, inserted.agent_id, inserted.visibility,
                 jsonb_build_object('key', COALESCE(inserted.namespace || '/' || inserted.key,
                         inserted.memory_id::text),
                     'value', COALESCE(inserted.value, to_jsonb(inserted.content)),
                     'value_type', CASE WHEN inserted.value IS NULL THEN 'text'
                         ELSE 'json' END, 'content_type', inserted.content_type,
                     'provider_id', 'postgres', 'memory', to_jsonb(inserted)) AS data,
                 set_config('app.current_user', item.asking, true) AS is_user,
                 set_config('app.bound_agent', item.bound, true) AS is_agent
          FROM inserted JOIN item USING (memory_id) CROSS JOIN counter) AS told
), worded AS (
    SELECT inserted.tenant_id, inserted.memory_id, inserted.user_id,
           keeps.words_audience(inserted.visibility, inserted.deleted_at, inserted.user_id) AS audience,
           keeps.memory_life(inserted.deleted_at, inserted.superseded_by, inserted.archived_at) AS life,
           keeps.words_agent(inserted.kind, inserted.agent_id) AS agent,
           COALESCE(hashtext(inserted.session_id), 0) AS session, item.word_count, item.words, item.counts,
           item.asking, item.bound, item.position
    FROM inserted JOIN item USING (memory_id)
), taken AS MATERIALIZED (
    SELECT audience, life, CASE WHEN set_config('app.current_user', min(asking), true) = min(asking)
               THEN keeps.take_places(audience, life, count(*)::integer, sum(word_count)) END AS place
    FROM worded GROUP BY audience, life
), found_by AS (
    INSERT INTO keeps.memory_words (tenant_id, memory_id, user_id, audience, life, agent, place, session, word_count,
        words, counts)
    SELECT tenant_id, memory_id, user_id, audience, life, agent, place, session, word_count, words, counts
    FROM (SELECT worded.*,
                 taken.place + row_number() OVER (PARTITION BY audience, life ORDER BY position) - 1 AS place,
                 set_config('app.current_user', asking, true) AS is_user,
                 set_config('app.bound_agent', bound, true) AS is_agent
          FROM worded JOIN taken USING (audience, life)) AS numbered
), vectored AS (
    INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding, tokens)
    SELECT tenant_id, memory_id, model, user_id, audience, life, embedding, tokens
    FROM (SELECT inserted.tenant_id, inserted.memory_id, $8 AS model, inserted.user_id,
                 CASE inserted.visibility WHEN 'tenant' THEN '' ELSE inserted.user_id END AS audience,
                 keeps.memory_life(inserted.deleted_at, inserted.superseded_by, inserted.archived_at) AS life,
                 vector.embedding, vector.tokens, set_config('app.current_user', item.asking, true) AS is_user
          FROM unnest($5::uuid[], $6::halfvec[], $7::bytea[]) AS vector(memory_id, embedding, tokens)
              JOIN inserted USING (memory_id) JOIN item USING (memory_id)) AS meant
), pending AS (
    INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id)
    SELECT tenant_id, memory_id, user_id
    FROM (SELECT inserted.tenant_id, inserted.memory_id, inserted.user_id,
                 set_config('app.current_user', item.asking, true) AS is_user
          FROM inserted JOIN item USING (memory_id)
          WHERE inserted.memory_id <> ALL ($5::uuid[]) AND inserted.deleted_at IS NULL) AS waiting
)
SELECT memory_id FROM inserted

-- name: memories_replace
-- Write the new image of rows that this transaction has read and locked, each with its event. The trigger
-- memories_derived_follow brings life and audience of derived rows along, or removes them where the text changed. LIMIT
-- 1 keeps each look-up apart: joined, a plan without statistics reads all memories of the user for each row.
-- $1: row images with event_id · $2: the event type · $3: when it happens, if not at `updated_at`
WITH item AS (
    SELECT item.*, row_number() OVER () AS position
    FROM jsonb_to_recordset($1::jsonb) AS item(
            /*:memory types*/, event_id uuid)
), replaced AS (
    UPDATE keeps.memories SET
        /*:memory = item*/
    FROM item CROSS JOIN LATERAL (
        SELECT held.ctid AS at FROM keeps.memories AS held
        WHERE held.tenant_id = item.tenant_id AND held.memory_id = item.memory_id
        LIMIT 1) AS found
    WHERE memories.ctid = found.at
    RETURNING memories.*
), counter AS (
    UPDATE keeps.tenants SET last_sequence = last_sequence + (SELECT count(*) FROM replaced)
    WHERE tenant_id = (SELECT item.tenant_id FROM item LIMIT 1)
    RETURNING last_sequence - (SELECT count(*) FROM replaced) AS base
), logged AS (
    INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility,
        data)
    SELECT replaced.tenant_id, counter.base + row_number() OVER (ORDER BY item.position), item.event_id, $2, 'keeps',
           replaced.memory_id::text, COALESCE($3::timestamptz, replaced.updated_at), replaced.user_id,
               replaced.agent_id, replaced.visibility,
           jsonb_build_object('key', COALESCE(replaced.namespace || '/' || replaced.key, replaced.memory_id::text),
               'value', COALESCE(replaced.value, to_jsonb(replaced.content)),
               'value_type', CASE WHEN replaced.value IS NULL THEN 'text'
                   ELSE 'json' END, 'content_type', replaced.content_type,
               'provider_id', 'postgres', 'memory', to_jsonb(replaced))
               || CASE $2 WHEN 'memory.expired' THEN '{"reason": "ttl"}'::jsonb ELSE '{}' END
    FROM replaced JOIN item USING (memory_id) CROSS JOIN counter
)
SELECT memory_id FROM replaced

-- name: memory_words_update
-- The words of one memory, after they changed: how many, which, how often each.
UPDATE keeps.memory_words SET word_count = $3, words = $4, counts = $5 WHERE tenant_id = $1 AND memory_id = $2

-- name: memory_vectors_delete
-- The vectors of one memory, whose text changed.
DELETE FROM keeps.memory_vectors WHERE tenant_id = $1 AND memory_id = $2

-- name: memory_vector_insert
-- The vector of one memory, after its text changed.
INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding, tokens)
VALUES ($1, $2, $3, $4, $5, $6, $7::halfvec, $8)

-- name: memory_pending_add
INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: memory_pending_done
-- These memories wait for a vector no longer.
DELETE FROM keeps.memory_pending WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])

-- name: memory_vectors_copy
-- Give an older truth the vectors that its text already has, before the current row gets new ones.
INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding, tokens)
SELECT tenant_id, $3::uuid, model, user_id, audience, 'superseded', embedding, tokens
FROM keeps.memory_vectors
WHERE tenant_id = $1 AND memory_id = $2
ON CONFLICT DO NOTHING

-- name: memory_is_indexed
SELECT EXISTS (SELECT FROM keeps.memory_vectors WHERE tenant_id = $1 AND memory_id = $2 AND model = $3) AS indexed

-- name: memory_get
-- One memory that this scope may see, forgotten or not, and how it was read.
SELECT /*:memory memories*/,
    memory_access.access_count, memory_access.last_accessed_at
FROM keeps.memories LEFT JOIN keeps.memory_access
  ON memory_access.tenant_id = $1 AND memory_access.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.memory_id = $2

-- name: memory_owner_in_log
-- The owner of a memory, by its newest event that this scope may read.
SELECT user_id FROM keeps.events WHERE tenant_id = $1 AND subject = $2 ORDER BY sequence DESC LIMIT 1

-- name: memories_get_many
-- Of some memories, those that this scope may see, forgotten or not.
SELECT /*:memory*/
FROM keeps.memories WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])

-- name: memory_said
-- One's own current fact under a namespace that says just this.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = $3 AND key IS NOT NULL AND content = $4 AND deleted_at IS NULL
    AND superseded_by IS NULL
LIMIT 1

-- name: memory_fact
-- One's own current fact without namespace and key that says just this, whichever agent, session or app it belongs to:
-- its hash begins with $3; $4 is behind all that do.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND content_hash >= $3 AND content_hash < $4 AND key IS NULL
    AND deleted_at IS NULL AND superseded_by IS NULL
LIMIT 1

-- name: memory_get_as_of
-- One memory as its owner's last event up to $3 told it; nothing where it was not known yet, or is erased.
SELECT /*:memory memories*/
FROM (SELECT data -> 'memory' AS image FROM keeps.events
      WHERE tenant_id = $1 AND subject = $2 AND time <= $3 AND data ? 'memory' AND user_id = data #>> '{memory,user_id}'
        AND NOT EXISTS (SELECT FROM keeps.memories AS held WHERE held.tenant_id = $1 AND held.memory_id::text = $2
            AND held.user_id <> events.user_id)
      ORDER BY sequence DESC LIMIT 1) AS last
CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.memories, last.image) AS memories

-- name: memory_lock
-- The same, locked against other writers; only one's own rows can be locked, by policy.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND memory_id = $2 AND user_id = $3
FOR UPDATE

-- name: memories_lock_below
-- One's own current memories of a key ($4) and of all keys below it, as below a folder; at most $5.
SELECT /*:memory*/ FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = $3 AND deleted_at IS NULL AND superseded_by IS NULL
  AND (key = $4 OR (key COLLATE "C" >= $4 || '/' AND key COLLATE "C" < $4 || '0'))
ORDER BY key LIMIT $5 FOR UPDATE

-- name: keys_below
-- The same, their keys alone.
SELECT key FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = $3 AND deleted_at IS NULL AND superseded_by IS NULL
  AND (key = $4 OR (key COLLATE "C" >= $4 || '/' AND key COLLATE "C" < $4 || '0'))
ORDER BY key LIMIT $5

-- name: memory_lock_by_key
-- The current holder of a key.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = $3 AND key = $4 AND deleted_at IS NULL AND superseded_by IS NULL
FOR UPDATE

-- name: memory_lock_by_content
-- The memory without a key that holds this content.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND content_hash = $3 AND key IS NULL AND deleted_at IS NULL
    AND superseded_by IS NULL
FOR UPDATE

-- name: memory_lock_older
-- The older truths that some memories have superseded, directly or not.
WITH RECURSIVE older AS (
    SELECT memory_id FROM keeps.memories WHERE tenant_id = $1 AND superseded_by = ANY ($2::uuid[])
    UNION
    SELECT memories.memory_id FROM older JOIN keeps.memories ON memories.tenant_id = $1
        AND memories.superseded_by = older.memory_id
)
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND memory_id IN (SELECT older.memory_id FROM older)
FOR UPDATE

-- name: memory_lock_incarnations
-- All of one's own rows that share a key, or without a key a content, whatever became of them. For forgetting for good.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2
  AND (($3::text IS NOT NULL AND namespace = $4 AND key = $3) OR ($3::text IS NULL AND key IS NULL
      AND content_hash = $5))
FOR UPDATE

-- name: memory_find
-- The current memory of a key: one's own first, else one that the tenant shares.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND namespace = $2 AND key = $3 AND deleted_at IS NULL AND superseded_by IS NULL
  AND (expires_at IS NULL OR expires_at > $5)
ORDER BY (user_id = $4) DESC, updated_at DESC
LIMIT 1

-- name: memories_list
-- One keyset page of what this scope may see, newest first: two index ranges, one's own and what others share, merged.
-- $2 user · $3, $4: the last row of the page before, or null · $5 limit · $6 now · $7: lives asked for by filters
SELECT page.*, memory_access.access_count, memory_access.last_accessed_at
FROM (
(SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2
  AND ($3::timestamptz IS NULL OR (created_at, memory_id) < ($3, $4::uuid))
  AND keeps.memory_life(deleted_at, superseded_by, archived_at) = ANY ($7::text[])
  AND (expires_at IS NULL OR expires_at > $6)
  AND /*:condition*/ true
ORDER BY created_at DESC, memory_id DESC
LIMIT $5)
UNION ALL
(SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND visibility = 'tenant' AND user_id <> $2
  AND ($3::timestamptz IS NULL OR (created_at, memory_id) < ($3, $4::uuid))
  AND keeps.memory_life(deleted_at, superseded_by, archived_at) = ANY ($7::text[])
  AND (expires_at IS NULL OR expires_at > $6)
  AND /*:condition*/ true
ORDER BY created_at DESC, memory_id DESC
LIMIT $5)
ORDER BY created_at DESC, memory_id DESC
LIMIT $5
) AS page LEFT JOIN keeps.memory_access ON memory_access.tenant_id = $1 AND memory_access.memory_id = page.memory_id
ORDER BY page.created_at DESC, page.memory_id DESC

-- name: memories_count
-- How many of one's own there are. $2 user · $3 now
SELECT count(*) AS held
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2
  AND deleted_at IS NULL AND superseded_by IS NULL
  AND (expires_at IS NULL OR expires_at > $3)
  AND /*:condition*/ true

-- name: memories_window
-- One's own, newest first. $2 user · $3 now · $4 how many are left out · $5 limit · $6 whatever became of them
SELECT page.*, memory_access.access_count, memory_access.last_accessed_at
FROM (SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2
  AND ($6 OR (deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > $3)))
  AND /*:condition*/ true
ORDER BY created_at DESC, memory_id DESC
OFFSET $4 LIMIT $5
) AS page LEFT JOIN keeps.memory_access ON memory_access.tenant_id = $1 AND memory_access.memory_id = page.memory_id
ORDER BY page.created_at DESC, page.memory_id DESC

-- name: memory_owners
SELECT memory_id, user_id FROM keeps.memory_owners($1)

-- name: memory_subjects
-- Of one's own. $2 user · $3 limit
SELECT told.type, told.name, count(*) AS total, min(created_at) AS first_at, max(updated_at) AS last_at
FROM keeps.memories, LATERAL (VALUES ('user', user_id), ('agent', agent_id), ('app', metadata ->> 'app_id'),
                                  ('run', session_id)) AS told(type, name)
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NULL AND superseded_by IS NULL AND told.name IS NOT NULL
GROUP BY told.type, told.name
ORDER BY max(updated_at) DESC
LIMIT $3

-- name: memory_subjects_of_tenant
SELECT type, name, total, first_at, last_at FROM keeps.memory_subjects($1)

-- name: memories_in_order
-- One keyset page in the order $3: by importance, by recency, or by name. Its place is (rank, age, words, id),
-- ascending.
-- $2 user · $4: the place of the last row of the page before as JSON, or null · $5 limit · $6 now · $7: lives asked for
-- by filters
WITH seen AS (
    SELECT memory_id,
        CASE $3 WHEN 'importance' THEN -importance WHEN 'name' THEN (key IS NULL)::integer ELSE 0 END::float8 AS rank,
        CASE $3 WHEN 'name' THEN 0 ELSE -extract(epoch FROM updated_at) END::numeric AS age,
        CASE $3 WHEN 'name' THEN COALESCE(namespace, '') || chr(1) || COALESCE(key, '') ELSE '' END COLLATE "C" AS words
    FROM keeps.memories
    WHERE tenant_id = $1 AND (user_id = $2 OR visibility = 'tenant')
      AND keeps.memory_life(deleted_at, superseded_by, archived_at) = ANY ($7::text[])
      AND (expires_at IS NULL OR expires_at > $6)
      AND /*:condition*/ true
), page AS (
    SELECT * FROM seen
    WHERE $4::jsonb IS NULL
       OR (rank, age, words, memory_id) > (($4::jsonb->>0)::float8, ($4::jsonb->>1)::numeric,
           ($4::jsonb->>2) COLLATE "C", ($4::jsonb->>3)::uuid)
    ORDER BY rank, age, words, memory_id LIMIT $5
)
SELECT /*:memory memories*/, page.rank, page.age::text AS age, page.words,
    memory_access.access_count, memory_access.last_accessed_at
FROM page JOIN keeps.memories ON memories.tenant_id = $1 AND memories.memory_id = page.memory_id
LEFT JOIN keeps.memory_access ON memory_access.tenant_id = $1 AND memory_access.memory_id = page.memory_id
ORDER BY page.rank, page.age, page.words, page.memory_id

-- name: sources_trusted
-- Of some sources those whose memories do not wait in the inbox.
SELECT key FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NOT NULL AND held_for = 'trusted_source' AND key = ANY ($3::text[])

-- name: sources_recent
-- Where one's own newest memories after $3 come from; at most $4 are looked at.
SELECT role, source, trust, count(*) AS memories
FROM (SELECT role, source, metadata ->> 'trust' AS trust FROM keeps.memories
      WHERE tenant_id = $1 AND user_id = $2 AND created_at > $3 AND layer <> 'knowledge'
      ORDER BY created_at DESC, memory_id DESC LIMIT $4) AS newest
GROUP BY role, source, trust

-- name: memory_lock_held
-- One's own memory of this content, key and source that waits in the inbox.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NOT NULL AND held_for IS NOT NULL AND content_hash = $3
  AND namespace IS NOT DISTINCT FROM $4 AND key IS NOT DISTINCT FROM $5 AND source IS NOT DISTINCT FROM $6
LIMIT 1
FOR UPDATE

-- name: memories_overdue
-- One's own memories that were forgotten longer ago than they can be restored.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at < $3 AND held_for IS NULL
LIMIT 100

-- name: memories_cascade_log
SELECT keeps.log_cascade('{}', $1)

-- name: memories_leave_lists
-- Many memories are about to leave their audiences: out of the lists of words and signs, all at once.
SELECT keeps.leave_lists($1)

-- name: memories_left
SELECT set_config('app.lists_left', '', true)

-- name: memories_delete
-- Remove rows for good; their words, vectors and counts go with them. The vectors are removed here, in one statement,
-- since their counter would be updated for each memory otherwise.
WITH unindexed AS (
    DELETE FROM keeps.memory_vectors WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])
)
DELETE FROM keeps.memories WHERE tenant_id = $1 AND memory_id = ANY ($2::uuid[])

-- name: memory_redact_events
-- Take the content out of the events of some memories.
SELECT keeps.redact_memory_events(wanted.memory_id, $2) AS changed, $3::text AS tenant_id
FROM unnest($1::uuid[]) AS wanted(memory_id)

-- name: memories_lock_archived
-- Own archived memories that have faded. Daily logs stay: the summary of their week stands for them.
SELECT /*:memory memories*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND memory_id = ANY ($3::uuid[])
  AND archived_at IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL
  AND content_type IS DISTINCT FROM 'daily_log'
FOR UPDATE

-- name: memories_count_access
-- Add the readings collected since the last flush. Only memories that this scope can still see are counted.
INSERT INTO keeps.memory_access (tenant_id, memory_id, access_count, last_accessed_at)
SELECT $1, memories.memory_id, read.access_count, read.last_accessed_at
FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[]) AS read(memory_id, access_count, last_accessed_at)
JOIN keeps.memories ON memories.tenant_id = $1 AND memories.memory_id = read.memory_id
ORDER BY memories.memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET access_count = memory_access.access_count + EXCLUDED.access_count,
    last_accessed_at = GREATEST(memory_access.last_accessed_at, EXCLUDED.last_accessed_at)

-- name: export_memories
-- A page of the rows after $3, $4: up to 500, about 4 MiB. Current memories first, since superseded ones refer to them.
SELECT older, memory_id, row FROM (
    SELECT part.*, sum(octet_length(row::text)) OVER (ORDER BY older, memory_id) - octet_length(row::text) AS before
    FROM (SELECT superseded_by IS NOT NULL AS older, memory_id, to_jsonb(memories) AS row FROM keeps.memories
          WHERE tenant_id = $1 AND user_id = $2 AND (superseded_by IS NOT NULL, memory_id) > ($3::boolean, $4::uuid)
          ORDER BY superseded_by IS NOT NULL, memory_id LIMIT 500) AS part) AS bounded
WHERE before < 4194304 ORDER BY older, memory_id
