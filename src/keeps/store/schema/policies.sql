-- Every row-level security policy and every grant of Keeps. Runs as keeps_owner after each migration. Idempotent.
--
-- The wall: a row is visible to keeps_app only when the transaction's app.current_tenant names its tenant, and
-- app.current_user its owner, or its visibility is 'tenant', or its owner is a space that app.acting_user is a member
-- of. Nothing is writable but the rows of app.current_user. A setting that is absent or empty reads as NULL, matches
-- nothing, and the planner skips the scan ("One-Time Filter").
-- A space owns its rows as a user does: its owner is called '(space) ' and its id. A transaction whose app.current_user
-- is a space sees and writes nothing unless app.acting_user is a member with that right; keeps.open_spaces is the one
-- look-up that says so.
-- Forced, so that the owner is bound by it as well; policies name roles, so any other role sees nothing.
--
-- Read the table of rules from the top: of which tables, what the rule is called, for which command, for whom, which
-- rows.
--   {members}   the row is of the tenant that the transaction names
--   {tenant}    the same, and the acting user may read what the transaction is about
--   {own}       it is of that tenant, and of the user that the transaction names
--   {named}     it is of that tenant, and a user is named at all
--   {user}      it is of the user
--   {space}     it is of a space that the acting user may read
--   {agent}     no agent is bound to the transaction, or it is of a space, whose agents share everything
--   {bound}     the agent that is bound
-- What keeps_app writes as a space needs the right to write there. A rule for ALL is written for each command.

GRANT USAGE ON SCHEMA keeps TO keeps_app;
REVOKE ALL ON ALL TABLES IN SCHEMA keeps FROM keeps_app;

DO $wall$
DECLARE
    each record;
    seen text;
    written text;
    said text;
