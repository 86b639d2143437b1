-- The graph as one scope sees it. Rows are written whole, from JSON images; their events hold the same.

-- name: entity_put
-- $1: the row as JSON; one that is there is replaced.
INSERT INTO keeps.entities (tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility, source,
    merged_into, moved, version,
                            created_at, updated_at, deleted_at)
SELECT tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility, source, merged_into, moved,
    version,
       created_at, updated_at, deleted_at
FROM jsonb_populate_recordset(NULL::keeps.entities, $1::jsonb)
ON CONFLICT (tenant_id, entity_id) DO UPDATE
    SET name = EXCLUDED.name, entity_type = EXCLUDED.entity_type, aliases = EXCLUDED.aliases,
        properties = EXCLUDED.properties,
        visibility = EXCLUDED.visibility, source = EXCLUDED.source, merged_into = EXCLUDED.merged_into,
            moved = EXCLUDED.moved,
        version = EXCLUDED.version, updated_at = EXCLUDED.updated_at, deleted_at = EXCLUDED.deleted_at

-- name: relation_put
-- $1: rows as JSON; those that are there are replaced.
INSERT INTO keeps.relations (tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties, weight,
    visibility, valid_from,
                             valid_to, memory_id, event_id, version, created_at, updated_at, deleted_at)
SELECT tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties, weight, visibility, valid_from,
       valid_to, memory_id, event_id, version, created_at, updated_at, deleted_at
FROM jsonb_populate_recordset(NULL::keeps.relations, $1::jsonb)
ON CONFLICT (tenant_id, relation_id) DO UPDATE
    SET source_id = EXCLUDED.source_id, target_id = EXCLUDED.target_id, properties = EXCLUDED.properties,
        weight = EXCLUDED.weight,
        visibility = EXCLUDED.visibility, valid_from = EXCLUDED.valid_from, valid_to = EXCLUDED.valid_to,
            memory_id = EXCLUDED.memory_id,
        event_id = EXCLUDED.event_id, version = EXCLUDED.version, updated_at = EXCLUDED.updated_at,
            deleted_at = EXCLUDED.deleted_at

-- name: entity_get
-- reads: Entity with moved
SELECT tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility, source, merged_into, moved,
    version, created_at, updated_at, deleted_at
FROM keeps.entities WHERE tenant_id = $1 AND entity_id = ANY ($2::uuid[])

-- name: entity_as_of
-- reads: Entity with moved
-- One entity as its last event up to $3 told it.
SELECT entities.tenant_id, entities.entity_id, entities.user_id, entities.name, entities.entity_type, entities.aliases,
    entities.properties,
       entities.visibility, entities.source, entities.merged_into, entities.moved, entities.version,
           entities.created_at, entities.updated_at,
       entities.deleted_at
FROM (SELECT data -> 'entity' AS image FROM keeps.events
      WHERE tenant_id = $1 AND subject = $2 AND time <= $3 AND data ? 'entity' AND user_id = data #>> '{entity,user_id}'
        AND NOT EXISTS (SELECT FROM keeps.entities AS held WHERE held.tenant_id = $1 AND held.entity_id::text = $2
            AND held.user_id <> events.user_id)
      ORDER BY sequence DESC LIMIT 1) AS last
CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.entities, last.image) AS entities

-- name: entities_named
-- reads: Entity with moved
-- Who has a name or alias: one's own first, then of the wanted type, then the oldest.
SELECT entities.tenant_id, entities.entity_id, entities.user_id, entities.name, entities.entity_type, entities.aliases,
    entities.properties,
       entities.visibility, entities.source, entities.merged_into, entities.moved, entities.version,
           entities.created_at, entities.updated_at,
       entities.deleted_at
FROM keeps.entity_names JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = entity_names.entity_id
WHERE entity_names.tenant_id = $1 AND entity_names.name_key = ANY (SELECT keeps.name_key(each)
    FROM unnest($2::text[]) AS each)
  AND ($3::text IS NULL OR entities.entity_type = $3)
ORDER BY (entities.user_id = $4) DESC, entities.created_at, entities.entity_id
LIMIT 20

-- name: entities_list
-- reads: Entity with moved
-- One keyset page, newest first. $2, $3: the last row of the page before, or null · $4: how many · $5 name or alias ·
-- $6 type
SELECT tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility, source, merged_into, moved,
    version, created_at, updated_at, deleted_at
