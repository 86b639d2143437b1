-- The fourth revision: the graph. Entities, typed and time-bounded edges between them, and which memory speaks of which
-- entity. Runs as keeps_owner.

-- What makes two names the same: case, width of characters and runs of white space do not tell them apart.
CREATE FUNCTION keeps.name_key(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(btrim(regexp_replace(normalize(name, NFKC), '\s+', ' ', 'g')));

CREATE TABLE keeps.entities (
    tenant_id text NOT NULL,
    entity_id uuid NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL CONSTRAINT entities_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
    entity_type text NOT NULL,
    aliases text[] NOT NULL,
    properties jsonb NOT NULL,
    visibility text NOT NULL CONSTRAINT entities_visibility_known CHECK (visibility IN ('private', 'tenant')),
    source text NOT NULL CONSTRAINT entities_source_known CHECK (source IN ('user', 'text', 'llm')),
    merged_into uuid,
    moved jsonb,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, entity_id),
    CONSTRAINT entities_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE,
    CONSTRAINT entities_survivor_exists FOREIGN KEY (tenant_id, merged_into) REFERENCES keeps.entities ON DELETE
        SET NULL (merged_into)
        DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX entities_by_owner ON keeps.entities (tenant_id, user_id, created_at DESC, entity_id DESC);
CREATE INDEX entities_shared ON keeps.entities (tenant_id, created_at DESC, entity_id DESC) WHERE visibility = 'tenant';
CREATE INDEX entities_by_survivor ON keeps.entities (tenant_id, merged_into) WHERE merged_into IS NOT NULL;
-- One entity of a type and name for each owner; a deleted or merged one does not count.
CREATE UNIQUE INDEX entities_name_unique ON keeps.entities (tenant_id, user_id, entity_type, keeps.name_key(name))
    WHERE deleted_at IS NULL AND merged_into IS NULL;
COMMENT ON TABLE keeps.entities IS 'Nodes of the graph. merged_into names the entity that took this one in; moved holds what undoing needs.';

CREATE TABLE keeps.entity_names (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    name_key text NOT NULL,
    entity_id uuid NOT NULL,
    visibility text NOT NULL,
    PRIMARY KEY (tenant_id, name_key, entity_id),
    CONSTRAINT entity_names_entity_exists FOREIGN KEY (tenant_id, entity_id) REFERENCES keeps.entities ON DELETE CASCADE
);
CREATE INDEX entity_names_by_entity ON keeps.entity_names (tenant_id, entity_id);
COMMENT ON TABLE keeps.entity_names IS
    'Derived from entities: names and aliases of those that are there, to find them by.';

CREATE TABLE keeps.relations (
    tenant_id text NOT NULL,
    relation_id uuid NOT NULL,
    user_id text NOT NULL,
    source_id uuid NOT NULL,
    target_id uuid NOT NULL,
    relation_type text NOT NULL,
    properties jsonb NOT NULL,
    weight double precision NOT NULL,
    visibility text NOT NULL CONSTRAINT relations_visibility_known CHECK (visibility IN ('private', 'tenant')),
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    memory_id uuid,
    event_id uuid NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, relation_id),
    CONSTRAINT relations_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE,
    CONSTRAINT relations_source_exists FOREIGN KEY (tenant_id, source_id) REFERENCES keeps.entities ON DELETE CASCADE,
    CONSTRAINT relations_target_exists FOREIGN KEY (tenant_id, target_id) REFERENCES keeps.entities ON DELETE CASCADE,
    CONSTRAINT relations_validity_order CHECK (valid_to IS NULL OR valid_to >= valid_from)
);
CREATE INDEX relations_by_source ON keeps.relations (tenant_id, source_id, relation_type);
CREATE INDEX relations_by_target ON keeps.relations (tenant_id, target_id, relation_type);
CREATE INDEX relations_by_owner ON keeps.relations (tenant_id, user_id);
COMMENT ON TABLE keeps.relations IS
    'Edges of the graph: typed, directed, true for a time. memory_id and event_id say where one comes from.';

CREATE TABLE keeps.mentions (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    user_id text NOT NULL,
    source text NOT NULL CONSTRAINT mentions_source_known CHECK (source IN ('user', 'text', 'llm')),
    rejected boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, entity_id),
    CONSTRAINT mentions_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories ON DELETE CASCADE,
    CONSTRAINT mentions_entity_exists FOREIGN KEY (tenant_id, entity_id) REFERENCES keeps.entities ON DELETE CASCADE
);
CREATE INDEX mentions_by_entity ON keeps.mentions (tenant_id, entity_id);
COMMENT ON TABLE keeps.mentions IS 'Which memory speaks of which entity: found in its text (derived, made again at will), or said by a user (in the log, and stays).';

