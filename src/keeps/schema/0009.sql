-- The ninth revision: what frameworks keep. Transcripts: conversations word for word, with the state beside them. Items:
-- JSON values under a namespace and a key. Each row is the subject of its own events, by row_id. Runs as keeps_owner.

CREATE TABLE keeps.transcripts (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    entry_count integer NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, app, transcript_id),
    CONSTRAINT transcripts_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX transcripts_by_time ON keeps.transcripts (tenant_id, user_id, app, updated_at, transcript_id);
CREATE INDEX transcripts_by_app ON keeps.transcripts (tenant_id, app, user_id);
COMMENT ON TABLE keeps.transcripts IS 'Conversations word for word. updated_at: the time of the last entry.';

CREATE TABLE keeps.transcript_entries (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    "position" integer NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    entry_id text NOT NULL,
    at timestamptz NOT NULL,
    entry jsonb,
    bytes integer NOT NULL,
    PRIMARY KEY (tenant_id, user_id, app, transcript_id, "position"),
    CONSTRAINT transcript_entries_transcript_exists FOREIGN KEY (tenant_id, user_id, app, transcript_id)
        REFERENCES keeps.transcripts ON DELETE CASCADE
);
CREATE INDEX transcript_entries_by_id ON keeps.transcript_entries (tenant_id, user_id, app, transcript_id, entry_id);
COMMENT ON TABLE keeps.transcript_entries IS 'What was said and done, in order. bytes: of the entry as JSON. JSON''s null is NULL.';

CREATE TABLE keeps.transcript_values (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    key text NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    value jsonb,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, app, transcript_id, key),
    CONSTRAINT transcript_values_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
COMMENT ON TABLE keeps.transcript_values IS
    'State of a transcript, key by key; where transcript_id is empty, of the user in all transcripts of the app. JSON''s null is NULL.';

CREATE TABLE keeps.items (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    row_id uuid NOT NULL,
    value jsonb NOT NULL,
    texts jsonb,
    ttl_minutes double precision,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, namespace, key),
    CONSTRAINT items_row_unique UNIQUE (tenant_id, row_id),
    CONSTRAINT items_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX items_by_time ON keeps.items (tenant_id, user_id, updated_at DESC);
CREATE INDEX items_ending ON keeps.items (tenant_id, user_id, updated_at) WHERE ttl_minutes IS NOT NULL;
COMMENT ON TABLE keeps.items IS
    'Values of stores. namespace: its labels, a period after each, so that what is below one is a range. texts: by what it is found, name → text, {} for the whole value, NULL for not at all.';

CREATE TABLE keeps.item_refreshes (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    row_id uuid NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, row_id),
    CONSTRAINT item_refreshes_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
);
CREATE INDEX item_refreshes_by_user ON keeps.item_refreshes (tenant_id, user_id);
COMMENT ON TABLE keeps.item_refreshes IS
    'When items end whose time to live a reading began anew; apart, so that reading never rewrites an item.';

-- Derived from items: a vector for each text.
CREATE TABLE keeps.item_vectors (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    row_id uuid NOT NULL,
    field text NOT NULL,
    model text NOT NULL,
    embedding halfvec NOT NULL,
    bits bit varying NOT NULL,
    PRIMARY KEY (tenant_id, row_id, model, field),
    CONSTRAINT item_vectors_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_vacuum_insert_threshold = 2000);
ALTER TABLE keeps.item_vectors ALTER COLUMN embedding SET STORAGE PLAIN;
-- All a first pass needs, read index-only, what is below a namespace together.
CREATE INDEX item_vectors_by_place ON keeps.item_vectors (tenant_id, user_id, model, namespace) INCLUDE (row_id, field,
    bits);