FROM keeps.entities
WHERE tenant_id = $1 AND deleted_at IS NULL AND merged_into IS NULL
  AND ($2::timestamptz IS NULL OR (created_at, entity_id) < ($2, $3::uuid))
  AND ($5::text IS NULL OR EXISTS (SELECT FROM keeps.entity_names WHERE entity_names.tenant_id = $1
                                   AND entity_names.entity_id = entities.entity_id
                                   AND entity_names.name_key = keeps.name_key($5)))
  AND ($6::text IS NULL OR entity_type = $6)
ORDER BY created_at DESC, entity_id DESC
LIMIT $4

-- name: entities_delete
DELETE FROM keeps.entities WHERE tenant_id = $1 AND user_id = $2 AND entity_id = ANY ($3::uuid[])

-- name: relations_delete
DELETE FROM keeps.relations WHERE tenant_id = $1 AND user_id = $2 AND relation_id = ANY ($3::uuid[])

-- name: graph_redact
SELECT keeps.redact_graph_events($1)

-- name: relation_get
-- reads: Relation
SELECT tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties, weight, visibility, valid_from,
    valid_to, memory_id, event_id,
       version, created_at, updated_at, deleted_at
FROM keeps.relations WHERE tenant_id = $1 AND relation_id = ANY ($2::uuid[])

-- name: relations_own_of
-- reads: Relation
-- One's own edges that touch an entity, ended and deleted ones, too.
SELECT tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties, weight, visibility, valid_from,
    valid_to, memory_id, event_id,
       version, created_at, updated_at, deleted_at
FROM keeps.relations WHERE tenant_id = $1 AND user_id = $2 AND (source_id = $3 OR target_id = $3)

-- name: relations_open
-- reads: Relation
-- One's own edges of a type from a source that are true at $5: those to $6, or where that is null, to anything.
SELECT tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties, weight, visibility, valid_from,
    valid_to, memory_id, event_id,
       version, created_at, updated_at, deleted_at
FROM keeps.relations
WHERE tenant_id = $1 AND user_id = $2 AND source_id = $3 AND relation_type = $4 AND deleted_at IS NULL
  AND (valid_to IS NULL OR valid_to > $5) AND ($6::uuid IS NULL OR target_id = $6)
ORDER BY valid_from, relation_id

-- name: relations_of
-- The edges of an entity that are true at $4. $3: outgoing, incoming or both · $5: types, or null · $6: how many
SELECT relations.tenant_id, relations.relation_id, relations.user_id, relations.source_id, relations.target_id,
    relations.relation_type,
       relations.properties, relations.weight, relations.visibility, relations.valid_from, relations.valid_to,
           relations.memory_id,
       relations.event_id, relations.version, relations.created_at, relations.updated_at, relations.deleted_at
FROM keeps.relations
JOIN keeps.entities AS source ON source.tenant_id = $1 AND source.entity_id = relations.source_id
    AND source.deleted_at IS NULL
JOIN keeps.entities AS target ON target.tenant_id = $1 AND target.entity_id = relations.target_id
    AND target.deleted_at IS NULL
WHERE relations.tenant_id = $1 AND (($3 <> 'incoming' AND relations.source_id = $2) OR ($3 <> 'outgoing'
    AND relations.target_id = $2))
  AND relations.deleted_at IS NULL AND relations.valid_from <= $4 AND (relations.valid_to IS NULL
      OR relations.valid_to > $4)
  AND ($5::text[] IS NULL OR relations.relation_type = ANY ($5))
ORDER BY relations.valid_from, relations.relation_id
LIMIT $6

-- name: relations_as_of
-- The edges of an entity that were known and true at $4; also those that were changed, moved or deleted since.
SELECT relations.tenant_id, relations.relation_id, relations.user_id, relations.source_id, relations.target_id,
    relations.relation_type,
       relations.properties, relations.weight, relations.visibility, relations.valid_from, relations.valid_to,
           relations.memory_id,
       relations.event_id, relations.version, relations.created_at, relations.updated_at, relations.deleted_at
FROM (WITH RECURSIVE survivor(entity_id) AS (
          SELECT $2::uuid
          UNION
          SELECT entities.merged_into FROM survivor JOIN keeps.entities ON entities.tenant_id = $1
              AND entities.entity_id = survivor.entity_id
          WHERE entities.merged_into IS NOT NULL
      )
      SELECT relation_id, touching.user_id FROM keeps.relations AS touching
      WHERE touching.tenant_id = $1
        AND (touching.source_id IN (SELECT survivor.entity_id FROM survivor)
            OR touching.target_id IN (SELECT survivor.entity_id FROM survivor))) AS found
