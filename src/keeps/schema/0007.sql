-- The seventh revision: documents. What an organisation has written down, cut into passages. A passage is a memory of
-- the layer `knowledge`; where it stands in which document is said here. Runs as keeps_owner.

CREATE TABLE keeps.documents (
    tenant_id text NOT NULL,
    document_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    title text NOT NULL CONSTRAINT documents_title_length CHECK (char_length(title) BETWEEN 1 AND 500),
    source text,
    format text NOT NULL,
    file_hash bytea NOT NULL,
    metadata jsonb NOT NULL,
    tags text[] NOT NULL,
    visibility text NOT NULL CONSTRAINT documents_visibility_known CHECK (visibility IN ('private', 'tenant')),
    pages integer NOT NULL,
    pages_without_text integer NOT NULL,
    characters integer NOT NULL,
    tail text NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, document_id),
    CONSTRAINT documents_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX documents_by_owner ON keeps.documents (tenant_id, user_id, created_at DESC, document_id DESC);
CREATE INDEX documents_shared ON keeps.documents (tenant_id, created_at DESC, document_id DESC)
    WHERE visibility = 'tenant';
-- A source is one document of its owner: sent again, it is a new version of it.
CREATE UNIQUE INDEX documents_source_unique ON keeps.documents (tenant_id, user_id, source)
    WHERE source IS NOT NULL AND deleted_at IS NULL;
COMMENT ON TABLE keeps.documents IS
    'What can be looked up. tail: the text after the last passage; the rest of the text is that of its passages.';

CREATE TABLE keeps.document_passages (
    tenant_id text NOT NULL,
    document_id uuid NOT NULL,
    "position" integer NOT NULL,
    user_id text NOT NULL,
    visibility text NOT NULL,
    memory_id uuid NOT NULL,
    starts integer NOT NULL,
    ends integer NOT NULL,
    page integer,
    headings text[] NOT NULL,
    gap text NOT NULL,
    PRIMARY KEY (tenant_id, document_id, "position"),
    CONSTRAINT document_passages_document_exists FOREIGN KEY (tenant_id, document_id) REFERENCES keeps.documents
        ON DELETE CASCADE,
    CONSTRAINT document_passages_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE,
    CONSTRAINT document_passages_order CHECK (0 <= starts AND starts < ends)
);
CREATE INDEX document_passages_by_memory ON keeps.document_passages (tenant_id, memory_id);
COMMENT ON TABLE keeps.document_passages IS 'Derived from events of documents: which memory stands where in which document. gap: the text before it that is no passage, such as headings.';

CREATE OR REPLACE FUNCTION keeps.event_noun(type text, data jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN data ? 'entity' OR data ? 'entity_id' THEN 'entity'
                WHEN data ? 'edge' OR data ? 'relation_id' THEN 'edge'
                WHEN data ? 'mention' OR data ? 'mention_id' THEN 'mention'
                WHEN data ? 'memory' OR type = 'memory.erased' THEN 'memory'
                WHEN data ? 'document' OR type = 'document.erased' THEN 'document'
                WHEN data ? 'session' OR type = 'session.deleted' THEN 'session'
                WHEN data ? 'plan' OR type = 'plan.deleted' THEN 'plan'
                WHEN data ? 'task_context' OR type = 'plan.task.deleted' THEN 'task_context' END;

-- Passages as the last event of each document tells them; those whose memory is gone for good went with it.
CREATE FUNCTION keeps.replay_passages(until timestamptz) RETURNS SETOF keeps.document_passages
    LANGUAGE sql STABLE SET search_path = keeps, public, pg_temp AS $$
    SELECT filled.* FROM replay_rows('document', until) AS image
    CROSS JOIN LATERAL jsonb_array_elements(image -> 'passages') WITH ORDINALITY AS told(passage, number)
    CROSS JOIN LATERAL jsonb_populate_record(NULL::document_passages, told.passage || jsonb_build_object(
        'tenant_id', image -> 'tenant_id', 'document_id', image -> 'document_id', 'user_id', image -> 'user_id',
        'visibility', image -> 'visibility', 'position', told.number - 1)) AS filled
    WHERE told.passage ->> 'memory_id' IN (SELECT memory ->> 'memory_id' FROM replay_rows('memory', until) AS memory)
$$;

CREATE OR REPLACE FUNCTION keeps.replayed_tables() RETURNS TABLE (name text, key text[], source text, live text)
    LANGUAGE sql STABLE AS $$
    SELECT part.name, part.key,
           format('SELECT filled.* FROM keeps.replay_rows(%L, $1) AS image CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.%I, image) AS filled',
                  part.noun, part.name), 'true'
    FROM (VALUES ('memories', '{memory_id}'::text[], 'memory'), ('sessions', '{user_id,session_id}', 'session'),
                 ('plans', '{user_id,plan_id}', 'plan'), ('task_contexts', '{user_id,task_id}', 'task_context'),
                 ('documents', '{document_id}', 'document')) AS part(name, key, noun)
    UNION ALL
    VALUES ('working_memory', '{plan_id,key}'::text[], 'SELECT * FROM keeps.replay_working_memory($1)', 'true'),
           ('entities', '{entity_id}', 'SELECT * FROM keeps.replay_entities($1)', 'true'),
           ('relations', '{relation_id}', 'SELECT * FROM keeps.replay_edges($1)', 'true'),
           ('mentions', '{memory_id,entity_id}', 'SELECT * FROM keeps.replay_mentions($1)', 'source = ''user'''),
           ('document_passages', '{document_id,position}', 'SELECT * FROM keeps.replay_passages($1)', 'true')
$$;

-- Erasure counts what goes.
CREATE OR REPLACE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'memory_terms', 'memory_vectors', 'sessions', 'plans',
        'plan_correlations',
                                'task_contexts', 'task_subtasks', 'working_memory', 'entities', 'entity_names',
                                    'relations', 'mentions',
                                'memory_readings', 'documents', 'document_passages', 'idempotency_keys',
                                    'api_keys', 'events'] LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE tenant_id = $1 AND ($2::text IS NULL OR user_id = $2)', name)
            INTO held USING tenant, wanted_user_id;
        RETURN NEXT;
    END LOOP;
    name := 'memory_access';
    SELECT count(*) INTO held FROM memory_access JOIN memories USING (tenant_id, memory_id)
    WHERE memory_access.tenant_id = tenant AND (wanted_user_id IS NULL OR memories.user_id = wanted_user_id);
    RETURN NEXT;
    IF wanted_user_id IS NULL THEN
        name := 'webhooks';
        SELECT count(*) INTO held FROM webhooks WHERE tenant_id = tenant;
        RETURN NEXT;
    END IF;
END
$$;

-- What a tenant stores of documents beside their passages counts for its quota of bytes, too.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['documents', 'document_passages'] LOOP
        EXECUTE format('CREATE TRIGGER %1$s_state_insert AFTER INSERT ON keeps.%1$I REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE TRIGGER %1$s_state_update AFTER UPDATE ON keeps.%1$I REFERENCING OLD TABLE AS departed NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE TRIGGER %1$s_state_delete AFTER DELETE ON keeps.%1$I REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION keeps.replay_passages(timestamptz) FROM PUBLIC;