CREATE OR REPLACE FUNCTION keeps.event_noun(type text, data jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN data ? 'entity' OR data ? 'entity_id' THEN 'entity'
                WHEN data ? 'edge' OR data ? 'relation_id' THEN 'edge'
                WHEN data ? 'mention' OR data ? 'mention_id' THEN 'mention'
                WHEN data ? 'memory' OR type = 'memory.erased' THEN 'memory'
                WHEN data ? 'document' OR type = 'document.erased' THEN 'document'
                WHEN data ? 'session' OR type = 'session.deleted' THEN 'session'
                WHEN data ? 'plan' OR type = 'plan.deleted' THEN 'plan'
                WHEN data ? 'task_context' OR type = 'plan.task.deleted' THEN 'task_context'
                WHEN type = 'transcript.written' AND data ? 'transcript' THEN 'transcript'
                WHEN type = 'transcript.written' AND data ? 'transcript_entry' THEN 'transcript_entry'
                WHEN type = 'transcript.written' AND data ? 'transcript_value' THEN 'transcript_value'
                WHEN type = 'item.written' THEN 'item' END;

CREATE OR REPLACE FUNCTION keeps.replayed_tables() RETURNS TABLE (name text, key text[], source text, live text)
    LANGUAGE sql STABLE AS $$
    SELECT part.name, part.key,
           format('SELECT filled.* FROM keeps.replay_rows(%L, $1) AS image CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.%I, image) AS filled',
                  part.noun, part.name), 'true'
    FROM (VALUES ('memories', '{memory_id}'::text[], 'memory'), ('sessions', '{user_id,session_id}', 'session'),
                 ('plans', '{user_id,plan_id}', 'plan'), ('task_contexts', '{user_id,task_id}', 'task_context'),
                 ('documents', '{document_id}', 'document'),
                 ('transcripts', '{user_id,app,transcript_id}', 'transcript'),
                 ('transcript_entries', '{user_id,app,transcript_id,position}', 'transcript_entry'),
                 ('transcript_values', '{user_id,app,transcript_id,key}', 'transcript_value'),
                 ('items', '{user_id,namespace,key}', 'item')) AS part(name, key, noun)
    UNION ALL
    VALUES ('working_memory', '{plan_id,key}'::text[], 'SELECT * FROM keeps.replay_working_memory($1)', 'true'),
           ('entities', '{entity_id}', 'SELECT * FROM keeps.replay_entities($1)', 'true'),
           ('relations', '{relation_id}', 'SELECT * FROM keeps.replay_edges($1)', 'true'),
           ('mentions', '{memory_id,entity_id}', 'SELECT * FROM keeps.replay_mentions($1)', 'source = ''user'''),
           ('document_passages', '{document_id,position}', 'SELECT * FROM keeps.replay_passages($1)', 'true')
$$;

-- Takes what rows of transcripts or items said out of the log: of the current user, the events about these rows. `about`:
-- the answers that are about them, if any are.
CREATE FUNCTION keeps.redact_rows(about text[], wanted uuid[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND user_id = NULLIF(current_setting('app.current_user', true), '')
      AND subject = ANY (wanted::text[]) AND type IN ('transcript.written', 'item.written') AND NOT data ? 'redacted';
    PERFORM void_answers(about, true);
    RETURN redact_events(found, '{}', false);
END
$$;

-- The users of the current tenant who have transcripts in an app: names alone leave the function.
CREATE FUNCTION keeps.transcript_owners(wanted_app text, after_user_id text, at_most integer) RETURNS TABLE (user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT DISTINCT transcripts.user_id FROM transcripts
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND app = wanted_app
      AND transcripts.user_id >= after_user_id
    ORDER BY transcripts.user_id LIMIT at_most
$$;

-- The users of the current tenant who have items: names alone leave the function.
CREATE FUNCTION keeps.item_owners(after_user_id text, at_most integer) RETURNS TABLE (user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT users.user_id FROM users
    WHERE users.tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND users.user_id > after_user_id
      AND EXISTS (SELECT FROM items WHERE items.tenant_id = users.tenant_id AND items.user_id = users.user_id)
    ORDER BY users.user_id LIMIT at_most
$$;

-- Whose memories these are, of the current tenant: names alone leave the function. For callers who may act for any user.
CREATE FUNCTION keeps.memory_owners(wanted uuid[]) RETURNS TABLE (memory_id uuid, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT memories.memory_id, memories.user_id FROM memories
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND memories.memory_id = ANY (wanted)
$$;

-- Of whom, by which agents, in which apps and sessions there are memories in the current tenant: names and counts alone
-- leave the function.
CREATE FUNCTION keeps.memory_subjects(at_most integer)
    RETURNS TABLE (type text, name text, total bigint, first_at timestamptz, last_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT told.type, told.name, count(*), min(created_at), max(updated_at)
    FROM memories, LATERAL (VALUES ('user', user_id), ('agent', agent_id), ('app', metadata ->> 'app_id'),
                                ('run', session_id)) AS told(type, name)
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND deleted_at IS NULL AND superseded_by IS NULL AND told.name IS NOT NULL
    GROUP BY told.type, told.name
    ORDER BY max(updated_at) DESC LIMIT at_most
$$;

-- As in the first revision; and items that are found by meaning and have no vector of the model.
CREATE OR REPLACE FUNCTION keeps.users_to_index(wanted_model text, at_most integer)
    RETURNS TABLE (tenant_id text, user_id text, pending bigint, oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT waiting.tenant_id, waiting.user_id, count(*), min(waiting.updated_at) FROM (
        SELECT memories.tenant_id, memories.user_id, memories.updated_at FROM memories
        WHERE memories.deleted_at IS NULL
          AND NOT EXISTS (SELECT FROM memory_vectors WHERE memory_vectors.tenant_id = memories.tenant_id
                            AND memory_vectors.memory_id = memories.memory_id AND memory_vectors.model = wanted_model)
        UNION ALL
        SELECT items.tenant_id, items.user_id, items.updated_at FROM items
        WHERE items.texts IS NOT NULL
          AND NOT EXISTS (SELECT FROM item_vectors WHERE item_vectors.tenant_id = items.tenant_id
                            AND item_vectors.row_id = items.row_id AND item_vectors.model = wanted_model)) AS waiting
    GROUP BY waiting.tenant_id, waiting.user_id
    ORDER BY min(waiting.updated_at)
    LIMIT at_most
$$;

CREATE OR REPLACE FUNCTION keeps.users_with_other_models(kept_model text) RETURNS TABLE (tenant_id text, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT memory_vectors.tenant_id, memory_vectors.user_id FROM memory_vectors WHERE model <> kept_model
    UNION
    SELECT item_vectors.tenant_id, item_vectors.user_id FROM item_vectors WHERE model <> kept_model
$$;

-- As in the fifth revision; and items whose time to live is over.
CREATE OR REPLACE FUNCTION keeps.users_due(wanted_job text, moment timestamptz, after text,
    at_most integer) RETURNS TABLE (user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    RETURN QUERY SELECT users.user_id FROM users
    WHERE users.tenant_id = tenant AND users.user_id > after
      AND CASE wanted_job
          WHEN 'decay' THEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
              AND memories.user_id = users.user_id AND layer = 'short_term'
              AND archived_at IS NULL AND deleted_at IS NULL AND superseded_by IS NULL
              AND fades_at(importance, 0, updated_at) <= moment)
          WHEN 'promotion' THEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
              AND memories.user_id = users.user_id
              AND layer = 'short_term' AND deleted_at IS NULL AND superseded_by IS NULL)
          WHEN 'expiry' THEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
              AND memories.user_id = users.user_id
              AND expires_at IS NOT NULL AND deleted_at IS NULL AND expires_at <= moment)
              OR EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant AND memories.user_id = users.user_id
                  AND deleted_at IS NOT NULL AND deleted_at < moment - interval '30 days')
              OR EXISTS (SELECT FROM session_notes WHERE session_notes.tenant_id = tenant
                  AND session_notes.user_id = users.user_id
                  AND session_notes.expires_at <= moment AND consolidate_at IS NULL)
              OR EXISTS (SELECT FROM items WHERE items.tenant_id = tenant AND items.user_id = users.user_id
                  AND ttl_minutes IS NOT NULL AND updated_at + ttl_minutes * interval '1 minute' <= moment)
          WHEN 'sessions' THEN EXISTS (SELECT FROM session_notes WHERE session_notes.tenant_id = tenant
              AND session_notes.user_id = users.user_id
              AND consolidate_at IS NOT NULL AND consolidate_at <= moment)
          WHEN 'index' THEN EXISTS (SELECT FROM memory_pending WHERE memory_pending.tenant_id = tenant
              AND memory_pending.user_id = users.user_id)
          ELSE true END
    ORDER BY users.user_id LIMIT at_most;
END
$$;

-- Erasure counts what goes.
CREATE OR REPLACE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'memory_terms', 'memory_vectors', 'sessions', 'plans',
        'plan_correlations', 'task_contexts', 'task_subtasks', 'working_memory', 'entities', 'entity_names',
        'relations', 'mentions', 'memory_readings', 'documents', 'document_passages', 'query_audit', 'transcripts',
        'transcript_entries', 'transcript_values', 'items', 'item_refreshes', 'item_vectors', 'idempotency_keys', 'api_keys', 'events'] LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE tenant_id = $1 AND ($2::text IS NULL OR user_id = $2)', name)
            INTO held USING tenant, wanted_user_id;
        RETURN NEXT;
    END LOOP;
    name := 'memory_access';
    SELECT count(*) INTO held FROM memory_access JOIN memories USING (tenant_id, memory_id)
    WHERE memory_access.tenant_id = tenant AND (wanted_user_id IS NULL OR memories.user_id = wanted_user_id);
    RETURN NEXT;
    IF wanted_user_id IS NULL THEN
        FOREACH name IN ARRAY ARRAY['webhooks', 'databases'] LOOP
            EXECUTE format('SELECT count(*) FROM %I WHERE tenant_id = $1', name) INTO held USING tenant;
            RETURN NEXT;
        END LOOP;
    END IF;
END
$$;

-- What a tenant stores of transcripts and items counts for its quota of bytes, too.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['transcripts', 'transcript_entries', 'transcript_values', 'items'] LOOP
        EXECUTE format('CREATE TRIGGER %1$s_state_insert AFTER INSERT ON keeps.%1$I REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE TRIGGER %1$s_state_update AFTER UPDATE ON keeps.%1$I REFERENCING OLD TABLE AS departed NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE TRIGGER %1$s_state_delete AFTER DELETE ON keeps.%1$I REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION keeps.redact_rows(text[], uuid[]), keeps.transcript_owners(text, text, integer),
    keeps.item_owners(text, integer), keeps.memory_owners(uuid[]), keeps.memory_subjects(integer) FROM PUBLIC;
