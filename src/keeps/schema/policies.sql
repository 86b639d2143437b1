-- Every row-level security policy and every grant of Keeps. Runs as keeps_owner after each migration. Idempotent.
--
-- The wall: a row is visible to keeps_app only when the transaction's app.current_tenant names its tenant, and
-- app.current_user its owner, or its visibility is 'tenant'. Nothing is writable but one's own rows. A setting that
-- is absent or empty reads as NULL, matches nothing, and the planner skips the scan ("One-Time Filter").
-- Forced, so that the owner is bound by it as well; policies name roles, so any other role sees nothing.

GRANT USAGE ON SCHEMA keeps TO keeps_app;
REVOKE ALL ON ALL TABLES IN SCHEMA keeps FROM keeps_app;

-- tenants
ALTER TABLE keeps.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.tenants FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE (last_sequence, max_memories, max_bytes) ON keeps.tenants TO keeps_app;
DROP POLICY IF EXISTS tenants_own ON keeps.tenants;
CREATE POLICY tenants_own ON keeps.tenants TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- users
ALTER TABLE keeps.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.users FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON keeps.users TO keeps_app;
DROP POLICY IF EXISTS users_own ON keeps.users;
CREATE POLICY users_own ON keeps.users TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));

-- memories: read one's own and the tenant's, write one's own
ALTER TABLE keeps.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.memories FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.memories TO keeps_app;
DROP POLICY IF EXISTS memories_read ON keeps.memories;
CREATE POLICY memories_read ON keeps.memories FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL
           AND (user_id = NULLIF(current_setting('app.current_user', true), '')
                OR (visibility = 'tenant' AND deleted_at IS NULL)));
DROP POLICY IF EXISTS memories_insert ON keeps.memories;
CREATE POLICY memories_insert ON keeps.memories FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
                AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memories_update ON keeps.memories;
CREATE POLICY memories_update ON keeps.memories FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memories_delete ON keeps.memories;
CREATE POLICY memories_delete ON keeps.memories FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));

-- A token of an agent: of experiences and skills, those of this agent only. Facts belong to the user.
DROP POLICY IF EXISTS memories_agent ON keeps.memories;
CREATE POLICY memories_agent ON keeps.memories AS RESTRICTIVE TO keeps_app
    USING (NULLIF(current_setting('app.bound_agent', true), '') IS NULL OR kind = 'semantic'
           OR agent_id = NULLIF(current_setting('app.bound_agent', true), ''));

-- memory_access: whoever may see a memory may count a reading of it
ALTER TABLE keeps.memory_access ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.memory_access FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON keeps.memory_access TO keeps_app;
DROP POLICY IF EXISTS memory_access_visible ON keeps.memory_access;
CREATE POLICY memory_access_visible ON keeps.memory_access TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND EXISTS (SELECT FROM keeps.memories
                       WHERE memories.tenant_id = memory_access.tenant_id
                         AND memories.memory_id = memory_access.memory_id));

-- memory_terms: audience is the owner, or '' for the whole tenant. The term filter stands in the policy because a
-- filter of the query itself may not use an index under RLS: && is not leakproof, so PostgreSQL would first check the
-- policy on every row. No app.terms, no rows.
ALTER TABLE keeps.memory_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.memory_terms FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.memory_terms TO keeps_app;
DROP POLICY IF EXISTS memory_terms_search ON keeps.memory_terms;
CREATE POLICY memory_terms_search ON keeps.memory_terms FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND audience = ANY (ARRAY['', NULLIF(current_setting('app.current_user', true), '')])
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL
           AND (terms && CAST(NULLIF(current_setting('app.terms', true), '') AS integer[])));
DROP POLICY IF EXISTS memory_terms_insert ON keeps.memory_terms;
CREATE POLICY memory_terms_insert ON keeps.memory_terms FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
                AND user_id = NULLIF(current_setting('app.current_user', true), '')
                AND audience = ANY (ARRAY['', user_id]));
