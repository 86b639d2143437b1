-- Items of the asking user. A namespace is stored with a period after each label; $3 and $4 are a range of namespaces.

-- name: items_get
-- reads: ItemRow without score
-- $3, $4: namespaces and keys, side by side · $5: leave out what ended before
SELECT items.namespace, items.key, items.row_id, items.value, items.texts, items.ttl_minutes, items.version,
    items.created_at, items.updated_at
FROM unnest($3::text[], $4::text[]) AS wanted(namespace, key)
JOIN keeps.items ON items.tenant_id = $1 AND items.user_id = $2 AND items.namespace = wanted.namespace
    AND items.key = wanted.key
LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = items.row_id
WHERE $5::timestamptz IS NULL OR items.ttl_minutes IS NULL
   OR COALESCE(refresh.ends_at, items.updated_at + items.ttl_minutes * interval '1 minute') > $5

-- name: items_newest
-- reads: ItemRow without score
-- Newest update first. $5: leave out what ended before · $6, $7: how many, after how many · from $8 on: the condition's
SELECT items.namespace, items.key, items.row_id, items.value, items.texts, items.ttl_minutes, items.version,
    items.created_at, items.updated_at
FROM keeps.items
LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = items.row_id
WHERE items.tenant_id = $1 AND items.user_id = $2 AND items.namespace >= $3 AND items.namespace < $4
  AND ($5::timestamptz IS NULL OR items.ttl_minutes IS NULL
       OR COALESCE(refresh.ends_at, items.updated_at + items.ttl_minutes * interval '1 minute') > $5)
  AND /*:condition*/ true
ORDER BY items.updated_at DESC, items.row_id DESC LIMIT $6 OFFSET $7

-- name: items_keys
-- reads: ItemRow without score
-- A page of keys in order, without values. $5: leave out what ended before · $6, $7: the last namespace and key of the
-- page before · $8: how many
SELECT items.namespace, items.key, items.row_id, '{}'::jsonb AS value, NULL::jsonb AS texts, items.ttl_minutes,
    items.version, items.created_at, items.updated_at
FROM keeps.items
LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = items.row_id
WHERE items.tenant_id = $1 AND items.user_id = $2 AND items.namespace >= $3 AND items.namespace < $4
  AND ($5::timestamptz IS NULL OR items.ttl_minutes IS NULL
       OR COALESCE(refresh.ends_at, items.updated_at + items.ttl_minutes * interval '1 minute') > $5)
  AND (items.namespace, items.key) > ($6, $7)
ORDER BY items.namespace, items.key LIMIT $8

-- name: items_nearest
-- reads: ItemRow
-- The nearest in meaning. Of few the exact distance of all; of many a first pass, the distance of sign bits, read
-- index-only, and the exact distance of the best of those. $5: leave out what ended before · $6, $7: how many, after how
-- many · $8: model · $9: question · $10: how many pass · $11: how many are few
WITH size AS MATERIALIZED (
    SELECT count(*) AS held FROM (
        SELECT FROM keeps.item_vectors
        WHERE tenant_id = $1 AND user_id = $2 AND model = $8 AND namespace >= $3 AND namespace < $4 LIMIT $11 + 1) AS counted
), near AS MATERIALIZED (
    SELECT row_id, field FROM keeps.item_vectors
    WHERE (SELECT held FROM size) > $11
      AND tenant_id = $1 AND user_id = $2 AND model = $8 AND namespace >= $3 AND namespace < $4
    ORDER BY bits <~> (SELECT binary_quantize($9::halfvec)::bit varying)
    LIMIT $10
), scored AS MATERIALIZED (
    SELECT row_id, min(distance) AS distance FROM (
        SELECT near.row_id, item_vectors.embedding <=> $9::halfvec AS distance
        FROM near JOIN keeps.item_vectors ON item_vectors.tenant_id = $1 AND item_vectors.row_id = near.row_id
            AND item_vectors.model = $8 AND item_vectors.field = near.field
        UNION ALL
        SELECT row_id, embedding <=> $9::halfvec FROM keeps.item_vectors
        WHERE (SELECT held FROM size) <= $11
          AND tenant_id = $1 AND user_id = $2 AND model = $8 AND namespace >= $3 AND namespace < $4) AS each
    GROUP BY row_id ORDER BY min(distance), row_id
    LIMIT CASE WHEN $5::timestamptz IS NULL THEN $6::bigint + $7::bigint END
)
SELECT items.namespace, items.key, items.row_id, items.value, items.texts, items.ttl_minutes, items.version,
    items.created_at, items.updated_at, (1 - scored.distance)::double precision AS score