CROSS JOIN LATERAL (SELECT data -> 'edge' AS image FROM keeps.events
                    WHERE events.tenant_id = $1 AND events.subject = found.relation_id::text AND events.time <= $4
                        AND events.data ? 'edge' AND events.user_id = found.user_id
                    ORDER BY events.sequence DESC LIMIT 1) AS last
CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.relations, last.image) AS relations
WHERE (($3 <> 'incoming' AND relations.source_id = $2) OR ($3 <> 'outgoing' AND relations.target_id = $2))
  AND relations.deleted_at IS NULL AND relations.valid_from <= $4 AND (relations.valid_to IS NULL
      OR relations.valid_to > $4)
  AND ($5::text[] IS NULL OR relations.relation_type = ANY ($5))
ORDER BY relations.valid_from, relations.relation_id
LIMIT $6

-- name: reach
-- Within some steps, nearest first. $5: types or null · $7: how many, and one more
SELECT entity_id, depth FROM keeps.graph_reach($2, $3, $4, $5, $6, $7) WHERE $1::text IS NOT NULL LIMIT $7 + 1

-- name: relations_among
-- reads: Relation
-- The edges between some entities that are true at $3. $4: types or null · $5: how many
SELECT tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties, weight, visibility, valid_from,
    valid_to, memory_id, event_id,
       version, created_at, updated_at, deleted_at
FROM keeps.relations
WHERE tenant_id = $1 AND source_id = ANY ($2::uuid[]) AND target_id IN (SELECT unnest($2::uuid[]))
  AND deleted_at IS NULL AND valid_from <= $3 AND (valid_to IS NULL OR valid_to > $3) AND ($4::text[] IS NULL
      OR relation_type = ANY ($4))
ORDER BY valid_from, relation_id
LIMIT $5

-- name: step
-- One step from some entities: for each other end one edge, in a direction ($3). $4: types or null · $5: now · $6: how
-- many
SELECT DISTINCT ON (there) relation_id, here, there FROM (
SELECT relations.relation_id, relations.source_id AS here, relations.target_id AS there
FROM keeps.relations
JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = relations.target_id
    AND entities.deleted_at IS NULL
WHERE $3 <> 'incoming' AND relations.tenant_id = $1 AND relations.source_id = ANY ($2::uuid[])
    AND ($4::text[] IS NULL OR relations.relation_type = ANY ($4))
  AND relations.deleted_at IS NULL AND relations.valid_from <= $5 AND (relations.valid_to IS NULL
      OR relations.valid_to > $5)
UNION ALL
SELECT relations.relation_id, relations.target_id, relations.source_id
FROM keeps.relations
JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = relations.source_id
    AND entities.deleted_at IS NULL
WHERE $3 <> 'outgoing' AND relations.tenant_id = $1 AND relations.target_id = ANY ($2::uuid[])
    AND ($4::text[] IS NULL OR relations.relation_type = ANY ($4))
  AND relations.deleted_at IS NULL AND relations.valid_from <= $5 AND (relations.valid_to IS NULL
      OR relations.valid_to > $5)
) AS step
LIMIT $6