DROP POLICY IF EXISTS memory_terms_delete ON keeps.memory_terms;
CREATE POLICY memory_terms_delete ON keeps.memory_terms FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_terms_follow ON keeps.memory_terms;
CREATE POLICY memory_terms_follow ON keeps.memory_terms TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- memory_vectors
ALTER TABLE keeps.memory_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.memory_vectors FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.memory_vectors TO keeps_app;
DROP POLICY IF EXISTS memory_vectors_read ON keeps.memory_vectors;
CREATE POLICY memory_vectors_read ON keeps.memory_vectors FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND audience = ANY (ARRAY['', NULLIF(current_setting('app.current_user', true), '')])
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS memory_vectors_insert ON keeps.memory_vectors;
CREATE POLICY memory_vectors_insert ON keeps.memory_vectors FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
                AND user_id = NULLIF(current_setting('app.current_user', true), '')
                AND audience = ANY (ARRAY['', user_id]));
DROP POLICY IF EXISTS memory_vectors_update ON keeps.memory_vectors;
CREATE POLICY memory_vectors_update ON keeps.memory_vectors FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''))
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
                AND user_id = NULLIF(current_setting('app.current_user', true), '')
                AND audience = ANY (ARRAY['', user_id]));
DROP POLICY IF EXISTS memory_vectors_delete ON keeps.memory_vectors;
CREATE POLICY memory_vectors_delete ON keeps.memory_vectors FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_vectors_follow ON keeps.memory_vectors;
CREATE POLICY memory_vectors_follow ON keeps.memory_vectors TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- events: append and read; never changed by keeps_app
ALTER TABLE keeps.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.events FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON keeps.events TO keeps_app;
DROP POLICY IF EXISTS events_read ON keeps.events;
CREATE POLICY events_read ON keeps.events FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL
           AND (user_id = NULLIF(current_setting('app.current_user', true), '')
                -- Shared when it happened, and the memory is still there for others: what was made private is.
                OR (visibility = 'tenant' AND data ? 'memory'
                    AND EXISTS (SELECT FROM keeps.memories
                                WHERE memories.tenant_id = events.tenant_id AND memories.visibility = 'tenant'
                                  AND memories.memory_id = CASE WHEN events.subject ~ '^[0-9a-f-]{36}$' THEN events.subject::uuid END))
                OR (visibility = 'tenant' AND data ? 'entity'
                    AND EXISTS (SELECT FROM keeps.entities
                                WHERE entities.tenant_id = events.tenant_id AND entities.visibility = 'tenant'
                                  AND entities.entity_id = CASE WHEN events.subject ~ '^[0-9a-f-]{36}$' THEN events.subject::uuid END))
                OR (visibility = 'tenant' AND data ? 'edge'
                    AND EXISTS (SELECT FROM keeps.relations
                                WHERE relations.tenant_id = events.tenant_id AND relations.visibility = 'tenant'
                                  AND relations.relation_id = CASE WHEN events.subject ~ '^[0-9a-f-]{36}$' THEN events.subject::uuid END))));
DROP POLICY IF EXISTS events_agent ON keeps.events;
CREATE POLICY events_agent ON keeps.events AS RESTRICTIVE FOR SELECT TO keeps_app
    USING (NULLIF(current_setting('app.bound_agent', true), '') IS NULL OR type NOT LIKE 'memory.%'
           -- What users said of the graph; what was found in texts may be of another agent's experiences.
           OR data #>> '{entity,source}' = 'user' OR (data ? 'edge' AND NOT data #> '{edge,properties}' ? 'found_by')
           OR data #>> '{memory,kind}' = 'semantic' OR agent_id = NULLIF(current_setting('app.bound_agent', true), ''));
DROP POLICY IF EXISTS events_append ON keeps.events;
CREATE POLICY events_append ON keeps.events FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
                AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS events_redact ON keeps.events;
CREATE POLICY events_redact ON keeps.events TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND (user_id = NULLIF(current_setting('app.current_user', true), '') OR type LIKE 'plan.state.%'))
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- Only inside keeps.retire_events: events that nobody needs any more, of all tenants.
DROP POLICY IF EXISTS events_retire ON keeps.events;
CREATE POLICY events_retire ON keeps.events TO keeps_owner USING (current_setting('app.log_change', true) = 'retire');
DROP POLICY IF EXISTS tenants_retire ON keeps.tenants;
CREATE POLICY tenants_retire ON keeps.tenants FOR UPDATE TO keeps_owner USING (current_setting('app.log_change', true) = 'retire');

