-- Sessions of the asking user. Plans are counted and the last activity is found when asked, so they are always true.

-- name: session_get
-- reads: Session without last_interaction
SELECT held.tenant_id, held.session_id, held.user_id, held.agent_id, held.name, held.metadata, held.version,
    held.ended_at, held.created_at, held.updated_at,
       (SELECT count(*) FROM keeps.plans
        WHERE plans.tenant_id = $1 AND plans.user_id = $2 AND plans.session_id = held.session_id) AS plan_count,
       GREATEST(held.last_interaction,
           (SELECT max(plans.updated_at) FROM keeps.plans
            WHERE plans.tenant_id = $1 AND plans.user_id = $2 AND plans.session_id = held.session_id),
           (SELECT max(working_memory.updated_at) FROM keeps.plans JOIN keeps.working_memory
              ON working_memory.tenant_id = plans.tenant_id
                AND working_memory.plan_id = keeps.state_plan($2, plans.plan_id)
            WHERE plans.tenant_id = $1 AND plans.user_id = $2 AND plans.session_id = held.session_id),
           (SELECT max(memories.created_at) FROM keeps.memories
            WHERE memories.tenant_id = $1 AND memories.user_id = $2
                AND memories.session_id = held.session_id)) AS last_activity
FROM keeps.sessions AS held
WHERE held.tenant_id = $1 AND held.user_id = $2 AND held.session_id = $3

-- name: session_list
-- reads: Session without last_interaction
-- One keyset page, newest first. $3, $4: the last row of the page before, or null · $5: how many · $6: whether they
-- ended, or null
SELECT held.tenant_id, held.session_id, held.user_id, held.agent_id, held.name, held.metadata, held.version,
    held.ended_at, held.created_at, held.updated_at,
       (SELECT count(*) FROM keeps.plans
        WHERE plans.tenant_id = $1 AND plans.user_id = $2 AND plans.session_id = held.session_id) AS plan_count,
       GREATEST(held.last_interaction,
           (SELECT max(plans.updated_at) FROM keeps.plans
            WHERE plans.tenant_id = $1 AND plans.user_id = $2 AND plans.session_id = held.session_id),
           (SELECT max(working_memory.updated_at) FROM keeps.plans JOIN keeps.working_memory
              ON working_memory.tenant_id = plans.tenant_id
                AND working_memory.plan_id = keeps.state_plan($2, plans.plan_id)
            WHERE plans.tenant_id = $1 AND plans.user_id = $2 AND plans.session_id = held.session_id),
           (SELECT max(memories.created_at) FROM keeps.memories
            WHERE memories.tenant_id = $1 AND memories.user_id = $2
                AND memories.session_id = held.session_id)) AS last_activity
FROM keeps.sessions AS held
WHERE held.tenant_id = $1 AND held.user_id = $2
  AND ($3::timestamptz IS NULL OR (held.created_at, held.session_id) < ($3, $4::text))
  AND ($6::boolean IS NULL OR (held.ended_at IS NOT NULL) = $6)
ORDER BY held.created_at DESC, held.session_id DESC
LIMIT $5

-- name: session_insert
-- $1: the row as JSON. No row comes back where the session is there already.
INSERT INTO keeps.sessions (tenant_id, user_id, session_id, name, agent_id, metadata, version, last_interaction,
    ended_at, created_at, updated_at)
SELECT tenant_id, user_id, session_id, name, agent_id, metadata, version, last_interaction, ended_at, created_at,
    updated_at
FROM jsonb_populate_record(NULL::keeps.sessions, $1::jsonb)
ON CONFLICT DO NOTHING
RETURNING session_id

-- name: session_replace
-- $1: the row as JSON.
UPDATE keeps.sessions
SET name = item.name, agent_id = item.agent_id, metadata = item.metadata, version = item.version,
    last_interaction = item.last_interaction, ended_at = item.ended_at, updated_at = item.updated_at
FROM jsonb_populate_record(NULL::keeps.sessions, $1::jsonb) AS item
WHERE sessions.tenant_id = item.tenant_id AND sessions.user_id = item.user_id AND sessions.session_id = item.session_id

-- name: session_leave
-- The plans of a session that is about to go stay, without it.
UPDATE keeps.plans SET session_id = NULL WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3
RETURNING plan_id, agent_id, updated_at, to_jsonb(plans) AS image

-- name: session_delete
DELETE FROM keeps.sessions WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 RETURNING session_id

-- name: session_redact
SELECT keeps.redact_own_events($1, ARRAY['session.created', 'session.updated'])

-- name: session_notes_get
-- The notes of a conversation that are still fresh.
SELECT notes FROM keeps.session_notes WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND agent_id = $4
    AND expires_at > $5

-- name: session_notes_put
-- $6: when what matters of it is to be kept for longer
INSERT INTO keeps.session_notes (tenant_id, user_id, session_id, agent_id, notes, consolidate_at, expires_at)
    VALUES ($1, $2, $3, $4, $5::jsonb, $6, $7)
ON CONFLICT (tenant_id, user_id, session_id, agent_id)
    DO UPDATE SET notes = EXCLUDED.notes, consolidate_at = EXCLUDED.consolidate_at, expires_at = EXCLUDED.expires_at

-- name: session_notes_due
-- Conversations that ended an hour ago, or were left a day ago, and whose essence is not kept yet.
SELECT session_id, agent_id, notes FROM keeps.session_notes
WHERE tenant_id = $1 AND user_id = $2 AND consolidate_at IS NOT NULL AND consolidate_at <= $3
ORDER BY consolidate_at LIMIT $4

-- name: session_notes_consolidated
-- Consolidated ($6 null), or to be at another time: unless something was said since the notes of $5 messages were read.
UPDATE keeps.session_notes SET consolidate_at = $6 WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3
    AND agent_id = $4
  AND (notes ->> 'message_count')::integer = $5

-- name: session_messages
-- The last messages of a conversation, newest first: what its notes are made of.
SELECT memory_id, content, role, source, metadata, valid_from FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND kind = 'episodic'
    AND content_type IN ('message', 'tool_result') AND deleted_at IS NULL
  AND ($5 = '' OR agent_id = $5)
ORDER BY valid_from DESC, memory_id DESC
LIMIT $4

-- name: session_notes_drop
DELETE FROM keeps.session_notes WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3

-- name: memories_derived_from
-- What rules or an LLM derived from one memory ($3): facts, summaries of its conversation ($4), those that name it.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2
  AND ((namespace = 'facts' AND metadata ->> 'read_in' = $3) OR (namespace = 'sessions'
      AND content_type = 'session_summary' AND session_id = $4)
       OR (namespace IN ('summaries', 'gists') AND metadata -> 'sources' ? $3))

-- name: export_sessions
-- A page of the rows after $3, $4. All statements named export_ read pages of one user's rows like this one.
SELECT created_at, session_id, to_jsonb(sessions) AS row FROM keeps.sessions
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, session_id) > ($3::timestamptz, $4::text)
ORDER BY created_at, session_id LIMIT 50