-- name: paths
-- Paths along a pattern: step n goes by an edge of type $3[n] in direction $4[n] to an entity of type $5[n]; '*' is
-- any, 'a|b' either.
-- No entity twice on a path. $6: now · $7: how many, and one more. PostgreSQL makes no more rows of a recursion than
-- are asked for, so what may be looked at in all is bounded by $8; an empty row says that there was more.
WITH RECURSIVE path(length, entities, relations) AS (
    SELECT 0, ARRAY[$2::uuid], ARRAY[]::uuid[]
    UNION ALL
    SELECT path.length + 1, path.entities || step.there, path.relations || step.relation_id
    FROM path
    CROSS JOIN LATERAL (
        SELECT relations.relation_id, relations.target_id AS there FROM keeps.relations
        WHERE relations.tenant_id = $1 AND relations.source_id = path.entities[path.length + 1]
            AND ($4::text[])[path.length + 1] <> '<'
          AND (($3::text[])[path.length + 1] = '*'
              OR relations.relation_type = ANY (string_to_array(($3::text[])[path.length + 1], '|')))
          AND relations.deleted_at IS NULL AND relations.valid_from <= $6 AND (relations.valid_to IS NULL
              OR relations.valid_to > $6)
        UNION ALL
        SELECT relations.relation_id, relations.source_id FROM keeps.relations
        WHERE relations.tenant_id = $1 AND relations.target_id = path.entities[path.length + 1]
            AND ($4::text[])[path.length + 1] <> '>'
          AND (($3::text[])[path.length + 1] = '*'
              OR relations.relation_type = ANY (string_to_array(($3::text[])[path.length + 1], '|')))
          AND relations.deleted_at IS NULL AND relations.valid_from <= $6 AND (relations.valid_to IS NULL
              OR relations.valid_to > $6)
    ) AS step
    JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = step.there AND entities.deleted_at IS NULL
    WHERE path.length < cardinality($3::text[]) AND NOT EXISTS (SELECT FROM unnest(path.entities) AS old
        WHERE old = step.there)
      AND (($5::text[])[path.length + 1] = '*'
          OR entities.entity_type = ANY (string_to_array(($5::text[])[path.length + 1], '|')))
), looked_at AS MATERIALIZED (
    SELECT length, entities, relations FROM path LIMIT $8
)
(SELECT entities, relations FROM looked_at WHERE length = cardinality($3::text[]) LIMIT $7 + 1)
UNION ALL
SELECT NULL, NULL WHERE (SELECT count(*) FROM looked_at) >= $8

-- name: mention_put
-- What a user says of a memory and an entity.
INSERT INTO keeps.mentions (tenant_id, memory_id, entity_id, user_id, source, rejected, created_at, updated_at)
SELECT tenant_id, memory_id, entity_id, user_id, source, rejected, created_at, updated_at
FROM jsonb_populate_record(NULL::keeps.mentions, $1::jsonb)
ON CONFLICT (tenant_id, memory_id, entity_id) DO UPDATE
    SET user_id = EXCLUDED.user_id, source = EXCLUDED.source, rejected = EXCLUDED.rejected,
        created_at = EXCLUDED.created_at, updated_at = EXCLUDED.updated_at

-- name: mentions_found
-- What reading found: pairs of memory and entity. What a user said of a pair stays.
INSERT INTO keeps.mentions (tenant_id, memory_id, entity_id, user_id, source, rejected, created_at, updated_at)
SELECT $1, found.memory_id, found.entity_id, $2, 'text', false, $5, $5
FROM unnest($3::uuid[], $4::uuid[]) AS found(memory_id, entity_id)
JOIN keeps.memories ON memories.tenant_id = $1 AND memories.memory_id = found.memory_id
JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = found.entity_id
ON CONFLICT DO NOTHING

-- name: mentions_forget
-- Before memories are read anew: what reading found in them.
DELETE FROM keeps.mentions WHERE tenant_id = $1 AND user_id = $2 AND memory_id = ANY ($3::uuid[]) AND source = 'text'

-- name: mentions_of_entity
SELECT mentions.memory_id, mentions.entity_id, mentions.user_id, mentions.source, mentions.rejected,
    mentions.created_at, mentions.updated_at
FROM keeps.mentions JOIN keeps.memories ON memories.tenant_id = $1 AND memories.memory_id = mentions.memory_id
    AND memories.deleted_at IS NULL
WHERE mentions.tenant_id = $1 AND mentions.entity_id = $2
    ORDER BY memories.valid_from DESC, mentions.memory_id DESC LIMIT $3

-- name: mentions_of_memory
SELECT memory_id, entity_id, user_id, source, rejected, created_at, updated_at
FROM keeps.mentions WHERE tenant_id = $1 AND memory_id = $2 ORDER BY created_at, entity_id LIMIT $3

-- name: mentions_move
-- One's own mentions of an entity that another takes in.
UPDATE keeps.mentions SET entity_id = $4
WHERE tenant_id = $1 AND user_id = $2 AND entity_id = $3 AND source <> 'user'
  AND NOT EXISTS (SELECT FROM keeps.mentions AS other WHERE other.tenant_id = $1
      AND other.memory_id = mentions.memory_id AND other.entity_id = $4)

-- name: memories_to_read
-- One's own memories whose text was not read for entities yet, oldest first.
SELECT memories.memory_id, memories.version, memories.content, memories.kind, memories.metadata ->> 'speaker' AS speaker,
    keeps.memory_trust(memories.layer, memories.role, memories.source, memories.metadata) AS trust