-- webhooks and their dead letters: of the tenant; the owner finds those that are due (keeps.webhooks_due)
ALTER TABLE keeps.webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.webhooks FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.webhooks TO keeps_app;
DROP POLICY IF EXISTS webhooks_tenant ON keeps.webhooks;
CREATE POLICY webhooks_tenant ON keeps.webhooks TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS webhooks_find ON keeps.webhooks;
CREATE POLICY webhooks_find ON keeps.webhooks FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS webhooks_follow ON keeps.webhooks;
CREATE POLICY webhooks_follow ON keeps.webhooks FOR UPDATE TO keeps_owner USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.webhook_failures ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.webhook_failures FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.webhook_failures TO keeps_app;
DROP POLICY IF EXISTS webhook_failures_tenant ON keeps.webhook_failures;
CREATE POLICY webhook_failures_tenant ON keeps.webhook_failures TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);

-- sessions, plans, task contexts, what is derived from them, and answers kept for retries: one's own
ALTER TABLE keeps.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.sessions FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.sessions TO keeps_app;
DROP POLICY IF EXISTS sessions_own ON keeps.sessions;
CREATE POLICY sessions_own ON keeps.sessions TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS sessions_follow ON keeps.sessions;
CREATE POLICY sessions_follow ON keeps.sessions TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.plans ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.plans FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.plans TO keeps_app;
DROP POLICY IF EXISTS plans_own ON keeps.plans;
CREATE POLICY plans_own ON keeps.plans TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS plans_follow ON keeps.plans;
CREATE POLICY plans_follow ON keeps.plans TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.plan_correlations ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.plan_correlations FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.plan_correlations TO keeps_app;
DROP POLICY IF EXISTS plan_correlations_own ON keeps.plan_correlations;
CREATE POLICY plan_correlations_own ON keeps.plan_correlations TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS plan_correlations_follow ON keeps.plan_correlations;
CREATE POLICY plan_correlations_follow ON keeps.plan_correlations TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.task_contexts ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.task_contexts FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.task_contexts TO keeps_app;
DROP POLICY IF EXISTS task_contexts_own ON keeps.task_contexts;
CREATE POLICY task_contexts_own ON keeps.task_contexts TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS task_contexts_follow ON keeps.task_contexts;
CREATE POLICY task_contexts_follow ON keeps.task_contexts TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.task_subtasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.task_subtasks FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.task_subtasks TO keeps_app;
DROP POLICY IF EXISTS task_subtasks_own ON keeps.task_subtasks;
CREATE POLICY task_subtasks_own ON keeps.task_subtasks TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS task_subtasks_follow ON keeps.task_subtasks;
CREATE POLICY task_subtasks_follow ON keeps.task_subtasks TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.idempotency_keys FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.idempotency_keys TO keeps_app;
DROP POLICY IF EXISTS idempotency_keys_own ON keeps.idempotency_keys;
CREATE POLICY idempotency_keys_own ON keeps.idempotency_keys TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS idempotency_keys_follow ON keeps.idempotency_keys;
CREATE POLICY idempotency_keys_follow ON keeps.idempotency_keys TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- working_memory: shared by the tenant; whoever writes a key signs it
ALTER TABLE keeps.working_memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.working_memory FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.working_memory TO keeps_app;
DROP POLICY IF EXISTS working_memory_shared ON keeps.working_memory;
CREATE POLICY working_memory_shared ON keeps.working_memory TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL)
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
                AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS working_memory_follow ON keeps.working_memory;
CREATE POLICY working_memory_follow ON keeps.working_memory TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- the graph: entities and relations like memories, one's own and the tenant's to read, one's own to write. A mention is
-- seen by whoever sees its memory and its entity; a token of an agent is held to what it may see of memories.
ALTER TABLE keeps.entities ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.entities FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.entities TO keeps_app;
DROP POLICY IF EXISTS entities_read ON keeps.entities;
CREATE POLICY entities_read ON keeps.entities FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL
           AND (user_id = NULLIF(current_setting('app.current_user', true), '') OR (visibility = 'tenant' AND deleted_at IS NULL)));
