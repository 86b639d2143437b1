-- Working memory. A key whose time is over counts as absent. Writers of a tenant take turns, so what a statement reads
-- stays true until commit. Each change and its event are one statement. keeps.state_plan gives the plan's id as stored: in
-- a space it begins with the owner, so that no key of a space meets one of the tenant or of another space.

-- name: working_put
-- reads: WorkingItem without id
-- $1 tenant · $2 plan · $3 key · $4 user · $5 value · $6 expires_at · $7 now · $8 expected version or null, 0 for none
-- · $9 event id · $10 agent · $11 whether a workflow writes: who makes a key decides whose it is. No row comes back
-- where the version is another, or where what is there is over: see working_end.
WITH stored AS (
    INSERT INTO keeps.working_memory AS held (tenant_id, plan_id, key, user_id, value, version, expires_at, created_at,
        updated_at, workflow)
    SELECT $1, keeps.state_plan($4, $2), $3, $4, $5::jsonb, 1, $6, $7, $7, $11
    WHERE $8::integer IS NULL OR $8 = 0
       OR EXISTS (SELECT FROM keeps.working_memory WHERE tenant_id = $1 AND plan_id = keeps.state_plan($4, $2) AND key = $3)
    ON CONFLICT (tenant_id, plan_id, key) DO UPDATE
        SET user_id = EXCLUDED.user_id, value = EXCLUDED.value, version = held.version + 1,
            expires_at = EXCLUDED.expires_at,
            updated_at = EXCLUDED.updated_at
        WHERE (held.expires_at IS NULL OR held.expires_at > $7) AND ($8 IS NULL OR $8 = held.version)
    RETURNING held.*
), counter AS (
    UPDATE keeps.tenants SET last_sequence = last_sequence + 1 WHERE tenant_id = $1 AND EXISTS (SELECT FROM stored)
    RETURNING last_sequence
), logged AS (
    INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility,
        data)
    SELECT $1, counter.last_sequence, $9, 'plan.state.written', 'keeps', $2, $7, $4, $10, 'private',
           jsonb_build_object('operation', 'set', 'plan_id', $2, 'key', $3, 'value', stored.value, 'version',
               stored.version,
                              'expires_at', stored.expires_at, 'created_at', stored.created_at)
           || CASE WHEN stored.workflow THEN '{"workflow": true}'::jsonb ELSE '{}'::jsonb END
    FROM stored CROSS JOIN counter
)
SELECT tenant_id, $2::text AS plan_id, key, value, version, user_id, workflow, expires_at, updated_at FROM stored

-- name: working_change
-- Change a value where it stands; a change inside it returns it whole, too, to be checked. No row comes back where
-- what is there is over: see working_end. $5: path inside the value ·
-- $6: append, extend, merge or increment · $7: what · $8: now · $9: event id · $10: agent · $11: whether a workflow
-- writes
WITH stored AS (
    INSERT INTO keeps.working_memory AS held (tenant_id, plan_id, key, user_id, value, version, expires_at, created_at,
        updated_at, workflow)
    VALUES ($1, keeps.state_plan($4, $2), $3, $4, keeps.json_change(NULL, $5::text[], $6, $7::jsonb), 1, NULL, $8, $8, $11)
    ON CONFLICT (tenant_id, plan_id, key) DO UPDATE
        SET user_id = EXCLUDED.user_id, version = held.version + 1, updated_at = EXCLUDED.updated_at,
            value = keeps.json_change(held.value, $5, $6, $7::jsonb)
        WHERE held.expires_at IS NULL OR held.expires_at > $8
    RETURNING held.*
), counter AS (
    UPDATE keeps.tenants SET last_sequence = last_sequence + 1 WHERE tenant_id = $1 AND EXISTS (SELECT FROM stored)
    RETURNING last_sequence
), logged AS (
    INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, agent_id, visibility,
        data)
    SELECT $1, counter.last_sequence, $9, 'plan.state.written', 'keeps', $2, $8, $4, $10, 'private',
           jsonb_build_object('operation', $6, 'plan_id', $2, 'key', $3, 'path', $5, 'version', stored.version,
               CASE $6 WHEN 'append' THEN 'item' WHEN 'extend' THEN 'items' WHEN 'merge' THEN 'entries'
                   ELSE 'delta' END, $7::jsonb)
           || CASE WHEN stored.workflow THEN '{"workflow": true}'::jsonb ELSE '{}'::jsonb END
    FROM stored CROSS JOIN counter
)
SELECT key, value #> $5 AS value, CASE WHEN cardinality($5) > 0 THEN value END AS whole, version FROM stored