FROM keeps.memories
LEFT JOIN keeps.memory_readings ON memory_readings.tenant_id = $1 AND memory_readings.memory_id = memories.memory_id
WHERE memories.tenant_id = $1 AND memories.user_id = $2 AND memories.deleted_at IS NULL
  AND memory_readings.version IS DISTINCT FROM memories.version
ORDER BY memories.memory_id
LIMIT $3

-- name: memories_read
-- Which versions were read.
INSERT INTO keeps.memory_readings (tenant_id, memory_id, user_id, version)
SELECT $1, read.memory_id, $2, read.version FROM unnest($3::uuid[], $4::integer[]) AS read(memory_id, version)
JOIN keeps.memories ON memories.tenant_id = $1 AND memories.memory_id = read.memory_id
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET version = EXCLUDED.version

-- name: readings_forget
-- Everything is to be read anew.
DELETE FROM keeps.memory_readings WHERE tenant_id = $1 AND user_id = $2

-- name: known_names
-- All names that a scope knows, with their entities; of those found in text and deleted, that they are no entities.
SELECT entity_id, name, aliases, deleted_at IS NOT NULL AS rejected FROM keeps.entities
WHERE tenant_id = $1 AND merged_into IS NULL AND (deleted_at IS NULL OR source <> 'user')
LIMIT 200000

-- name: entities_taken_in
-- reads: Entity with moved
-- One's own entities that another took in.
SELECT tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility, source, merged_into, moved,
    version, created_at, updated_at, deleted_at
FROM keeps.entities WHERE tenant_id = $1 AND user_id = $2 AND merged_into = $3

-- name: entity_was_erased
-- Whether one's own log says that an id is gone for good.
SELECT EXISTS (SELECT FROM keeps.events WHERE tenant_id = $1 AND subject = $2 AND type = 'memory.erased'
    AND data ? 'entity_id') AS erased

-- name: cascade_log
SELECT keeps.log_cascade($1, $2)

-- name: entities_unspoken
-- One's own entities that were found in texts of which none is left: nothing mentions them, nothing is linked to them.
SELECT entity_id FROM keeps.entities
WHERE tenant_id = $1 AND user_id = $2 AND source <> 'user' AND deleted_at IS NULL AND merged_into IS NULL
  AND NOT EXISTS (SELECT FROM keeps.mentions WHERE mentions.tenant_id = $1 AND mentions.entity_id = entities.entity_id)
  AND NOT EXISTS (SELECT FROM keeps.relations WHERE relations.tenant_id = $1 AND relations.deleted_at IS NULL
                    AND (relations.source_id = entities.entity_id OR relations.target_id = entities.entity_id)
                    AND NOT relations.properties ? 'found_by')
  AND NOT EXISTS (SELECT FROM keeps.entities AS taken WHERE taken.tenant_id = $1
      AND taken.merged_into = entities.entity_id)
LIMIT 1000

-- name: export_entities
-- Entities into which others were merged come first.
WITH RECURSIVE ordered(entity_id, depth) AS (
    SELECT entity_id, 0 FROM keeps.entities WHERE tenant_id = $1 AND user_id = $2 AND merged_into IS NULL
    UNION ALL
    SELECT entities.entity_id, ordered.depth + 1 FROM ordered JOIN keeps.entities ON entities.tenant_id = $1
        AND entities.merged_into = ordered.entity_id
)
SELECT ordered.depth, entities.created_at, entities.entity_id, to_jsonb(entities) AS row
FROM ordered JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = ordered.entity_id
WHERE entities.user_id = $2
    AND (ordered.depth, entities.created_at, entities.entity_id) > ($3::integer, $4::timestamptz, $5::uuid)
ORDER BY ordered.depth, entities.created_at, entities.entity_id LIMIT 200

-- name: export_relations
SELECT created_at, relation_id, to_jsonb(relations) AS row FROM keeps.relations
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, relation_id) > ($3::timestamptz, $4::uuid)
ORDER BY created_at, relation_id LIMIT 50

-- name: export_mentions
-- Mentions that users set; the others are found again by reading.
SELECT memory_id, entity_id, to_jsonb(mentions) AS row FROM keeps.mentions
WHERE tenant_id = $1 AND user_id = $2 AND source = 'user' AND (memory_id, entity_id) > ($3::uuid, $4::uuid)
ORDER BY memory_id, entity_id LIMIT 500