FROM scored JOIN keeps.items ON items.tenant_id = $1 AND items.row_id = scored.row_id
LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = items.row_id
WHERE $5::timestamptz IS NULL OR items.ttl_minutes IS NULL
   OR COALESCE(refresh.ends_at, items.updated_at + items.ttl_minutes * interval '1 minute') > $5
ORDER BY scored.distance, items.row_id LIMIT $6 OFFSET $7

-- name: items_nearest_filtered
-- reads: ItemRow
-- The same of those that pass a condition, whose values are bound from $10 on: the exact distance of all of them.
SELECT items.namespace, items.key, items.row_id, items.value, items.texts, items.ttl_minutes, items.version,
    items.created_at, items.updated_at, (1 - min(item_vectors.embedding <=> $9::halfvec))::double precision AS score
FROM keeps.items
JOIN keeps.item_vectors ON item_vectors.tenant_id = $1 AND item_vectors.row_id = items.row_id
    AND item_vectors.model = $8
LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = items.row_id
WHERE items.tenant_id = $1 AND items.user_id = $2 AND items.namespace >= $3 AND items.namespace < $4
  AND ($5::timestamptz IS NULL OR items.ttl_minutes IS NULL
       OR COALESCE(refresh.ends_at, items.updated_at + items.ttl_minutes * interval '1 minute') > $5)
  AND /*:condition*/ true
GROUP BY items.tenant_id, items.user_id, items.namespace, items.key
ORDER BY min(item_vectors.embedding <=> $9::halfvec), items.row_id LIMIT $6 OFFSET $7

-- name: items_namespaces
-- Every namespace that holds an item, one index lookup each. $3: leave out those where all ended before.
WITH RECURSIVE found(namespace) AS (
    (SELECT namespace FROM keeps.items WHERE tenant_id = $1 AND user_id = $2 ORDER BY namespace LIMIT 1)
    UNION ALL
    SELECT (SELECT items.namespace FROM keeps.items WHERE items.tenant_id = $1 AND items.user_id = $2
                AND items.namespace > found.namespace ORDER BY items.namespace LIMIT 1)
    FROM found WHERE found.namespace IS NOT NULL
)
SELECT namespace FROM found
WHERE namespace IS NOT NULL
  AND ($3::timestamptz IS NULL OR EXISTS (
    SELECT FROM keeps.items
    LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = items.row_id
    WHERE items.tenant_id = $1 AND items.user_id = $2 AND items.namespace = found.namespace
      AND (items.ttl_minutes IS NULL
           OR COALESCE(refresh.ends_at, items.updated_at + items.ttl_minutes * interval '1 minute') > $3)))

-- name: items_put
-- Store rows with their events; what is there keeps its row_id and the time of its making. In one statement, so that the
-- values are read and written once. $1: rows as JSON, each with an event_id · $2: the agent that writes
WITH item AS (
    SELECT filled.*, (given.row ->> 'event_id')::uuid AS event_id, given.position
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given(row, position)
        CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.items, given.row) AS filled
), stored AS (
    INSERT INTO keeps.items AS held (tenant_id, user_id, namespace, key, row_id, value, texts, ttl_minutes, version,
        created_at, updated_at)
    SELECT tenant_id, user_id, namespace, key, row_id, value, texts, ttl_minutes, version, created_at, updated_at
    FROM item ORDER BY position
    ON CONFLICT (tenant_id, user_id, namespace, key) DO UPDATE
        SET value = EXCLUDED.value, texts = EXCLUDED.texts, ttl_minutes = EXCLUDED.ttl_minutes,
            version = held.version + 1, updated_at = EXCLUDED.updated_at
    RETURNING held.*
), counter AS (
    UPDATE keeps.tenants SET last_sequence = last_sequence + (SELECT count(*) FROM stored)
    WHERE tenant_id = (SELECT item.tenant_id FROM item LIMIT 1)
    RETURNING last_sequence - (SELECT count(*) FROM stored) AS base
), logged AS (
    INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility,
        data)
    SELECT stored.tenant_id, counter.base + row_number() OVER (ORDER BY item.position), item.event_id, 'item.written',
        'keeps', stored.row_id::text, stored.updated_at, stored.user_id, $2::text, 'private',
        jsonb_build_object('item', to_jsonb(stored))
    FROM stored JOIN item USING (namespace, key) CROSS JOIN counter
)
SELECT namespace, key, row_id, version FROM stored

-- name: items_unlink
-- What was derived from items whose value is another now.
WITH refreshes AS (
    DELETE FROM keeps.item_refreshes WHERE tenant_id = $1 AND row_id = ANY ($2::uuid[])
), pending AS (
    DELETE FROM keeps.item_pending WHERE tenant_id = $1 AND row_id = ANY ($2::uuid[])
)
DELETE FROM keeps.item_vectors WHERE tenant_id = $1 AND row_id = ANY ($2::uuid[])

