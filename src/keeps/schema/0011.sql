-- The eleventh revision: sign bits of vectors lie together by audience, as the lists of words do. Runs as keeps_owner.

-- Entries of a place (4 bytes) and the signs of a vector, a bit each. A new one is a row of its own; 512 of them go into
-- rows of the places from `first` on, 1,024 each.
CREATE TABLE keeps.vector_bits (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    folded boolean NOT NULL,
    first integer NOT NULL,
    model text NOT NULL,
    size smallint NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant_id, audience, life, folded, first, model)
) WITH (toast_tuple_target = 8160);
ALTER TABLE keeps.vector_bits ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE keeps.vector_bits IS 'Vector search, first pass: the signs of all vectors of an audience, by place.';

-- Where in a list of entries of one size that of a place begins, from 1; 0 where it is not.
CREATE FUNCTION keeps.entry_at(packed bytea, place integer, size integer) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    wanted bytea := int4send(place);
    found integer := position(wanted IN packed);
    further integer;
BEGIN
    WHILE found > 0 AND (found - 1) % size <> 0 LOOP
        further := position(wanted IN substring(packed FROM found + 1));
        found := CASE WHEN further = 0 THEN 0 ELSE found + further END;
    END LOOP;
    RETURN found;
END
$$;

-- The signs of some memories' vectors, where they have any, at the places of those.
CREATE FUNCTION keeps.add_bits(wanted_tenant text, wanted_audience text, wanted_life text, places integer[],
    memory_ids uuid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    INSERT INTO vector_bits (tenant_id, audience, life, folded, first, model, size, packed)
    SELECT wanted_tenant, wanted_audience, wanted_life, false, held.place, model, 4 + octet_length(signs),
        int4send(held.place) || signs
    FROM unnest(places, memory_ids) AS held(place, memory_id) CROSS JOIN LATERAL (
        SELECT model, substring(varbit_send(binary_quantize(embedding)::bit varying) FROM 5) AS signs
        FROM memory_vectors WHERE tenant_id = wanted_tenant AND memory_vectors.memory_id = held.memory_id OFFSET 0) AS meant
    ON CONFLICT DO NOTHING
$$;

-- Those of a place go: of one model, or of all (NULL).
CREATE FUNCTION keeps.forget_bits(wanted_tenant text, wanted_audience text, wanted_life text, place integer,
    wanted_model text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
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

CREATE FUNCTION keeps.fold_bits(wanted_tenant text, wanted_audience text, wanted_life text, wanted_model text)
    RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    WITH moved AS (
        DELETE FROM vector_bits
        WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life AND NOT folded
          AND model = wanted_model
        RETURNING first, size, packed
    )
    INSERT INTO vector_bits AS held (tenant_id, audience, life, folded, first, model, size, packed)
    SELECT wanted_tenant, wanted_audience, wanted_life, true, first / 1024 * 1024, wanted_model, size,
        string_agg(packed, '' ORDER BY first)
    FROM moved GROUP BY first / 1024, size
    ON CONFLICT (tenant_id, audience, life, folded, first, model) DO UPDATE SET packed = held.packed || EXCLUDED.packed
$$;

-- Vectors come: with their memory, or later. How many are not folded is looked at once in a while only.
CREATE FUNCTION keeps.follow_vectors() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    each record;
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM forget_bits(OLD.tenant_id, audience, life, place, OLD.model) FROM memory_words
        WHERE tenant_id = OLD.tenant_id AND memory_id = OLD.memory_id;
        RETURN NULL;
    END IF;
    FOR each IN
        SELECT arrived.tenant_id, held.audience, held.life, arrived.model, array_agg(held.place) AS places,
            array_agg(arrived.memory_id) AS memory_ids, bool_or(held.place % 64 = 0) AS due
        FROM arrived CROSS JOIN LATERAL (
            SELECT audience, life, place FROM memory_words
            WHERE memory_words.tenant_id = arrived.tenant_id AND memory_words.memory_id = arrived.memory_id
            OFFSET 0) AS held
        GROUP BY arrived.tenant_id, held.audience, held.life, arrived.model
    LOOP
        PERFORM add_bits(each.tenant_id, each.audience, each.life, each.places, each.memory_ids);
        IF each.due AND (
            SELECT count(*) FROM vector_bits
            WHERE tenant_id = each.tenant_id AND audience = each.audience AND life = each.life AND NOT folded
              AND model = each.model) >= 512 THEN
            PERFORM fold_bits(each.tenant_id, each.audience, each.life, each.model);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER memory_vectors_arrived AFTER INSERT ON keeps.memory_vectors
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.follow_vectors();
CREATE TRIGGER memory_vectors_gone AFTER DELETE ON keeps.memory_vectors
    FOR EACH ROW EXECUTE FUNCTION keeps.follow_vectors();

-- As in the tenth revision; a memory takes the signs of its vectors along, and other words are another place, too.
CREATE OR REPLACE FUNCTION keeps.follow_words() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    PERFORM forget_bits(OLD.tenant_id, OLD.audience, OLD.life, OLD.place, NULL);
    PERFORM forget_words(OLD);
    IF TG_OP = 'DELETE' THEN
        RETURN NULL;
    END IF;
    NEW.place := take_places(NEW.audience, NEW.life, 1, NEW.word_count);
    PERFORM add_bits(NEW.tenant_id, NEW.audience, NEW.life, ARRAY[NEW.place], ARRAY[NEW.memory_id]);
    RETURN NEW;
END
$$;
DROP TRIGGER memory_words_moved ON keeps.memory_words;
CREATE TRIGGER memory_words_moved BEFORE UPDATE OF audience, life, agent, words, counts ON keeps.memory_words
    FOR EACH ROW WHEN ((OLD.audience, OLD.life, OLD.agent, OLD.words, OLD.counts)
        <> (NEW.audience, NEW.life, NEW.agent, NEW.words, NEW.counts)) EXECUTE FUNCTION keeps.follow_words();

CREATE OR REPLACE FUNCTION keeps.drop_postings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM postings WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
    DELETE FROM vector_bits WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
    RETURN NULL;
END
$$;

-- As in the tenth revision; where places close up, the signs do so, too.
-- The words of the newest memories of an audience go into its lists, 512 memories at a time (8,192 where so many wait): until
-- then they are few enough to be looked through. An open list is one of less than 2,000 bytes.
CREATE OR REPLACE FUNCTION keeps.fold_words(wanted_tenant text, wanted_audience text, wanted_life text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    held audience_words;
    many integer;
BEGIN
    SELECT * INTO held FROM audience_words
    WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
    IF held.next_place > 1000000 AND held.next_place > 16 * held.memories THEN
        -- Most places are of what has left. Those that are held close up, in the same order.
        DELETE FROM postings
        WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
        UPDATE audience_words SET next_place = held.memories, folded_to = held.memories
        WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
        UPDATE memory_words SET place = numbered.place
        FROM (SELECT memory_id, row_number() OVER (ORDER BY place) - 1 AS place FROM memory_words
              WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life) AS numbered
        WHERE memory_words.tenant_id = wanted_tenant AND memory_words.memory_id = numbered.memory_id;
        DELETE FROM vector_bits
        WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
        PERFORM add_bits(wanted_tenant, wanted_audience, wanted_life, array_agg(place), array_agg(memory_id))
        FROM memory_words
        WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
        PERFORM fold_bits(wanted_tenant, wanted_audience, wanted_life, model)
        FROM (SELECT DISTINCT model FROM vector_bits
              WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life) AS held;
        held.next_place := held.memories;
        held.folded_to := 0;
    END IF;
    WHILE held.next_place - held.folded_to >= 512 LOOP
        many := CASE WHEN held.next_place - held.folded_to >= 8192 THEN 8192 ELSE 512 END;
        WITH said AS (
            SELECT said.word COLLATE "C" AS word, agent, min(place) AS first,
                string_agg(int4send(place) || int4send(session) || int2send(LEAST(word_count, 32767)::smallint)
                    || substring(counts FROM said.number::integer FOR 1), '' ORDER BY place) AS packed
            FROM memory_words, unnest(string_to_array(words, ' ')) WITH ORDINALITY AS said(word, number)
            WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life
              AND place >= held.folded_to AND place < held.folded_to + many
            GROUP BY said.word COLLATE "C", agent
        )
        INSERT INTO postings AS list (tenant_id, audience, life, word, agent, first, packed)
        SELECT wanted_tenant, wanted_audience, wanted_life, said.word, said.agent,
            CASE WHEN last.size < 2000 THEN last.first ELSE said.first END, said.packed
        FROM said LEFT JOIN LATERAL (
            SELECT first, octet_length(postings.packed) AS size FROM postings
            WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life
              AND postings.word = said.word AND postings.agent = said.agent
            ORDER BY first DESC LIMIT 1) AS last ON true
        ON CONFLICT (tenant_id, audience, life, word, agent, first) DO UPDATE SET packed = list.packed || EXCLUDED.packed;
        held.folded_to := held.folded_to + many;
    END LOOP;
    UPDATE audience_words SET next_place = held.next_place, folded_to = held.folded_to
    WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
END
$$;

-- Erasure counts what goes.
CREATE OR REPLACE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'memory_words', 'memory_vectors', 'sessions', 'plans',
        'plan_correlations', 'task_contexts', 'task_subtasks', 'working_memory', 'entities', 'entity_names',
        'relations', 'mentions', 'memory_readings', 'documents', 'document_passages', 'query_audit', 'transcripts',
        'transcript_entries', 'transcript_values', 'items', 'item_refreshes', 'item_vectors', 'idempotency_keys', 'api_keys', 'events'] LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE tenant_id = $1 AND ($2::text IS NULL OR user_id = $2)', name)
            INTO held USING tenant, wanted_user_id;
        RETURN NEXT;
    END LOOP;
    FOREACH name IN ARRAY ARRAY['audience_words', 'postings', 'vector_bits'] LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE tenant_id = $1 AND ($2::text IS NULL OR audience = $2)', name)
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

-- What is there already.
DO $$
DECLARE
    each record;
BEGIN
    FOR each IN SELECT DISTINCT tenant_id FROM keeps.memory_vectors LOOP
        PERFORM set_config('app.current_tenant', each.tenant_id, true);
        INSERT INTO keeps.vector_bits (tenant_id, audience, life, folded, first, model, size, packed)
        SELECT held.tenant_id, held.audience, held.life, true, place / 1024 * 1024, model, 4 + max(octet_length(signs)),
            string_agg(int4send(place) || signs, '' ORDER BY place)
        FROM keeps.memory_words AS held JOIN (
            SELECT tenant_id, memory_id, model,
                substring(varbit_send(binary_quantize(embedding)::bit varying) FROM 5) AS signs
            FROM keeps.memory_vectors) AS meant USING (tenant_id, memory_id)
        WHERE held.tenant_id = each.tenant_id
        GROUP BY held.tenant_id, held.audience, held.life, place / 1024, model;
    END LOOP;
    PERFORM set_config('app.current_tenant', '', true);
END
$$;
DROP INDEX keeps.memory_vectors_by_audience;
ALTER TABLE keeps.memory_vectors DROP COLUMN bits;
CREATE INDEX memory_vectors_by_audience ON keeps.memory_vectors (tenant_id, audience, life, model);
REVOKE ALL ON FUNCTION keeps.entry_at(bytea, integer, integer), keeps.follow_vectors(),
    keeps.add_bits(text, text, text, integer[], uuid[]), keeps.fold_bits(text, text, text, text),
    keeps.forget_bits(text, text, text, integer, text) FROM PUBLIC;
