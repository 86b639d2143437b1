-- What is asked over all tenants, by index: a database of millions of memories is not read through for it. And queries
-- with parameters as PL/pgSQL, whose plans are kept, and which other engines take. Runs as keeps_owner.

-- Which users have vectors of other models: from one place of the index to the next, and the rows only of those models.
CREATE OR REPLACE FUNCTION keeps.users_with_other_models(kept_model text) RETURNS TABLE (tenant_id text, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY WITH RECURSIVE places AS (
        (SELECT memory_vectors.tenant_id, audience, life, model FROM memory_vectors
         ORDER BY memory_vectors.tenant_id, audience, life, model LIMIT 1)
        UNION ALL
        SELECT following.* FROM places CROSS JOIN LATERAL (
            SELECT vectors.tenant_id, vectors.audience, vectors.life, vectors.model FROM memory_vectors AS vectors
            WHERE (vectors.tenant_id, vectors.audience, vectors.life, vectors.model)
                > (places.tenant_id, places.audience, places.life, places.model)
            ORDER BY vectors.tenant_id, vectors.audience, vectors.life, vectors.model LIMIT 1) AS following
    ), items_places AS (
        (SELECT item_vectors.tenant_id, item_vectors.user_id, model FROM item_vectors
         ORDER BY item_vectors.tenant_id, item_vectors.user_id, model LIMIT 1)
        UNION ALL
        SELECT following.* FROM items_places CROSS JOIN LATERAL (
            SELECT vectors.tenant_id, vectors.user_id, vectors.model FROM item_vectors AS vectors
            WHERE (vectors.tenant_id, vectors.user_id, vectors.model)
                > (items_places.tenant_id, items_places.user_id, items_places.model)
            ORDER BY vectors.tenant_id, vectors.user_id, vectors.model LIMIT 1) AS following
    )
    SELECT others.tenant_id, others.user_id FROM places CROSS JOIN LATERAL (
        SELECT DISTINCT vectors.tenant_id, vectors.user_id FROM memory_vectors AS vectors
        WHERE vectors.tenant_id = places.tenant_id AND vectors.audience = places.audience
          AND vectors.life = places.life AND vectors.model = places.model) AS others
    WHERE places.model <> kept_model
    UNION
    SELECT items_places.tenant_id, items_places.user_id FROM items_places WHERE model <> kept_model;
END
$$;

-- How many memories wait for a vector, and since when the first: for metrics, which ask every few seconds.
CREATE FUNCTION keeps.index_waiting() RETURNS TABLE (waiting bigint, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT count(*), min(noticed_at) FROM memory_pending
$$;
REVOKE ALL ON FUNCTION keeps.index_waiting() FROM PUBLIC;

-- As in the revisions before, but for the language; and signs of one size are folded, not of two.
CREATE OR REPLACE FUNCTION keeps.event_owners(after bigint, at_most integer) RETURNS TABLE (sequence bigint, user_id
    text, type text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT events.sequence, events.user_id, events.type FROM events
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND events.sequence > after
    ORDER BY events.sequence LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.item_owners(after_user_id text, at_most integer) RETURNS TABLE (user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT users.user_id FROM users
    WHERE users.tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND users.user_id > after_user_id
      AND EXISTS (SELECT FROM items WHERE items.tenant_id = users.tenant_id AND items.user_id = users.user_id)
    ORDER BY users.user_id LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.last_sequences(wanted text[]) RETURNS TABLE (tenant_id text, last_sequence bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT tenants.tenant_id, tenants.last_sequence FROM tenants WHERE tenants.tenant_id = ANY (wanted);
END
$$;

CREATE OR REPLACE FUNCTION keeps.list_tenants(after_tenant_id text, at_most integer) RETURNS TABLE (tenant_id text,
    users bigint, memories bigint, bytes bigint, max_memories bigint, max_bytes bigint, created_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT tenants.tenant_id, (SELECT count(*) FROM users
        WHERE users.tenant_id = tenants.tenant_id), tenants.memory_count,
           tenants.memory_bytes + tenants.state_bytes, tenants.max_memories, tenants.max_bytes, tenants.created_at
    FROM tenants WHERE tenants.tenant_id > after_tenant_id AND elsewhere(tenants.tenant_id) IS NULL
    ORDER BY tenants.tenant_id LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.memory_owners(wanted uuid[]) RETURNS TABLE (memory_id uuid, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT memories.memory_id, memories.user_id FROM memories
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND memories.memory_id = ANY (wanted);
END
$$;

CREATE OR REPLACE FUNCTION keeps.memory_subjects(at_most integer) RETURNS TABLE (type text, name text, total bigint,
    first_at timestamptz, last_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT told.type, told.name, count(*), min(created_at), max(updated_at)
    FROM memories, LATERAL (VALUES ('user', user_id), ('agent', agent_id), ('app', metadata ->> 'app_id'),
                                ('run', session_id)) AS told(type, name)
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND deleted_at IS NULL AND superseded_by IS NULL AND told.name IS NOT NULL
    GROUP BY told.type, told.name
    ORDER BY max(updated_at) DESC LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.transcript_owners(wanted_app text, after_user_id text, at_most integer) RETURNS
    TABLE(user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT DISTINCT transcripts.user_id FROM transcripts
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND app = wanted_app
      AND transcripts.user_id >= after_user_id
    ORDER BY transcripts.user_id LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.users_to_index(wanted_model text, at_most integer) RETURNS TABLE (tenant_id text,
    user_id text, pending bigint, oldest timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT waiting.tenant_id, waiting.user_id, count(*), min(waiting.updated_at) FROM (
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
    LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.webhooks_due(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    webhook_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT due.tenant_id, due.webhook_id
    FROM (SELECT webhooks.tenant_id, webhooks.webhook_id, webhooks.next_attempt_at,
                 row_number() OVER (PARTITION BY webhooks.tenant_id
                     ORDER BY webhooks.next_attempt_at, webhooks.webhook_id) AS place
          FROM webhooks JOIN tenants USING (tenant_id)
          WHERE webhooks.active AND webhooks.next_attempt_at <= moment AND webhooks.position < tenants.last_sequence
            AND (webhooks.leased_until IS NULL OR webhooks.leased_until < moment)
            AND elsewhere(webhooks.tenant_id) IS NULL) AS due
    WHERE due.place <= 4
    ORDER BY due.place, due.next_attempt_at LIMIT at_most;
END
$$;

CREATE OR REPLACE FUNCTION keeps.take_due_jobs(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    job text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY WITH due AS (
        SELECT held.tenant_id, held.job FROM tenant_jobs AS held WHERE held.due_at <= moment
        ORDER BY held.due_at LIMIT at_most FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE tenant_jobs SET due_at = LEAST(moment, now()) + interval '10 minutes' FROM due
        WHERE tenant_jobs.tenant_id = due.tenant_id AND tenant_jobs.job = due.job
        RETURNING tenant_jobs.tenant_id, tenant_jobs.job
    )
    SELECT taken.tenant_id, taken.job FROM taken
    UNION ALL
    SELECT DISTINCT waiting.tenant_id, 'index'
    FROM (SELECT memory_pending.tenant_id FROM memory_pending
        WHERE memory_pending.noticed_at <= now() - interval '1 minute'
          ORDER BY memory_pending.noticed_at LIMIT 10 * at_most) AS waiting;
END
$$;

CREATE OR REPLACE FUNCTION keeps.take_places(wanted_audience text, wanted_life text, more integer, more_words
    bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    place integer;
BEGIN
    INSERT INTO audience_words AS held (tenant_id, audience, life, memories, words, next_place, folded_to)
    SELECT NULLIF(current_setting('app.current_tenant', true), ''), wanted_audience, wanted_life, more, more_words,
        more, 0
    WHERE wanted_audience IN ('', NULLIF(current_setting('app.current_user', true), ''))
    ON CONFLICT (tenant_id, audience, life) DO UPDATE
    SET memories = held.memories + more, words = held.words + more_words, next_place = held.next_place + more
    RETURNING next_place - more INTO place;
    RETURN place;
END
$$;

CREATE OR REPLACE FUNCTION keeps.add_bits(wanted_tenant text, wanted_audience text, wanted_life text, places
    integer[], memory_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    INSERT INTO vector_bits (tenant_id, audience, life, folded, first, model, size, packed)
    SELECT wanted_tenant, wanted_audience, wanted_life, false, held.place, model, 4 + octet_length(signs),
        int4send(held.place) || signs
    FROM unnest(places, memory_ids) AS held(place, memory_id) CROSS JOIN LATERAL (
        SELECT model, substring(varbit_send(binary_quantize(embedding)::bit varying) FROM 5) AS signs
        FROM memory_vectors WHERE tenant_id = wanted_tenant AND memory_vectors.memory_id = held.memory_id
        OFFSET 0) AS meant
    ON CONFLICT DO NOTHING;
END
$$;

CREATE OR REPLACE FUNCTION keeps.fold_bits(wanted_tenant text, wanted_audience text, wanted_life text, wanted_model
    text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    WITH moved AS (
        DELETE FROM vector_bits
        WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life AND NOT folded
          AND model = wanted_model
          -- Others are of another model of the same name: what is folded, or came first, says of which.
          AND size = (SELECT known.size FROM vector_bits AS known
                      WHERE known.tenant_id = wanted_tenant AND known.audience = wanted_audience
                        AND known.life = wanted_life AND known.model = wanted_model
                      ORDER BY known.folded DESC, known.first LIMIT 1)
        RETURNING first, size, packed
    )
    INSERT INTO vector_bits AS held (tenant_id, audience, life, folded, first, model, size, packed)
    SELECT wanted_tenant, wanted_audience, wanted_life, true, first / 1024 * 1024, wanted_model, size,
        string_agg(packed, '' ORDER BY first)
    FROM moved GROUP BY first / 1024, size
    ON CONFLICT (tenant_id, audience, life, folded, first, model) DO UPDATE SET packed = held.packed || EXCLUDED.packed;
END
$$;

CREATE OR REPLACE FUNCTION keeps.was_undone(wanted_tenant text, wanted_memory_id uuid, wanted_job text) RETURNS
    boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM operation_changes JOIN operations USING (tenant_id, operation_id)
                   WHERE operation_changes.tenant_id = wanted_tenant AND operation_changes.memory_id = wanted_memory_id
                     AND operations.job = wanted_job AND operations.status = 'undone');
END
$$;

CREATE OR REPLACE FUNCTION keeps.replay_rows(noun text, until timestamptz) RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT last.data -> noun
    FROM (SELECT DISTINCT ON (user_id, subject) data FROM events
          WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
              AND event_noun(type, data) = noun AND time <= until
          ORDER BY user_id, subject, sequence DESC) AS last
    WHERE last.data ? noun;
END
$$;

CREATE OR REPLACE FUNCTION keeps.replay_entities(until timestamptz) RETURNS SETOF keeps.entities
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY WITH told AS MATERIALIZED (SELECT image FROM replay_rows('entity', until) AS image)
    SELECT filled.* FROM told CROSS JOIN LATERAL jsonb_populate_record(NULL::entities,
        -- An entity that was taken in by one that is gone for good stands alone again.
        CASE WHEN image ->> 'merged_into' IS NULL OR image ->> 'merged_into' IN (SELECT other.image ->> 'entity_id'
            FROM told AS other) THEN image
             ELSE image || '{"merged_into": null}' END) AS filled;
END
$$;

CREATE OR REPLACE FUNCTION keeps.replay_edges(until timestamptz) RETURNS SETOF keeps.relations
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY
    WITH entity AS MATERIALIZED (SELECT image ->> 'entity_id' AS id FROM replay_rows('entity', until) AS image)
    SELECT filled.* FROM replay_rows('edge', until) AS image CROSS
        JOIN LATERAL jsonb_populate_record(NULL::relations, image) AS filled
    WHERE image ->> 'source_id' IN (SELECT id FROM entity) AND image ->> 'target_id' IN (SELECT id FROM entity);
END
$$;

CREATE OR REPLACE FUNCTION keeps.replay_mentions(until timestamptz) RETURNS SETOF keeps.mentions
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT filled.* FROM replay_rows('mention', until) AS image CROSS
        JOIN LATERAL jsonb_populate_record(NULL::mentions, image) AS filled
    WHERE image ->> 'entity_id' IN (SELECT entity ->> 'entity_id' FROM replay_rows('entity', until) AS entity)
      AND image ->> 'memory_id' IN (SELECT memory ->> 'memory_id' FROM replay_rows('memory', until) AS memory);
END
$$;

CREATE OR REPLACE FUNCTION keeps.replay_passages(until timestamptz) RETURNS SETOF keeps.document_passages
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT filled.* FROM replay_rows('document', until) AS image
    CROSS JOIN LATERAL jsonb_array_elements(image -> 'passages') WITH ORDINALITY AS told(passage, number)
    CROSS JOIN LATERAL jsonb_populate_record(NULL::document_passages, told.passage || jsonb_build_object(
        'tenant_id', image -> 'tenant_id', 'document_id', image -> 'document_id', 'user_id', image -> 'user_id',
        'visibility', image -> 'visibility', 'position', told.number - 1)) AS filled
    WHERE told.passage ->> 'memory_id' IN (SELECT memory ->> 'memory_id' FROM replay_rows('memory', until) AS memory);
END
$$;

CREATE OR REPLACE FUNCTION keeps.replay_working_memory(until timestamptz) RETURNS SETOF keeps.working_memory
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT (folded.held).*
    FROM (SELECT working_after(events ORDER BY sequence) AS held FROM events
          WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND type LIKE 'plan.state.%'
              AND data ? 'key' AND time <= until
          GROUP BY subject, data ->> 'key') AS folded
    WHERE (folded.held).key IS NOT NULL;
END
$$;