DROP POLICY IF EXISTS entities_insert ON keeps.entities;
CREATE POLICY entities_insert ON keeps.entities FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS entities_update ON keeps.entities;
CREATE POLICY entities_update ON keeps.entities FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS entities_delete ON keeps.entities;
CREATE POLICY entities_delete ON keeps.entities FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS entities_follow ON keeps.entities;
CREATE POLICY entities_follow ON keeps.entities TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.entity_names ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.entity_names FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.entity_names TO keeps_app;
DROP POLICY IF EXISTS entity_names_read ON keeps.entity_names;
CREATE POLICY entity_names_read ON keeps.entity_names FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL
           AND (user_id = NULLIF(current_setting('app.current_user', true), '') OR visibility = 'tenant'));
DROP POLICY IF EXISTS entity_names_insert ON keeps.entity_names;
CREATE POLICY entity_names_insert ON keeps.entity_names FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS entity_names_update ON keeps.entity_names;
CREATE POLICY entity_names_update ON keeps.entity_names FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS entity_names_delete ON keeps.entity_names;
CREATE POLICY entity_names_delete ON keeps.entity_names FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS entity_names_follow ON keeps.entity_names;
CREATE POLICY entity_names_follow ON keeps.entity_names TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.relations ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.relations FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.relations TO keeps_app;
DROP POLICY IF EXISTS relations_read ON keeps.relations;
CREATE POLICY relations_read ON keeps.relations FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL
           AND (user_id = NULLIF(current_setting('app.current_user', true), '') OR (visibility = 'tenant' AND deleted_at IS NULL)));
DROP POLICY IF EXISTS relations_insert ON keeps.relations;
CREATE POLICY relations_insert ON keeps.relations FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS relations_update ON keeps.relations;
CREATE POLICY relations_update ON keeps.relations FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS relations_delete ON keeps.relations;
CREATE POLICY relations_delete ON keeps.relations FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS relations_follow ON keeps.relations;
CREATE POLICY relations_follow ON keeps.relations TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.mentions ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.mentions FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.mentions TO keeps_app;
DROP POLICY IF EXISTS mentions_read ON keeps.mentions;
CREATE POLICY mentions_read ON keeps.mentions FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND EXISTS (SELECT FROM keeps.memories WHERE memories.tenant_id = mentions.tenant_id AND memories.memory_id = mentions.memory_id)
           AND EXISTS (SELECT FROM keeps.entities WHERE entities.tenant_id = mentions.tenant_id AND entities.entity_id = mentions.entity_id));
DROP POLICY IF EXISTS mentions_insert ON keeps.mentions;
CREATE POLICY mentions_insert ON keeps.mentions FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS mentions_update ON keeps.mentions;
CREATE POLICY mentions_update ON keeps.mentions FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS mentions_delete ON keeps.mentions;
CREATE POLICY mentions_delete ON keeps.mentions FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS mentions_follow ON keeps.mentions;
CREATE POLICY mentions_follow ON keeps.mentions TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.memory_readings ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.memory_readings FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.memory_readings TO keeps_app;
DROP POLICY IF EXISTS memory_readings_read ON keeps.memory_readings;
CREATE POLICY memory_readings_read ON keeps.memory_readings FOR SELECT TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_readings_insert ON keeps.memory_readings;
CREATE POLICY memory_readings_insert ON keeps.memory_readings FOR INSERT TO keeps_app
    WITH CHECK (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_readings_update ON keeps.memory_readings;
CREATE POLICY memory_readings_update ON keeps.memory_readings FOR UPDATE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_readings_delete ON keeps.memory_readings;
CREATE POLICY memory_readings_delete ON keeps.memory_readings FOR DELETE TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_readings_follow ON keeps.memory_readings;
CREATE POLICY memory_readings_follow ON keeps.memory_readings TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));

-- providers: of the tenant
ALTER TABLE keeps.providers ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.providers FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON keeps.providers TO keeps_app;
DROP POLICY IF EXISTS providers_tenant ON keeps.providers;
CREATE POLICY providers_tenant ON keeps.providers TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);

