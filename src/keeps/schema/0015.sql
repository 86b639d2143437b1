-- An item is stored while the model is away, as a memory is, and gets its vectors when it is back. Many memories leave
-- the lists of the index together. Runs as keeps_owner.

CREATE TABLE keeps.item_pending (
    tenant_id text NOT NULL,
    row_id uuid NOT NULL,
    user_id text NOT NULL,
    noticed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, row_id),
    CONSTRAINT item_pending_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
);
CREATE INDEX item_pending_by_time ON keeps.item_pending (noticed_at);
CREATE INDEX item_pending_by_owner ON keeps.item_pending (tenant_id, user_id);
COMMENT ON TABLE keeps.item_pending IS 'Derived: items that wait for their vectors.';

-- As in the revisions before, and items.
CREATE OR REPLACE FUNCTION keeps.index_waiting() RETURNS TABLE (waiting bigint, since timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT count(*), min(noticed_at) FROM (
        SELECT noticed_at FROM memory_pending UNION ALL SELECT noticed_at FROM item_pending) AS either;
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
    FROM ((SELECT memory_pending.tenant_id FROM memory_pending
           WHERE memory_pending.noticed_at <= now() - interval '1 minute'
           ORDER BY memory_pending.noticed_at LIMIT 10 * at_most)
          UNION ALL
          (SELECT item_pending.tenant_id FROM item_pending
           WHERE item_pending.noticed_at <= now() - interval '1 minute'
           ORDER BY item_pending.noticed_at LIMIT 10 * at_most)) AS waiting;
END
$$;

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
              OR EXISTS (SELECT FROM item_pending WHERE item_pending.tenant_id = tenant
                  AND item_pending.user_id = users.user_id)
          ELSE true END
    ORDER BY users.user_id LIMIT at_most;
END
$$;

-- Of a list of entries those of other places. An entry begins with its place.
CREATE FUNCTION keeps.without(packed bytea, places integer[], size integer) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN COALESCE((
        SELECT string_agg(entry.said, '' ORDER BY entry.start)
        FROM (SELECT start, substring(packed FROM start FOR size) AS said
              FROM generate_series(1, octet_length(packed), size) AS start) AS entry
        WHERE substring(entry.said FROM 1 FOR 4) NOT IN (
            SELECT int4send(place) FROM unnest(places) AS gone(place))), '');
END
$$;

-- Many memories of the current user leave their audiences: out of each list at once. One after the other, each would
-- leave a version of every list that it is in, and the next would step over all of those. What leaves them until
-- app.lists_left is reset is out of the lists already.
CREATE FUNCTION keeps.leave_lists(wanted uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    owner text := NULLIF(current_setting('app.current_user', true), '');
    each record;
BEGIN
    FOR each IN
        SELECT held.audience, held.life, held.agent, said.word COLLATE "C" AS word, chunk.first,
            array_agg(held.place) AS places
        FROM unnest(wanted) AS asked(memory_id) CROSS JOIN LATERAL (
            SELECT audience, life, agent, place, words FROM memory_words
            WHERE tenant_id = tenant AND memory_id = asked.memory_id AND user_id = owner LIMIT 1) AS held
        CROSS JOIN LATERAL unnest(string_to_array(held.words, ' ')) AS said(word)
        CROSS JOIN LATERAL (
            SELECT first FROM postings
            WHERE tenant_id = tenant AND audience = held.audience AND life = held.life
              AND postings.word = said.word AND agent = held.agent AND first <= held.place
            ORDER BY first DESC LIMIT 1) AS chunk
        GROUP BY held.audience, held.life, held.agent, said.word COLLATE "C", chunk.first
    LOOP
        UPDATE postings SET packed = without(packed, each.places, 11)
        WHERE tenant_id = tenant AND audience = each.audience AND life = each.life AND word = each.word
          AND agent = each.agent AND first = each.first;
        DELETE FROM postings
        WHERE tenant_id = tenant AND audience = each.audience AND life = each.life AND word = each.word
          AND agent = each.agent AND first = each.first AND packed = '';
    END LOOP;
    FOR each IN
        SELECT held.audience, held.life, held.place / 1024 * 1024 AS first, array_agg(held.place) AS places
        FROM unnest(wanted) AS asked(memory_id) CROSS JOIN LATERAL (
            SELECT audience, life, place FROM memory_words
            WHERE tenant_id = tenant AND memory_id = asked.memory_id AND user_id = owner LIMIT 1) AS held
        GROUP BY held.audience, held.life, held.place / 1024 * 1024
    LOOP
        DELETE FROM vector_bits
        WHERE tenant_id = tenant AND audience = each.audience AND life = each.life AND NOT folded
          AND first = ANY (each.places);
        UPDATE vector_bits SET packed = without(packed, each.places, size)
        WHERE tenant_id = tenant AND audience = each.audience AND life = each.life AND folded AND first = each.first;
        DELETE FROM vector_bits
        WHERE tenant_id = tenant AND audience = each.audience AND life = each.life AND folded AND first = each.first
          AND packed = '';
    END LOOP;
    PERFORM set_config('app.lists_left', 'yes', true);
END
$$;
REVOKE ALL ON FUNCTION keeps.without(bytea, integer[], integer), keeps.leave_lists(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION keeps.forget_words(gone keeps.memory_words) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    held audience_words;
BEGIN
    UPDATE audience_words SET memories = memories - 1, words = audience_words.words - gone.word_count
    WHERE tenant_id = gone.tenant_id AND audience = gone.audience AND life = gone.life
    RETURNING * INTO held;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF held.memories = 0 THEN
        DELETE FROM audience_words
        WHERE tenant_id = gone.tenant_id AND audience = gone.audience AND life = gone.life;
        RETURN;
    END IF;
    IF gone.place >= held.folded_to OR current_setting('app.lists_left', true) = 'yes' THEN
        RETURN;
    END IF;
    WITH list AS (
        SELECT chunk.word, chunk.first, octet_length(chunk.packed) AS size,
            entry_at(chunk.packed, gone.place, 11) AS found
        FROM unnest(string_to_array(gone.words, ' ')) AS said(word) CROSS JOIN LATERAL (
            SELECT postings.word, first, packed FROM postings
            WHERE tenant_id = gone.tenant_id AND audience = gone.audience AND life = gone.life
              AND postings.word = said.word AND agent = gone.agent AND first <= gone.place
            ORDER BY first DESC LIMIT 1) AS chunk
    ), emptied AS (
        DELETE FROM postings USING list
        WHERE tenant_id = gone.tenant_id AND audience = gone.audience AND life = gone.life
          AND postings.word = list.word AND agent = gone.agent AND postings.first = list.first
          AND list.size = 11 AND list.found > 0
    )
    UPDATE postings SET packed = overlay(packed PLACING '' FROM list.found FOR 11) FROM list
    WHERE tenant_id = gone.tenant_id AND audience = gone.audience AND life = gone.life
      AND postings.word = list.word AND agent = gone.agent AND postings.first = list.first
      AND list.size > 11 AND list.found > 0;
END
$$;

CREATE OR REPLACE FUNCTION keeps.forget_bits(wanted_tenant text, wanted_audience text, wanted_life text, place
    integer, wanted_model text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF current_setting('app.lists_left', true) = 'yes' THEN
        RETURN;
    END IF;
    DELETE FROM vector_bits
    WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life AND NOT folded
      AND first = place AND (wanted_model IS NULL OR model = wanted_model);
    DELETE FROM vector_bits
    WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life AND folded
      AND first = place / 1024 * 1024 AND (wanted_model IS NULL OR model = wanted_model)
      AND octet_length(packed) = size AND entry_at(packed, place, size) > 0;
    UPDATE vector_bits SET packed = overlay(packed PLACING '' FROM entry_at(packed, place, size) FOR size)
    WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life AND folded
      AND first = place / 1024 * 1024 AND (wanted_model IS NULL OR model = wanted_model)
      AND entry_at(packed, place, size) > 0;
END
$$;

-- As in the sixth revision; found by its subject, whatever statistics there are: a user has many events, a memory few.
CREATE OR REPLACE FUNCTION keeps.redact_memory_events(wanted_memory_id uuid, wanted_content text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND (user_id = wanted) IS TRUE AND subject = wanted_memory_id::text
      AND NOT (data ? 'entity' OR data ? 'edge' OR data ? 'entity_id' OR data ? 'relation_id')
      AND (wanted_content IS NULL
           OR (data -> 'memory' ->> 'content' = wanted_content
               AND sequence < (SELECT max(newest.sequence) FROM events AS newest
                               WHERE newest.tenant_id = tenant AND newest.subject = wanted_memory_id::text
                                   AND newest.data ? 'memory')));
    IF wanted_content IS NULL THEN
        PERFORM void_answers(ARRAY[wanted_memory_id::text], true);
    END IF;
    RETURN redact_events(found, jsonb_build_object('memory_id', wanted_memory_id), false);
END
$$;