-- name: working_get
-- reads: WorkingItem without id
-- $5: user
SELECT tenant_id, $2::text AS plan_id, key, value, version, user_id, workflow, expires_at, updated_at
FROM keeps.working_memory
WHERE tenant_id = $1 AND plan_id = keeps.state_plan($5, $2) AND key = $3 AND (expires_at IS NULL OR expires_at > $4)

-- name: working_values
-- The values of the keys of a plan as one object, by key, as many as $4 bytes hold; null where there are none. $5: user
SELECT jsonb_object_agg(key, value) AS "values" FROM (
    SELECT key, value, sum(octet_length(value::text)) OVER (ORDER BY key) AS bytes FROM keeps.working_memory
    WHERE tenant_id = $1 AND plan_id = keeps.state_plan($5, $2) AND (expires_at IS NULL OR expires_at > $3)) AS held
WHERE bytes <= $4

-- name: working_list
-- reads: WorkingItem without id
-- The keys of a plan, a page at a time. $4: the last key of the page before · $5: how many · $6: with their values
-- · $7: user
SELECT tenant_id, $2::text AS plan_id, key, CASE WHEN $6 THEN value ELSE 'null' END AS value, version, user_id,
    workflow, expires_at, updated_at
FROM keeps.working_memory
WHERE tenant_id = $1 AND plan_id = keeps.state_plan($7, $2) AND (expires_at IS NULL OR expires_at > $3) AND key > $4
ORDER BY key LIMIT $5

-- name: working_delete
-- One key, or all where $3 is null; with $5 those that a workflow made. Expired ones go, too, but do not count.
-- $6: user
DELETE FROM keeps.working_memory
WHERE tenant_id = $1 AND plan_id = keeps.state_plan($6, $2) AND ($3::text IS NULL OR key = $3) AND (workflow OR NOT $5::boolean)
RETURNING key, expires_at IS NOT NULL AND expires_at <= $4 AS expired

-- name: working_redact
SELECT keeps.redact_plan_events($1, $2)

-- name: working_end
-- A key whose time is over, before it is written anew. $5: user
DELETE FROM keeps.working_memory
WHERE tenant_id = $1 AND plan_id = keeps.state_plan($5, $2) AND key = $3 AND expires_at <= $4
RETURNING key

-- name: working_bytes
-- How many bytes the values of a plan take. $3: user
SELECT COALESCE(sum(octet_length(value::text) + octet_length(key)), 0) AS bytes FROM keeps.working_memory
WHERE tenant_id = $1 AND plan_id = keeps.state_plan($3, $2)

-- name: working_sweep
-- Keys of the tenant whose time is over.
DELETE FROM keeps.working_memory
WHERE tenant_id = $1 AND (plan_id, key) IN (
    SELECT plan_id, key FROM keeps.working_memory WHERE tenant_id = $1 AND expires_at <= $2 LIMIT 100)
RETURNING keeps.state_plan_name(user_id, plan_id) AS plan_id, key

-- name: working_add
-- An imported key with its version and times; one that is there stays as it is.
INSERT INTO keeps.working_memory (tenant_id, plan_id, key, user_id, value, version, expires_at, created_at, updated_at,
    workflow)
VALUES ($1, keeps.state_plan($4, $2), $3, $4, $5::jsonb, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING key

-- name: export_working_memory
SELECT name AS plan_id, key, to_jsonb(working_memory) || jsonb_build_object('plan_id', name) AS row
FROM keeps.working_memory CROSS JOIN LATERAL keeps.state_plan_name(user_id, plan_id) AS name
WHERE tenant_id = $1 AND user_id = $2 AND (expires_at IS NULL OR expires_at > now())
    AND (plan_id, key) > (keeps.state_plan($2, $3::text), $4::text)
ORDER BY working_memory.plan_id, key LIMIT 50