BEGIN
    -- Every table there is, with its partitions: the catalogue is the list.
    FOR each IN SELECT relname AS name FROM pg_class
                WHERE relnamespace = 'keeps'::regnamespace AND relkind IN ('r', 'p')
                    AND relname <> 'alembic_version' LOOP
        EXECUTE format('ALTER TABLE keeps.%I ENABLE ROW LEVEL SECURITY', each.name);
        EXECUTE format('ALTER TABLE keeps.%I FORCE ROW LEVEL SECURITY', each.name);
    END LOOP;
    FOR each IN SELECT tablename, policyname FROM pg_policies WHERE schemaname = 'keeps' LOOP
        EXECUTE format('DROP POLICY %I ON keeps.%I', each.policyname, each.tablename);
    END LOOP;

    FOR each IN SELECT * FROM (VALUES
        -- Not the counters: they count rows that the acting user may not see.
        ('SELECT (tenant_id, name, last_sequence, created_at, memory_count, memory_bytes, max_memories, max_bytes,'
         ' retired_sequence, retired_until, state_bytes, chain_hash, jobs_rest), INSERT,'
         ' UPDATE (last_sequence, chain_hash, max_memories, max_bytes)', 'tenants'),
        ('SELECT, INSERT', 'users events'),
        ('SELECT, INSERT, UPDATE', 'memory_access providers tenant_jobs'),
        -- No policy shows keeps_app a row of vector_counts: what is counted may be hidden from the acting user.
        ('SELECT', 'audience_words postings vector_bits vector_counts'),
        ('SELECT, INSERT, UPDATE (word_count, words, counts)', 'memory_words'),
        ('SELECT, INSERT, DELETE', 'memory_pending item_pending'),
        ('SELECT, INSERT, UPDATE (revoked_at), DELETE', 'api_keys'),
        ('SELECT, INSERT, UPDATE, DELETE',
         'memories memory_vectors webhooks webhook_failures sessions plans plan_correlations task_contexts'
         ' task_subtasks idempotency_keys working_memory entities entity_names relations mentions memory_readings'
         ' session_notes operation_changes operations storage_samples llm_usage model_usage budget_alerts documents document_passages databases'
         ' query_audit transcripts transcript_entries transcript_values items item_refreshes item_vectors'),
        ('SELECT, INSERT, DELETE', 'requests'),
        ('SELECT, INSERT, UPDATE (title, archived_at)', 'spaces'),
        ('SELECT, INSERT, UPDATE (role, expires_at), DELETE', 'space_members')
    ) AS granted(rights, tables) LOOP
        EXECUTE format('GRANT %s ON %s TO keeps_app', each.rights, 'keeps.' || replace(each.tables, ' ', ', keeps.'));
    END LOOP;

    FOR each IN SELECT rule.tables, rule.what, command.command, rule.whom, rule.seen, rule.written, name.name,
            held.rows AS held FROM (VALUES
        -- What belongs to one user: theirs alone.
        ('users sessions plans plan_correlations task_contexts task_subtasks idempotency_keys session_notes'
         ' memory_pending operation_changes query_audit transcripts transcript_entries transcript_values items'
         ' item_refreshes item_vectors item_pending requests', 'own', 'ALL', 'keeps_app', '{own}', NULL),
        -- What belongs to the tenant: any user of it. Names and counts, no content of users.
        ('webhooks webhook_failures providers operations tenant_jobs storage_samples llm_usage model_usage'
         ' budget_alerts api_keys databases', 'tenant', 'ALL', 'keeps_app', '{named}', NULL),
        ('tenants', 'own', 'ALL', 'keeps_app', '{tenant}', NULL),
        -- Shared by the tenant, or by the members of a space; whoever writes a key signs it.
        ('working_memory', 'shared', 'ALL', 'keeps_app',
         $${named} AND ({user} OR NOT starts_with(user_id, '(space) ')
           AND NOT starts_with(current_setting('app.current_user', true), '(space) '))$$, '{own}'),
        -- One's own to write, and what others share to read.
        ('memories entities relations documents', 'read', 'SELECT', 'keeps_app',
         $${named} AND ({user} OR (deleted_at IS NULL AND ({shared} OR {space})))$$, NULL),
        ('entity_names document_passages', 'read', 'SELECT', 'keeps_app',
         $${named} AND ({user} OR {shared} OR {space})$$, NULL),
        ('memory_readings', 'read', 'SELECT', 'keeps_app', '{own}', NULL),
        ('memories entities entity_names relations mentions memory_readings documents document_passages', 'insert',
         'INSERT', 'keeps_app', NULL, '{own}'),
        ('memories entities entity_names relations mentions memory_readings documents document_passages', 'update',
         'UPDATE', 'keeps_app', '{own}', NULL),
        ('memories entities entity_names relations mentions memory_readings memory_vectors documents'
         ' document_passages', 'delete', 'DELETE', 'keeps_app', '{own}', NULL),
        -- A mention is seen by whoever sees its memory and its entity.
        ('mentions', 'read', 'SELECT', 'keeps_app',
         '{tenant} AND EXISTS (SELECT FROM keeps.memories WHERE memories.tenant_id = mentions.tenant_id'
         ' AND memories.memory_id = mentions.memory_id) AND EXISTS (SELECT FROM keeps.entities'
         ' WHERE entities.tenant_id = mentions.tenant_id AND entities.entity_id = mentions.entity_id)', NULL),
        -- Whoever may see a memory may count a reading of it.
        ('memory_access', 'visible', 'ALL', 'keeps_app',
         '{tenant} AND EXISTS (SELECT FROM keeps.memories WHERE memories.tenant_id = memory_access.tenant_id'
         ' AND memories.memory_id = memory_access.memory_id)', NULL),
        -- The audience is the owner, or '' for the whole tenant.
        ('memory_words postings audience_words vector_bits memory_vectors', 'read', 'SELECT', 'keeps_app',
         $${named} AND CASE WHEN starts_with(audience, '(space) ')
               THEN audience = ANY ((SELECT keeps.open_spaces('reader'))::text[])
               ELSE audience = NULLIF(current_setting('app.current_user', true), '') OR audience = '' AND {wide} END$$, NULL),
        ('memory_words memory_vectors', 'insert', 'INSERT', 'keeps_app',
         NULL, $${own} AND audience = ANY (ARRAY['', user_id])$$),
        ('memory_words memory_vectors', 'update', 'UPDATE', 'keeps_app', '{own}',
         $${own} AND audience = ANY (ARRAY['', user_id])$$),
        -- The log: appended and read, never changed by keeps_app. Of what others shared when it happened, that which is
        -- still there for others: what was made private is.
        ('events', 'append', 'INSERT', 'keeps_app', NULL, '{own}'),
        ('events', 'read', 'SELECT', 'keeps_app',
         $${named} AND ({user} OR {space}
            OR ({shared} AND data ? 'memory'
                AND EXISTS (SELECT FROM keeps.memories
                            WHERE memories.tenant_id = events.tenant_id AND memories.visibility = 'tenant'
                              AND memories.memory_id = CASE WHEN events.subject ~ '^[0-9a-f-]{36}$'
                                  THEN events.subject::uuid END))
            OR ({shared} AND data ? 'entity'
                AND EXISTS (SELECT FROM keeps.entities
                            WHERE entities.tenant_id = events.tenant_id AND entities.visibility = 'tenant'
                              AND entities.entity_id = CASE WHEN events.subject ~ '^[0-9a-f-]{36}$'
                                  THEN events.subject::uuid END))
            OR ({shared} AND data ? 'edge'
                AND EXISTS (SELECT FROM keeps.relations
                            WHERE relations.tenant_id = events.tenant_id AND relations.visibility = 'tenant'
                              AND relations.relation_id = CASE WHEN events.subject ~ '^[0-9a-f-]{36}$'
                                                               THEN events.subject::uuid END)))$$, NULL),
        -- A space is seen by its members, and managed by its curators. Whoever makes one is its first member. Anyone
        -- may leave.
        ('spaces', 'read', 'SELECT', 'keeps_app', $${members} AND user_id = ANY ((SELECT keeps.open_spaces('reader'))::text[])$$, NULL),
        ('spaces', 'insert', 'INSERT', 'keeps_app', NULL,
         $${members} AND user_id = ANY ((SELECT keeps.open_spaces('curator'))::text[])$$),
        ('spaces', 'update', 'UPDATE', 'keeps_app',
         $${members} AND user_id = ANY ((SELECT keeps.open_spaces('curator'))::text[])$$, NULL),
        ('space_members', 'read', 'SELECT', 'keeps_app',
         $${members} AND '(space) ' || space_id = ANY ((SELECT keeps.open_spaces('reader'))::text[])$$, NULL),
        ('space_members', 'insert', 'INSERT', 'keeps_app', NULL,
         $${members} AND '(space) ' || space_id = ANY ((SELECT keeps.open_spaces('curator'))::text[])$$),
        ('space_members', 'update', 'UPDATE', 'keeps_app',
         $${members} AND '(space) ' || space_id = ANY ((SELECT keeps.open_spaces('curator'))::text[])$$, NULL),
        ('space_members', 'delete', 'DELETE', 'keeps_app',
         $${members} AND ('(space) ' || space_id = ANY ((SELECT keeps.open_spaces('curator'))::text[])
           OR member_type = 'user' AND member_id = NULLIF(current_setting('app.acting_user', true), ''))$$, NULL),
        ('spaces space_members', 'follow', 'ALL', 'keeps_owner', '{members}', NULL),
        -- The owner, inside functions and triggers only, which keeps_app cannot become: what follows a row of the
        -- tenant,
        ('sessions plans plan_correlations task_contexts task_subtasks idempotency_keys working_memory memory_words'
         ' postings audience_words vector_bits vector_counts memory_vectors memory_readings memory_pending entities entity_names'
         ' relations mentions session_notes operation_changes operations storage_samples llm_usage model_usage'
         ' budget_alerts tenant_jobs documents document_passages databases query_audit transcripts transcript_entries transcript_values items'
         ' item_refreshes item_vectors item_pending requests', 'follow', 'ALL', 'keeps_owner', '{tenant}', NULL),
        ('webhooks', 'follow', 'UPDATE', 'keeps_owner', '{tenant}', NULL),
        ('tenants', 'held', 'ALL', 'keeps_owner', '{tenant}', NULL),
        ('users', 'erased', 'DELETE', 'keeps_owner', '{own}', NULL),
        ('users', 'made', 'INSERT', 'keeps_owner', NULL, $${tenant} AND starts_with(user_id, '(space) ')$$),
        ('events', 'redact', 'ALL', 'keeps_owner', $${tenant} AND ({user} OR type LIKE 'plan.state.%'
            OR type LIKE 'space.%' OR actor_id IS NOT NULL)$$, '{tenant}'),
        ('events', 'erase', 'DELETE', 'keeps_owner', $${tenant} AND current_setting('app.log_change', true) = 'erase'$$,
         NULL),
        -- what is counted over all tenants (ids and counts alone leave the function),
        ('tenants users memories memory_vectors items item_vectors events audience_words vector_counts llm_usage'
         ' model_usage', 'count',
         'SELECT', 'keeps_owner', 'true', NULL),
        ('memory_access', 'count', 'SELECT', 'keeps_owner', '{tenant}', NULL),
        -- what is due, or found before a tenant is known,
        ('memory_pending item_pending tenant_jobs', 'due', 'SELECT', 'keeps_owner', 'true', NULL),
        ('tenant_jobs', 'made', 'INSERT', 'keeps_owner', NULL, 'true'),
        ('tenant_jobs', 'taken', 'UPDATE', 'keeps_owner', 'true', NULL),
        ('webhooks', 'find', 'SELECT', 'keeps_owner', 'true', NULL),
        ('api_keys', 'find', 'ALL', 'keeps_owner', 'true', NULL),
        -- and, only inside keeps.retire_events, events that nobody needs any more, of all tenants.
        ('events', 'retire', 'ALL', 'keeps_owner', $$current_setting('app.log_change', true) = 'retire'$$, NULL),
        ('tenants', 'retire', 'UPDATE', 'keeps_owner', $$current_setting('app.log_change', true) = 'retire'$$, NULL),
        -- Only inside keeps.note_use: the day of the last call, of all tenants.
        ('tenants', 'used', 'UPDATE', 'keeps_owner', $$current_setting('app.noting_use', true) = 'yes'$$, NULL),
        -- Only inside the functions that freeze and thaw: all rows of the current tenant, of every table.
        ((SELECT string_agg(name, ' ') FROM keeps_cells.tenant_tables() AS name), 'carry', 'ALL', 'keeps_owner',
         $${members} AND current_setting('app.carrying', true) = 'yes'$$, NULL)
    ) AS rule(tables, what, command, whom, seen, written)
    CROSS JOIN LATERAL regexp_split_to_table(rule.tables, ' ') AS name(name)
    CROSS JOIN LATERAL unnest(CASE WHEN rule.command = 'ALL' AND rule.whom = 'keeps_app'
        THEN ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] ELSE ARRAY[rule.command] END) AS command(command)
    -- A token of an agent sees less: of experiences and skills those of this agent only; facts belong to the user. Of
    -- the graph what users said of it: what was found in texts may be of another agent's experiences. It is a part of
    -- each rule of these tables, and no RESTRICTIVE policy: engines that copy policies have lost those.
    LEFT JOIN (SELECT narrowed.*, name.name FROM (VALUES
        ('memories', 'ALL', $${agent} OR kind = 'semantic' OR agent_id = {bound}$$),
        ('memory_words postings', 'ALL',
         $${bound} IS NULL OR agent = '' OR agent = {bound} OR starts_with(audience, '(space) ')$$),
        ('events', 'SELECT',
         $${agent} OR (type NOT LIKE 'memory.%' AND type NOT LIKE 'transcript.%')
           OR data #>> '{entity,source}' = 'user' OR (data ? 'edge' AND NOT data #> '{edge,properties}' ? 'found_by')
           OR data #>> '{memory,kind}' = 'semantic' OR agent_id = {bound}$$),
        ('entities', 'ALL', $${agent} OR source = 'user'$$),
        ('relations', 'ALL', $${agent} OR NOT properties ? 'found_by'$$),
        ('transcripts transcript_entries session_notes requests', 'ALL', '{agent} OR agent_id = {bound}'),
        ('transcript_values', 'ALL', $${agent} OR transcript_id = '' OR agent_id = {bound}$$),
        ('operation_changes', 'ALL',
         '{agent} OR EXISTS (SELECT FROM keeps.memories WHERE memories.tenant_id = operation_changes.tenant_id'
         ' AND memories.memory_id = operation_changes.memory_id)')
        ) AS narrowed(tables, command, rows)
        CROSS JOIN LATERAL regexp_split_to_table(narrowed.tables, ' ') AS name(name)
    ) AS held ON held.name = name.name AND rule.whom = 'keeps_app' AND held.command IN ('ALL', command.command) LOOP
        seen := COALESCE(each.seen, 'true') || COALESCE(' AND (' || each.held || ')', '');
        written := COALESCE(each.written, each.seen) || COALESCE(' AND (' || each.held || ')', '');
        IF each.whom = 'keeps_app' AND each.command <> 'SELECT'
            AND each.name <> ALL (ARRAY['memory_access', 'requests', 'spaces', 'space_members']) THEN
            seen := seen || ' AND {writes}';
            written := written || ' AND {writes}';
        END IF;
        IF each.whom = 'keeps_app' AND each.command <> 'SELECT' AND each.name IN ('spaces', 'space_members') THEN
            seen := seen || $$ AND ({limited} OR keeps.grant_allows('change')) $$;
            written := written || $$ AND ({limited} OR keeps.grant_allows('change')) $$;
        END IF;
        IF each.whom = 'keeps_app' THEN
            seen := seen || ' AND ({granted})';
            written := written || ' AND ({granted})';
        END IF;
        said := format('CREATE POLICY %I ON keeps.%I FOR %s TO %I', each.name || '_' || each.what
                       || CASE WHEN each.whom = 'keeps_app' AND each.what <> lower(each.command)
                           AND NOT (each.what, each.command) IN (('read', 'SELECT'), ('append', 'INSERT'))
                           THEN '_' || lower(each.command) ELSE '' END, each.name, each.command, each.whom)
                || CASE WHEN each.command = 'INSERT' THEN '' ELSE ' USING (' || seen || ')' END
                || CASE WHEN each.command IN ('INSERT', 'UPDATE', 'ALL') AND (each.written IS NOT NULL
                        OR each.whom = 'keeps_app') THEN ' WITH CHECK (' || written || ')' ELSE '' END;
        -- A limited key or token: of memories and their events what it covers, of other nouns all or nothing.
        said := replace(said, '{granted}', CASE
            WHEN each.whom <> 'keeps_app' OR each.name = ANY (ARRAY['tenants', 'users', 'idempotency_keys',
                'audience_words', 'memory_pending', 'memory_access', 'requests', 'spaces', 'space_members',
                'mentions']) THEN 'true'
            WHEN each.name = 'memory_words' AND each.command = 'SELECT'
                THEN $$ {limited} OR keeps.grant_allows('all') OR keeps.grant_allows('read') AND EXISTS (SELECT
                    FROM keeps.memories WHERE memories.tenant_id = memory_words.tenant_id
                        AND memories.memory_id = memory_words.memory_id) $$
            WHEN each.name = ANY (ARRAY['memory_words', 'postings', 'vector_bits', 'memory_vectors'])
                THEN CASE each.command WHEN 'SELECT' THEN $$ {limited} OR keeps.grant_allows('read') $$
                    ELSE 'true' END
            WHEN each.name = 'memories' THEN '{limited} OR keeps.grant_covers(kind, namespace, memory_id::text)'
            WHEN each.name = 'events' AND each.command = 'SELECT' THEN $$ {limited} OR keeps.grant_allows('all') OR
                keeps.grant_covers(data #>> '{memory,kind}', data #>> '{memory,namespace}', NULL) $$
            WHEN each.name = 'events' THEN 'true'
            ELSE $$ {limited} OR keeps.grant_allows('all') $$ END);
        said := replace(said, '{shared}', $$ (visibility = 'tenant' AND {wide}) $$);
        said := replace(said, '{wide}', $$ ({limited} OR keeps.grant_allows('tenant')) $$);
        said := replace(said, '{limited}', $$ COALESCE(current_setting('app.grant', true), '') = '' $$);
        said := replace(said, '{own}', '{tenant} AND {user}');
        said := replace(said, '{named}', $$ {tenant}
            AND NULLIF(current_setting('app.current_user', true), '') IS NOT NULL $$);
        -- Of the owner, too: functions that act for the current user do so for members of a space only.
        said := replace(said, '{tenant}', '{members} AND {acts}');
        said := replace(said, '{members}', $$ tenant_id = NULLIF(current_setting('app.current_tenant', true), '') $$);
        said := replace(said, '{acts}', $$ CASE WHEN starts_with(COALESCE(current_setting('app.current_user', true),
            ''), '(space) ') THEN (SELECT keeps.acts_in_space('reader'))
            WHEN COALESCE(current_setting('app.grant', true), '') = '' THEN true
            ELSE (SELECT keeps.grant_allows('tenant')) END $$);
        said := replace(said, '{writes}', $$ CASE WHEN COALESCE(current_setting('app.grant', true), '') <> ''
            AND NOT (SELECT keeps.grant_allows('$$ || CASE WHEN each.command IN ('UPDATE', 'DELETE')
                AND each.name = ANY (ARRAY['memories', 'memory_words', 'memory_vectors', 'documents', 'items'])
                THEN 'change' ELSE 'write' END || $$')) THEN false
            WHEN starts_with(COALESCE(current_setting('app.current_user', true), ''), '(space) ')
            THEN (SELECT keeps.acts_in_space('writer')) ELSE true END $$);
        -- CASE, so that the look-up runs only for rows of spaces, and no index is read for them.
        said := replace(said, '{space}', $$ CASE WHEN starts_with(user_id, '(space) ')
            THEN user_id = ANY ((SELECT keeps.open_spaces('reader'))::text[]) ELSE false END $$);
        said := replace(said, '{user}', $$ user_id = NULLIF(current_setting('app.current_user', true), '') $$);
        said := replace(said, '{agent}', $$({bound} IS NULL OR starts_with(user_id, '(space) '))$$);
        EXECUTE replace(said, '{bound}', $$ NULLIF(current_setting('app.bound_agent', true), '') $$);
    END LOOP;
END $wall$;

-- functions
GRANT EXECUTE ON FUNCTION keeps.users_to_index(text, integer), keeps.users_to_index(text, text, text, integer),
    keeps.users_waiting(integer), keeps.index_missing(text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.compare_counts(boolean), keeps.correct_counts(timestamptz, timestamptz, text[], text[],
    bigint[]) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.users_with_other_models(text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.installation_counts() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.usage_rows(date, date), keeps.usage_of_all(date, date, text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.index_waiting() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_memory_events(uuid, text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.memory_life(timestamptz, uuid, timestamptz) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.memory_trust(text, text, text, jsonb) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.take_places(text, text, integer, bigint), keeps.leave_lists(uuid[]) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.changed_memories(text, bigint, integer), keeps.audience_versions(text[], text[]),
    keeps.recall_hits(text, text, text, bigint, bigint, uuid[]), keeps.recall_hits(text, text, text, text, text[], text[],
    bigint[], uuid[]), keeps.context_rows(text, text, text, text[], text,
    text, timestamptz, text, integer, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.follow_plan() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.follow_task() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.json_kind(jsonb), keeps.json_room(jsonb, text[]), keeps.json_append(jsonb, text[],
    jsonb), keeps.json_extend(jsonb, text[], jsonb), keeps.json_merge(jsonb, text[], jsonb),
    keeps.json_add(jsonb, text[], numeric), keeps.json_change(jsonb, text[], text, jsonb) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.words_audience(text, timestamptz, text), keeps.words_agent(text, text),
    keeps.was_undone(text, uuid, text), keeps.serves_from(), keeps.tenant_hash(text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_plan_events(text, text), keeps.state_plan(text, text),
    keeps.state_plan_name(text, text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_own_events(text, text[]) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.redact_rows(text[], uuid[]), keeps.transcript_owners(text, text, integer),
    keeps.item_owners(text, integer), keeps.memory_owners(uuid[]), keeps.memory_subjects(integer)
    TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.grant_allows(text), keeps.grant_covers(text, text, text), keeps.find_key(bytea),
    keeps.open_spaces(text), keeps.acts_in_space(text), keeps.make_space(text, text, timestamptz),
    keeps.list_spaces(text, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.erase_user(), keeps.leave_shared_state() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.erase_tenant() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.count_rows(text) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.users_of_tenant(), keeps.find_users(text, integer), keeps.find_tenants(text, integer),
    keeps.log_requests(jsonb, integer), keeps.request_owners(uuid, text, boolean, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.list_tenants(text, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.find_api_key(bytea) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.make_event_partitions(), keeps.replay_differences(integer),
    keeps.log_differences(integer), keeps.users_since(text[], text[]), keeps.replay_counts(timestamptz),
    keeps.last_sequences(text[]), keeps.retire_events(timestamptz), keeps.webhooks_due(timestamptz, integer),
        keeps.webhooks_behind(),
    keeps.event_owners(bigint, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.contents_hash(bytea, text, text, text, text, text, jsonb), keeps.event_hash(text, bigint,
    uuid, text, text, timestamptz, timestamptz, bytea, bytea), keeps.chain_start(text, bigint), keeps.begin_chain(text, bigint, bytea),
    keeps.chain_events(bigint, integer) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.name_key(text), keeps.follow_entity(), keeps.graph_reach(uuid, integer, text, text[],
    timestamptz, integer),
    keeps.redact_graph_events(uuid[]), keeps.log_cascade(uuid[], uuid[]) TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.take_due_jobs(timestamptz, integer), keeps.declare_jobs(text[], interval[]),
    keeps.users_due(text, timestamptz, text, integer), keeps.fades_at(double precision, bigint, timestamptz),
    keeps.reschedule_job(text, timestamptz, timestamptz, timestamptz), keeps.wake_jobs() TO keeps_app;
GRANT EXECUTE ON FUNCTION keeps.elsewhere(text), keeps.take_turn(text), keeps.place_tenant(text), keeps.list_cells(),
    keeps.tenants_elsewhere(), keeps.reached(text), keeps.has_placements() TO keeps_app;
-- Of frozen tenants: the entry of a tenant that the caller names, and its rows while it is frozen or thawed.
GRANT EXECUTE ON FUNCTION keeps.carry_tables(), keeps.bundle_origin(),
    keeps.freeze_lock(), keeps.freeze_begin(text, bytea, text),
    keeps.carry_open(text, text[], integer), keeps.carry_next(integer), keeps.freeze_end(text, bytea, bigint, bigint, bytea[], bytea,
    bytea, text), keeps.thaw_lock(), keeps.carry_load(text, text[], text), keeps.thaw_loaded(), keeps.thaw_end(date),
    keeps.retirement_due(),
    keeps.frozen_forget(text), keeps.frozen_erase(text), keeps.frozen_reseal(text, text, bytea, bytea, text),
    keeps.frozen_tenant(text), keeps.list_frozen(bytea, integer), keeps.find_frozen_key(bytea),
    keeps.note_use(text[], date), keeps.unused_tenants(timestamptz, integer) TO keeps_app;
GRANT SELECT ON keeps.alembic_version TO keeps_app;

-- the queue of the worker
GRANT USAGE ON SCHEMA keeps_jobs TO keeps_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keeps_jobs TO keeps_app;
REVOKE ALL ON keeps_jobs.periods FROM keeps_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA keeps_jobs TO keeps_app;