-- Which version of a memory's text was searched for entities.
CREATE TABLE keeps.memory_readings (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_readings_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories
        ON DELETE CASCADE
);
CREATE INDEX memory_readings_by_owner ON keeps.memory_readings (tenant_id, user_id);
COMMENT ON TABLE keeps.memory_readings IS 'Derived: which memories the entity finder has read, and in which version.';

CREATE FUNCTION keeps.follow_entity() RETURNS trigger LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM entity_names WHERE tenant_id = NEW.tenant_id AND entity_id = NEW.entity_id;
    IF NEW.deleted_at IS NULL AND NEW.merged_into IS NULL THEN
        INSERT INTO entity_names (tenant_id, user_id, name_key, entity_id, visibility)
        SELECT DISTINCT NEW.tenant_id, NEW.user_id, name_key(each), NEW.entity_id, NEW.visibility
        FROM unnest(NEW.name || NEW.aliases) AS each;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER entities_names_follow AFTER INSERT OR UPDATE
    ON keeps.entities FOR EACH ROW EXECUTE FUNCTION keeps.follow_entity();

-- Everything within some steps of an entity, nearest first: breadth first, each entity once. One more than `at_most` is
-- returned where there is more. As the asking user, so row security holds at each step.
CREATE FUNCTION keeps.graph_reach(start uuid, steps integer, way text, types text[], moment timestamptz,
    at_most integer)
    RETURNS TABLE (entity_id uuid, depth integer) LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    seen uuid[] := ARRAY[start];
    frontier uuid[] := ARRAY[start];
BEGIN
    entity_id := start;
    depth := 0;
    RETURN NEXT;
    FOR level IN 1 .. steps LOOP
        SELECT array_agg(found.id) INTO frontier FROM (
            SELECT DISTINCT step.id FROM (
                SELECT relations.target_id AS id FROM relations
                WHERE way <> 'incoming' AND relations.tenant_id = tenant AND relations.source_id = ANY (frontier)
                  AND (types IS NULL OR relations.relation_type = ANY (types))
                  AND relations.deleted_at IS NULL AND relations.valid_from <= moment AND (relations.valid_to IS NULL
                      OR relations.valid_to > moment)
                UNION ALL
                SELECT relations.source_id FROM relations
                WHERE way <> 'outgoing' AND relations.tenant_id = tenant AND relations.target_id = ANY (frontier)
                  AND (types IS NULL OR relations.relation_type = ANY (types))
                  AND relations.deleted_at IS NULL AND relations.valid_from <= moment AND (relations.valid_to IS NULL
                      OR relations.valid_to > moment)
            ) AS step
            WHERE step.id NOT IN (SELECT unnest(seen))
              AND EXISTS (SELECT FROM entities WHERE entities.tenant_id = tenant AND entities.entity_id = step.id
                  AND entities.deleted_at IS NULL)
            LIMIT at_most + 1 - cardinality(seen) + 1
        ) AS found;
        EXIT WHEN frontier IS NULL;
        depth := level;
        FOREACH entity_id IN ARRAY frontier LOOP
            RETURN NEXT;
        END LOOP;
        seen := seen || frontier;
        EXIT WHEN cardinality(seen) > at_most;
    END LOOP;
END
$$;

