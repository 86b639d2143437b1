-- The log. Rows are only ever added; keeps.redact_memory_events empties the data of what was erased.

-- name: events_append
-- Append events about rows that a statement before this one changed. $1: [{event_id, type, subject, agent_id, visibility, time, data}]
WITH item AS (
    SELECT item.*, row_number() OVER () AS position
    FROM jsonb_to_recordset($1::jsonb) AS item(event_id uuid, type text, subject text, agent_id text, visibility text,
                                               time timestamptz, data jsonb)
), counter AS (
    -- Numbers without gaps: the row lock lasts until commit, and writers of a tenant take turns anyway.
    UPDATE keeps.tenants SET last_sequence = last_sequence + (SELECT count(*) FROM item)
    WHERE tenant_id = $2
    RETURNING last_sequence - (SELECT count(*) FROM item) AS base
)
INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility, data)
SELECT $2, counter.base + item.position, item.event_id, item.type, 'keeps', item.subject, item.time, $3, item.agent_id,
       item.visibility, item.data
FROM item CROSS JOIN counter

-- name: events_by_subject
-- The events of one memory, newest first, bounded.
SELECT tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, traceparent, data
FROM keeps.events
WHERE tenant_id = $1 AND subject = $2
ORDER BY sequence DESC
LIMIT 10000