-- what lives: notes of sessions, what waits for a vector, and changes are their user's
ALTER TABLE keeps.session_notes ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.session_notes FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.session_notes TO keeps_app;
DROP POLICY IF EXISTS session_notes_own ON keeps.session_notes;
CREATE POLICY session_notes_own ON keeps.session_notes TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS session_notes_follow ON keeps.session_notes;
CREATE POLICY session_notes_follow ON keeps.session_notes TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.memory_pending ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.memory_pending FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON keeps.memory_pending TO keeps_app;
DROP POLICY IF EXISTS memory_pending_own ON keeps.memory_pending;
CREATE POLICY memory_pending_own ON keeps.memory_pending TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS memory_pending_follow ON keeps.memory_pending;
CREATE POLICY memory_pending_follow ON keeps.memory_pending TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.operation_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.operation_changes FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.operation_changes TO keeps_app;
DROP POLICY IF EXISTS operation_changes_own ON keeps.operation_changes;
CREATE POLICY operation_changes_own ON keeps.operation_changes TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));
DROP POLICY IF EXISTS operation_changes_follow ON keeps.operation_changes;
CREATE POLICY operation_changes_follow ON keeps.operation_changes TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
DROP POLICY IF EXISTS operation_changes_agent ON keeps.operation_changes;
CREATE POLICY operation_changes_agent ON keeps.operation_changes AS RESTRICTIVE TO keeps_app
    USING (NULLIF(current_setting('app.bound_agent', true), '') IS NULL
           OR EXISTS (SELECT FROM keeps.memories WHERE memories.tenant_id = operation_changes.tenant_id AND memories.memory_id = operation_changes.memory_id));
DROP POLICY IF EXISTS session_notes_agent ON keeps.session_notes;
CREATE POLICY session_notes_agent ON keeps.session_notes AS RESTRICTIVE TO keeps_app
    USING (NULLIF(current_setting('app.bound_agent', true), '') IS NULL OR agent_id = NULLIF(current_setting('app.bound_agent', true), ''));

-- operations, schedule, samples and usage are of the tenant: names and counts, no content
ALTER TABLE keeps.operations ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.operations FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.operations TO keeps_app;
DROP POLICY IF EXISTS operations_tenant ON keeps.operations;
CREATE POLICY operations_tenant ON keeps.operations TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS operations_follow ON keeps.operations;
CREATE POLICY operations_follow ON keeps.operations TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.tenant_jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.tenant_jobs FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON keeps.tenant_jobs TO keeps_app;
DROP POLICY IF EXISTS tenant_jobs_tenant ON keeps.tenant_jobs;
CREATE POLICY tenant_jobs_tenant ON keeps.tenant_jobs TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS tenant_jobs_follow ON keeps.tenant_jobs;
CREATE POLICY tenant_jobs_follow ON keeps.tenant_jobs TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.storage_samples ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.storage_samples FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.storage_samples TO keeps_app;
DROP POLICY IF EXISTS storage_samples_tenant ON keeps.storage_samples;
CREATE POLICY storage_samples_tenant ON keeps.storage_samples TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS storage_samples_follow ON keeps.storage_samples;
CREATE POLICY storage_samples_follow ON keeps.storage_samples TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
ALTER TABLE keeps.llm_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.llm_usage FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON keeps.llm_usage TO keeps_app;
DROP POLICY IF EXISTS llm_usage_tenant ON keeps.llm_usage;
CREATE POLICY llm_usage_tenant ON keeps.llm_usage TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS llm_usage_follow ON keeps.llm_usage;
CREATE POLICY llm_usage_follow ON keeps.llm_usage TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
-- The schedule is made with the tenant, before a transaction is bound to it; and taken over all tenants by keeps.take_due_jobs.
DROP POLICY IF EXISTS tenant_jobs_made ON keeps.tenant_jobs;
CREATE POLICY tenant_jobs_made ON keeps.tenant_jobs FOR INSERT TO keeps_owner WITH CHECK (true);
DROP POLICY IF EXISTS tenant_jobs_due ON keeps.tenant_jobs;
CREATE POLICY tenant_jobs_due ON keeps.tenant_jobs FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS tenant_jobs_taken ON keeps.tenant_jobs;
CREATE POLICY tenant_jobs_taken ON keeps.tenant_jobs FOR UPDATE TO keeps_owner USING (true);
DROP POLICY IF EXISTS memory_pending_due ON keeps.memory_pending;
CREATE POLICY memory_pending_due ON keeps.memory_pending FOR SELECT TO keeps_owner USING (true);

