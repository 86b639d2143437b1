-- The log. Rows are only ever added; keeps.redact_events empties the data of what was erased.

-- name: events_append
-- Append events about rows that a statement before this one changed. $1: [{event_id, type, subject, agent_id,
-- visibility, time, data}]
WITH item AS (
    SELECT item.*, row_number() OVER () AS position
    FROM jsonb_to_recordset($1::jsonb) AS item(event_id uuid, type text, subject text, agent_id text, visibility text,
                                               time timestamptz, data jsonb)
), counter AS (
    -- Numbers without gaps: the row lock lasts until commit, and writers of a tenant take turns anyway.
    UPDATE keeps.tenants SET last_sequence = last_sequence + (SELECT count(*) FROM item)
    WHERE tenant_id = $2
    RETURNING last_sequence - (SELECT count(*) FROM item) AS base,
        keeps.begin_chain(tenant_id, last_sequence - (SELECT count(*) FROM item), chain_hash) AS chain
)
INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility,
    data)
SELECT $2, counter.base + item.position, item.event_id, item.type, 'keeps', item.subject, item.time, $3, item.agent_id,
       item.visibility, item.data
FROM item CROSS JOIN counter
ORDER BY item.position

-- name: events_by_subject
-- The events of one memory, newest first, bounded.
SELECT tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, actor_id, traceparent, data
FROM keeps.events
WHERE tenant_id = $1 AND subject = $2 AND NOT (data ? 'entity' OR data ? 'edge' OR data ? 'entity_id'
    OR data ? 'relation_id')
ORDER BY sequence DESC
LIMIT 1000

-- name: events_reach
-- reads: Reach
-- How far the log goes, and from where on it is whole.
SELECT last_sequence, retired_sequence, retired_until FROM keeps.tenants WHERE tenant_id = $1

-- name: events_after
-- What this scope may see of the events after $2, up to $3, in order. $4: LIKE patterns of types, or null · $5: kinds
-- of memories, or null; other events have no kind · $6: how many
SELECT tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, actor_id, traceparent, data
FROM keeps.events
WHERE tenant_id = $1 AND sequence > $2 AND sequence <= $3
  AND ($4::text[] IS NULL OR type LIKE ANY ($4)) AND ($5::text[] IS NULL OR data #>> '{memory,kind}' = ANY ($5))
ORDER BY sequence
LIMIT $6

-- name: events_of
-- Some events by their numbers, as far as this scope may see them.
SELECT tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, actor_id, traceparent, data
FROM keeps.events
WHERE tenant_id = $1 AND sequence = ANY ($2::bigint[])
ORDER BY sequence

-- name: last_sequences
-- Of some tenants, numbers only.
SELECT tenant_id, last_sequence FROM keeps.last_sequences($1)

-- name: event_owners
-- Whose the next events of this tenant are: ids only.
SELECT sequence, user_id, type FROM keeps.event_owners($1, $2)

-- name: chain_head
-- reads: ChainHead
-- How far the log and its chain go.
SELECT last_sequence, retired_sequence, chain_hash
FROM keeps.tenants WHERE tenant_id = $1

-- name: chain_events
-- The chain after $1, at most $2 events: hashes and what never changes, and contents of events that belong to no user.
SELECT sequence, event_id, type, source, time, recorded_at, contents_hash, previous_hash, hash, starts, state, user_id,
    salt, subject, agent_id, visibility, traceparent, data
FROM keeps.chain_events($1, $2)

-- name: event_contents
-- The contents of some events, as their user.
SELECT sequence, user_id, salt, subject, agent_id, visibility, traceparent, data::text AS data
FROM keeps.events
WHERE tenant_id = $1 AND sequence = ANY ($2::bigint[])
ORDER BY sequence

-- name: replay_differences
SELECT table_name, compared, row_key, problem, columns FROM keeps.replay_differences($1)
UNION ALL
SELECT table_name, NULL, row_key, problem, columns FROM keeps.log_differences($1)

-- name: replay_counts
SELECT table_name, told FROM keeps.replay_counts($1)

-- name: replay_into
-- As PostgreSQL's administrator.
SELECT table_name, told FROM keeps.replay_into($1, $2, $3)

-- name: events_retire
SELECT removed, kept FROM keeps.retire_events($1)

-- name: partitions_make
SELECT keeps.make_event_partitions() AS made