-- name: item_vectors_insert
-- $3: model · $4 to $7: namespaces, rows, fields and vectors, side by side; of rows that are there.
INSERT INTO keeps.item_vectors (tenant_id, user_id, namespace, row_id, field, model, embedding, bits)
SELECT $1, $2, vector.namespace, vector.row_id, vector.field, $3, vector.embedding,
       binary_quantize(vector.embedding)::bit varying
FROM unnest($4::text[], $5::uuid[], $6::text[], $7::halfvec[]) AS vector(namespace, row_id, field, embedding)
ON CONFLICT DO NOTHING

-- name: item_pending_add
-- $3: rows that are there
INSERT INTO keeps.item_pending (tenant_id, user_id, row_id) SELECT $1, $2, unnest($3::uuid[]) ON CONFLICT DO NOTHING

-- name: item_pending_done
DELETE FROM keeps.item_pending WHERE tenant_id = $1 AND row_id = ANY ($2::uuid[])

-- name: items_delete
-- $3, $4: namespaces and keys, side by side
DELETE FROM keeps.items USING unnest($3::text[], $4::text[]) AS wanted(namespace, key)
WHERE items.tenant_id = $1 AND items.user_id = $2 AND items.namespace = wanted.namespace AND items.key = wanted.key
RETURNING items.row_id

-- name: items_over
-- Remove what ended before $3, up to $4 of them.
DELETE FROM keeps.items
WHERE tenant_id = $1 AND user_id = $2 AND row_id = ANY (ARRAY(
    SELECT held.row_id FROM keeps.items AS held
    LEFT JOIN keeps.item_refreshes AS refresh ON refresh.tenant_id = $1 AND refresh.row_id = held.row_id
    WHERE held.tenant_id = $1 AND held.user_id = $2 AND held.ttl_minutes IS NOT NULL AND held.updated_at < $3
      AND COALESCE(refresh.ends_at, held.updated_at + held.ttl_minutes * interval '1 minute') <= $3
    LIMIT $4))
RETURNING row_id

-- name: items_refresh
-- The time to live of these begins anew at $4.
INSERT INTO keeps.item_refreshes (tenant_id, user_id, row_id, ends_at)
SELECT tenant_id, user_id, row_id, $4::timestamptz + ttl_minutes * interval '1 minute' FROM keeps.items
WHERE tenant_id = $1 AND user_id = $2 AND row_id = ANY ($3::uuid[]) AND ttl_minutes IS NOT NULL
ON CONFLICT (tenant_id, row_id) DO UPDATE SET ends_at = EXCLUDED.ends_at

-- name: items_redact
SELECT keeps.redact_rows('{}', $1)

-- name: items_to_index
-- Items that wait for their vectors. $3: how many
SELECT items.row_id, items.namespace, items.value, items.texts, items.version
FROM (SELECT row_id FROM keeps.item_pending WHERE tenant_id = $1 AND user_id = $2 ORDER BY row_id LIMIT $3) AS waiting
    CROSS JOIN LATERAL (SELECT * FROM keeps.items WHERE tenant_id = $1 AND row_id = waiting.row_id LIMIT 1) AS items

-- name: items_queue
-- Queue items that are found by meaning and have no vector of this model. EXCEPT reads each table once.
INSERT INTO keeps.item_pending (tenant_id, user_id, row_id)
SELECT $1, $2, lacking.row_id FROM (
    SELECT row_id FROM keeps.items WHERE tenant_id = $1 AND user_id = $2 AND texts IS NOT NULL
    EXCEPT
    SELECT row_id FROM keeps.item_vectors WHERE tenant_id = $1 AND user_id = $2 AND model = $3) AS lacking
ON CONFLICT DO NOTHING

-- name: item_versions
-- The versions of these rows, which must not move until the transaction ends.
SELECT row_id, version FROM keeps.items WHERE tenant_id = $1 AND user_id = $2 AND row_id = ANY ($3::uuid[]) FOR UPDATE

-- name: item_vectors_of_other_models_delete
DELETE FROM keeps.item_vectors WHERE tenant_id = $1 AND user_id = $2 AND model <> $3

-- name: item_owners
SELECT user_id FROM keeps.item_owners($1, $2)

-- name: export_items
-- A page of the rows after $3, $4.
SELECT namespace, key, to_jsonb(items) AS row FROM keeps.items
WHERE tenant_id = $1 AND user_id = $2 AND (namespace, key) > ($3::text, $4::text)
ORDER BY namespace, key LIMIT 50