DROP POLICY IF EXISTS entities_agent ON keeps.entities;
CREATE POLICY entities_agent ON keeps.entities AS RESTRICTIVE TO keeps_app
    USING (NULLIF(current_setting('app.bound_agent', true), '') IS NULL OR source = 'user');
DROP POLICY IF EXISTS relations_agent ON keeps.relations;
CREATE POLICY relations_agent ON keeps.relations AS RESTRICTIVE TO keeps_app
    USING (NULLIF(current_setting('app.bound_agent', true), '') IS NULL OR NOT properties ? 'found_by');

-- api_keys: of the tenant; the owner finds one by its hash before a tenant is known (keeps.find_api_key)
ALTER TABLE keeps.api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.api_keys FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE (revoked_at), DELETE ON keeps.api_keys TO keeps_app;
DROP POLICY IF EXISTS api_keys_tenant ON keeps.api_keys;
CREATE POLICY api_keys_tenant ON keeps.api_keys TO keeps_app
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL);
DROP POLICY IF EXISTS api_keys_find ON keeps.api_keys;
CREATE POLICY api_keys_find ON keeps.api_keys TO keeps_owner USING (true);

-- The owner counts over all tenants, inside a few functions only (keeps.users_to_index and its like): these return ids
-- and counts, and keeps_app cannot become the owner.
DROP POLICY IF EXISTS tenants_count ON keeps.tenants;
CREATE POLICY tenants_count ON keeps.tenants FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS users_count ON keeps.users;
CREATE POLICY users_count ON keeps.users FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS memories_count ON keeps.memories;
CREATE POLICY memories_count ON keeps.memories FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS memory_vectors_count ON keeps.memory_vectors;
CREATE POLICY memory_vectors_count ON keeps.memory_vectors FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS events_count ON keeps.events;
CREATE POLICY events_count ON keeps.events FOR SELECT TO keeps_owner USING (true);
DROP POLICY IF EXISTS memory_access_count ON keeps.memory_access;
CREATE POLICY memory_access_count ON keeps.memory_access FOR SELECT TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
DROP POLICY IF EXISTS tenants_held ON keeps.tenants;
CREATE POLICY tenants_held ON keeps.tenants TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), ''));
DROP POLICY IF EXISTS users_erased ON keeps.users;
CREATE POLICY users_erased ON keeps.users FOR DELETE TO keeps_owner
    USING (tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
           AND user_id = NULLIF(current_setting('app.current_user', true), ''));

-- functions
GRANT EXECUTE ON FUNCTION keeps.users_to_index(text, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.users_with_other_models(text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.installation_counts() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_memory_events(uuid, text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.memory_life(timestamptz, uuid, timestamptz) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.follow_plan() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.follow_task() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.json_kind(jsonb), keeps.json_room(jsonb, text[]), keeps.json_append(jsonb, text[], jsonb), keeps.json_add(jsonb, text[], numeric) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_plan_events(text, text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_own_events(text, text[]) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.erase_user() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.erase_tenant() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.count_rows(text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.users_of_tenant() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.list_tenants(text, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.find_api_key(bytea) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.make_event_partitions(), keeps.replay_differences(integer), keeps.replay_counts(timestamptz),
    keeps.last_sequences(text[]), keeps.retire_events(timestamptz), keeps.webhooks_due(timestamptz, integer), keeps.webhooks_behind(),
    keeps.event_owners(bigint, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.name_key(text), keeps.follow_entity(), keeps.graph_reach(uuid, integer, text, text[], timestamptz, integer),
    keeps.redact_graph_events(uuid[]), keeps.log_cascade(uuid[], uuid[]) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.take_due_jobs(timestamptz, integer), keeps.users_due(text, timestamptz, text, integer), keeps.fades_at(double precision, bigint, timestamptz) TO keeps_app;
GRANT SELECT ON keeps.alembic_version TO keeps_app;

-- the queue of the worker
GRANT USAGE ON SCHEMA keeps_jobs TO keeps_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keeps_jobs TO keeps_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA keeps_jobs TO keeps_app;