-- Hard deletion of an entity or relation of the current user: what their events say, and what older events of entities
-- that took one in say of its names.
CREATE FUNCTION keeps.redact_graph_events(wanted uuid[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    asking text := NULLIF(current_setting('app.current_user', true), '');
    names text[];
    found bigint[];
BEGIN
    SELECT COALESCE(array_agg(DISTINCT each), '{}') INTO names
    FROM entities CROSS JOIN LATERAL unnest(entities.name || entities.aliases) AS each
    WHERE entities.tenant_id = tenant AND entities.user_id = asking AND entities.entity_id = ANY (wanted);
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND user_id = asking AND NOT data ? 'redacted'
      AND ((subject = ANY (wanted::text[]) AND (data ? 'entity' OR data ? 'edge'))
           OR (data ? 'entity' AND data #> '{entity,aliases}' ?| names
               AND EXISTS (SELECT FROM events AS newer WHERE newer.tenant_id = tenant AND newer.subject = events.subject
                             AND newer.sequence > events.sequence AND newer.data ? 'entity')));
    DELETE FROM idempotency_keys
    WHERE tenant_id = tenant AND user_id = asking
      AND (EXISTS (SELECT FROM unnest(wanted) AS one WHERE position(one::text IN answer::text) > 0)
           OR EXISTS (SELECT FROM unnest(names) AS one WHERE position(to_jsonb(one)::text IN answer::text) > 0));
    RETURN redact_events(found, '{}', false);
END
$$;

-- Before entities and memories go for good: others' edges, and what was said of them and of memories, go with them by
-- foreign key; so that the log tells it, too. Returns how many.
CREATE FUNCTION keeps.log_cascade(gone_entities uuid[], gone_memories uuid[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    asking text := NULLIF(current_setting('app.current_user', true), '');
    told bigint;
BEGIN
    WITH going AS MATERIALIZED (
        SELECT relation_id::text AS subject, relations.user_id, jsonb_build_object('relation_id', relation_id,
            'provider_id', 'graph') AS data FROM relations
        WHERE tenant_id = tenant AND relations.user_id <> asking AND (source_id = ANY (gone_entities)
            OR target_id = ANY (gone_entities))
        UNION ALL
        SELECT memory_id || '/' || entity_id, mentions.user_id, jsonb_build_object('mention_id',
            memory_id || '/' || entity_id, 'provider_id', 'graph')
        FROM mentions WHERE tenant_id = tenant AND source = 'user' AND (entity_id = ANY (gone_entities)
            OR memory_id = ANY (gone_memories))
    ), counter AS (
        UPDATE tenants SET last_sequence = last_sequence + (SELECT count(*) FROM going)
        WHERE tenants.tenant_id = tenant AND EXISTS (SELECT FROM going)
        RETURNING last_sequence - (SELECT count(*) FROM going) AS base
    )
    INSERT INTO events (tenant_id, sequence, event_id, type, source, subject, time, user_id, visibility, data)
    SELECT tenant, counter.base + row_number() OVER (ORDER BY going.subject), gen_random_uuid(), 'memory.erased',
        'keeps', going.subject, now(),
           going.user_id, 'private', going.data
    FROM going CROSS JOIN counter;
    GET DIAGNOSTICS told = ROW_COUNT;
    RETURN told;
END
$$;

-- The log knows the graph, too.
CREATE OR REPLACE FUNCTION keeps.event_noun(type text, data jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN data ? 'entity' OR data ? 'entity_id' THEN 'entity'
                WHEN data ? 'edge' OR data ? 'relation_id' THEN 'edge'
                WHEN data ? 'mention' OR data ? 'mention_id' THEN 'mention'
                WHEN data ? 'memory' OR type = 'memory.erased' THEN 'memory'
                WHEN data ? 'session' OR type = 'session.deleted' THEN 'session'
                WHEN data ? 'plan' OR type = 'plan.deleted' THEN 'plan'
                WHEN data ? 'task_context' OR type = 'plan.task.deleted' THEN 'task_context' END;

-- Edges and mentions whose entity or memory is gone for good went with it.
CREATE FUNCTION keeps.replay_edges(until timestamptz) RETURNS SETOF keeps.relations
    LANGUAGE sql STABLE SET search_path = keeps, public, pg_temp AS $$
    WITH entity AS MATERIALIZED (SELECT image ->> 'entity_id' AS id FROM replay_rows('entity', until) AS image)
    SELECT filled.* FROM replay_rows('edge', until) AS image CROSS
        JOIN LATERAL jsonb_populate_record(NULL::relations, image) AS filled
    WHERE image ->> 'source_id' IN (SELECT id FROM entity) AND image ->> 'target_id' IN (SELECT id FROM entity)
$$;
CREATE FUNCTION keeps.replay_mentions(until timestamptz) RETURNS SETOF keeps.mentions
    LANGUAGE sql STABLE SET search_path = keeps, public, pg_temp AS $$
    SELECT filled.* FROM replay_rows('mention', until) AS image CROSS
        JOIN LATERAL jsonb_populate_record(NULL::mentions, image) AS filled
    WHERE image ->> 'entity_id' IN (SELECT entity ->> 'entity_id' FROM replay_rows('entity', until) AS entity)
      AND image ->> 'memory_id' IN (SELECT memory ->> 'memory_id' FROM replay_rows('memory', until) AS memory)
$$;
CREATE FUNCTION keeps.replay_entities(until timestamptz) RETURNS SETOF keeps.entities
    LANGUAGE sql STABLE SET search_path = keeps, public, pg_temp AS $$
    WITH told AS MATERIALIZED (SELECT image FROM replay_rows('entity', until) AS image)
    SELECT filled.* FROM told CROSS JOIN LATERAL jsonb_populate_record(NULL::entities,
        -- An entity that was taken in by one that is gone for good stands alone again.
        CASE WHEN image ->> 'merged_into' IS NULL OR image ->> 'merged_into' IN (SELECT other.image ->> 'entity_id'
            FROM told AS other) THEN image
             ELSE image || '{"merged_into": null}' END) AS filled
$$;
CREATE OR REPLACE FUNCTION keeps.replayed_tables() RETURNS TABLE (name text, key text[], source text, live text)
    LANGUAGE sql STABLE AS $$
    SELECT part.name, part.key,
           format('SELECT filled.* FROM keeps.replay_rows(%L, $1) AS image CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.%I, image) AS filled',
                  part.noun, part.name), 'true'
    FROM (VALUES ('memories', '{memory_id}'::text[], 'memory'), ('sessions', '{user_id,session_id}', 'session'),
                 ('plans', '{user_id,plan_id}', 'plan'), ('task_contexts', '{user_id,task_id}',
                     'task_context')) AS part(name, key, noun)
    UNION ALL
    VALUES ('working_memory', '{plan_id,key}'::text[], 'SELECT * FROM keeps.replay_working_memory($1)', 'true'),
           ('entities', '{entity_id}', 'SELECT * FROM keeps.replay_entities($1)', 'true'),
           ('relations', '{relation_id}', 'SELECT * FROM keeps.replay_edges($1)', 'true'),
           ('mentions', '{memory_id,entity_id}', 'SELECT * FROM keeps.replay_mentions($1)', 'source = ''user''')
$$;

-- Erasure of a user takes others' edges to their entities along: the log says so.
CREATE OR REPLACE FUNCTION keeps.erase_user() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
    found bigint[];
    shared working_memory;
BEGIN
    -- What they wrote into the working memory of plans goes from the log of whoever wrote after them, too.
    PERFORM redact_plan_events(plan_id, key) FROM working_memory WHERE tenant_id = tenant AND user_id = wanted;
    -- A key that others wrote last is theirs by now. It is said once more as a whole, so that the log without the
    -- erased user's parts still gives it.
    FOR shared IN
        SELECT DISTINCT held.* FROM working_memory AS held
        JOIN events ON events.tenant_id = tenant AND events.subject = held.plan_id
            AND events.type = 'plan.state.written'
                   AND events.data ->> 'key' = held.key AND events.user_id = wanted
        WHERE held.tenant_id = tenant AND held.user_id <> wanted
    LOOP
        PERFORM redact_plan_events(shared.plan_id, shared.key);
        WITH counter AS (
            UPDATE tenants SET last_sequence = last_sequence + 1 WHERE tenant_id = tenant RETURNING last_sequence
        )
        INSERT INTO events (tenant_id, sequence, event_id, type, source, subject, time, user_id, visibility, data)
        SELECT tenant, last_sequence, gen_random_uuid(), 'plan.state.written', 'keeps', shared.plan_id,
            shared.updated_at, shared.user_id, 'private',
               jsonb_build_object('operation', 'set', 'plan_id', shared.plan_id, 'key', shared.key, 'value',
                   shared.value, 'version', shared.version,
                                  'expires_at', shared.expires_at, 'created_at', shared.created_at)
        FROM counter;
    END LOOP;
    PERFORM log_cascade(ARRAY(SELECT entity_id FROM entities WHERE tenant_id = tenant AND user_id = wanted),
                        ARRAY(SELECT memory_id FROM memories WHERE tenant_id = tenant AND user_id = wanted));
    DELETE FROM api_keys WHERE tenant_id = tenant AND user_id = wanted;
    UPDATE api_keys SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    UPDATE webhooks SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    DELETE FROM users WHERE tenant_id = tenant AND user_id = wanted;
    SELECT array_agg(sequence) INTO found FROM events WHERE tenant_id = tenant AND user_id = wanted;
    RETURN redact_events(found, '{}', true);
END
$$;

CREATE OR REPLACE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'memory_terms', 'memory_vectors', 'sessions', 'plans',
        'plan_correlations',
                                'task_contexts', 'task_subtasks', 'working_memory', 'entities', 'entity_names',
                                    'relations', 'mentions',
                                'memory_readings', 'idempotency_keys', 'api_keys', 'events'] LOOP
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
REVOKE ALL ON FUNCTION keeps.follow_entity(), keeps.graph_reach(uuid, integer, text, text[], timestamptz, integer),
    keeps.redact_graph_events(uuid[]), keeps.log_cascade(uuid[], uuid[]),
    keeps.replay_edges(timestamptz), keeps.replay_mentions(timestamptz), keeps.replay_entities(timestamptz) FROM PUBLIC;

-- Which memory providers a tenant has met: a projection of memory.provider.registered, by the last event of each.
CREATE TABLE keeps.providers (
    tenant_id text NOT NULL,
    provider_id text NOT NULL CONSTRAINT providers_id_length CHECK (char_length(provider_id) BETWEEN 1 AND 100),
    tier text NOT NULL CONSTRAINT providers_tier_known CHECK (tier IN ('working', 'persistent', 'indexed')),
    capabilities jsonb NOT NULL,
    registered_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider_id),
    CONSTRAINT providers_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.providers IS 'What each memory provider said it can do when this tenant last met it.';
