-- The tenth revision: words are found by lists that lie together by audience, and so are the signs of vectors. Runs as
-- keeps_owner; the words of what is there already are read anew after it, in Python.

-- How many memories and words an audience has in each part of its life, and how far its words are in lists.
CREATE TABLE keeps.audience_words (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    memories integer NOT NULL,
    words bigint NOT NULL,
    next_place integer NOT NULL,
    folded_to integer NOT NULL,
    PRIMARY KEY (tenant_id, audience, life),
    CONSTRAINT audience_words_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE keeps.audience_words IS
    'Counts of what an audience can find; places from folded_to on are in memory_words only, those before in postings.';

-- Derived from memories, in the same transaction: the words of each. words: each once, with spaces between; counts: a
-- byte for each word; agent: whose experience it is, empty where any agent may find it, a control character where none.
CREATE TABLE keeps.memory_words (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    agent text NOT NULL,
    place integer NOT NULL,
    session integer NOT NULL,
    word_count integer NOT NULL,
    words text NOT NULL,
    counts bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_words_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE
);
CREATE INDEX memory_words_by_place ON keeps.memory_words (tenant_id, audience, life, place);
COMMENT ON TABLE keeps.memory_words IS
    'Text search: the words of each memory, and its place among those of its audience.';

-- Which memories hold a word: entries of 11 bytes, by place: the place (4), its session hashed (4), its length in words
-- (2), and how often it holds the word (1).
CREATE TABLE keeps.postings (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    word text COLLATE "C" NOT NULL,
    agent text NOT NULL,
    first integer NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant_id, audience, life, word, agent, first)
) WITH (toast_tuple_target = 8160);
ALTER TABLE keeps.postings ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE keeps.postings IS 'Text search: for each word of an audience the memories that hold it.';

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

-- Who may find a memory by its words: its owner, or the empty text for the whole tenant; what is deleted, its owner.
CREATE FUNCTION keeps.words_audience(visibility text, deleted_at timestamptz, user_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN visibility = 'tenant' AND deleted_at IS NULL THEN '' ELSE user_id END;

-- Of which agent it is: facts are of all.
CREATE FUNCTION keeps.words_agent(kind text, agent_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN kind = 'semantic' THEN '' ELSE COALESCE(agent_id, chr(1)) END;

-- Where in a list of entries of one size that of a place begins, from 1; 0 where it is not.
CREATE FUNCTION keeps.entry_at(packed bytea, place integer, size integer) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    wanted bytea := int4send(place);
    found integer := position(wanted IN packed);
BEGIN
    IF found > 0 AND (found - 1) % size <> 0 THEN
        -- The same bytes lie inside another entry before it, or across two.
        found := COALESCE((SELECT start FROM generate_series(1, octet_length(packed), size) AS start
                           WHERE start > found AND substring(packed FROM start FOR 4) = wanted LIMIT 1), 0);
    END IF;
    RETURN found;
END
$$;

-- A memory leaves its audience: out of the counts, and out of the list of each of its words.
CREATE FUNCTION keeps.forget_words(gone keeps.memory_words) RETURNS void
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
    IF gone.place >= held.folded_to THEN
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

-- The first of the next places among the memories of an audience of the current user, counted; NULL of another's.
CREATE FUNCTION keeps.take_places(wanted_audience text, wanted_life text, more integer, more_words bigint)
    RETURNS integer
    LANGUAGE sql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    INSERT INTO audience_words AS held (tenant_id, audience, life, memories, words, next_place, folded_to)
    SELECT NULLIF(current_setting('app.current_tenant', true), ''), wanted_audience, wanted_life, more, more_words,
        more, 0
    WHERE wanted_audience IN ('', NULLIF(current_setting('app.current_user', true), ''))
    ON CONFLICT (tenant_id, audience, life) DO UPDATE
    SET memories = held.memories + more, words = held.words + more_words, next_place = held.next_place + more
    RETURNING next_place - more
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

-- The words of the newest memories of an audience go into its lists, 512 memories at a time (8,192 where so many
-- wait): until then they are few enough to be looked through. An open list is one of less than 2,000 bytes. Where most
-- places are of what has left, those that are held close up.
CREATE FUNCTION keeps.fold_words(wanted_tenant text, wanted_audience text, wanted_life text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    held audience_words;
    many integer;
BEGIN
    SELECT * INTO held FROM audience_words
    WHERE tenant_id = wanted_tenant AND audience = wanted_audience AND life = wanted_life;
    IF held.next_place > 1000000 AND held.next_place > 16 * held.memories THEN
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

CREATE FUNCTION keeps.follow_words() RETURNS trigger
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
CREATE TRIGGER memory_words_gone AFTER DELETE ON keeps.memory_words FOR EACH ROW EXECUTE FUNCTION keeps.follow_words();
CREATE TRIGGER memory_words_moved BEFORE UPDATE OF audience, life, agent, words, counts ON keeps.memory_words
    FOR EACH ROW WHEN ((OLD.audience, OLD.life, OLD.agent, OLD.words, OLD.counts)
        <> (NEW.audience, NEW.life, NEW.agent, NEW.words, NEW.counts)) EXECUTE FUNCTION keeps.follow_words();

CREATE FUNCTION keeps.fold_arrived() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF current_setting('app.fold_later', true) = 'yes' THEN
        RETURN NULL;
    END IF;
    PERFORM fold_words(held.tenant_id, held.audience, held.life)
    FROM audience_words AS held
    WHERE (held.tenant_id, held.audience, held.life) IN (SELECT tenant_id, audience, life FROM arrived)
      AND held.next_place - held.folded_to >= 512;
    RETURN NULL;
END
$$;
CREATE TRIGGER memory_words_arrived AFTER INSERT ON keeps.memory_words
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.fold_arrived();
CREATE TRIGGER memory_words_changed AFTER UPDATE ON keeps.memory_words
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.fold_arrived();

-- Lists go with their audience; an audience of one goes with its user, before the words of each memory would.
CREATE FUNCTION keeps.drop_postings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM postings WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
    DELETE FROM vector_bits WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
    RETURN NULL;
END
$$;

CREATE TRIGGER audience_words_gone AFTER DELETE ON keeps.audience_words FOR EACH ROW
    EXECUTE FUNCTION keeps.drop_postings();
CREATE FUNCTION keeps.drop_audience() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'tenants' THEN
        DELETE FROM audience_words WHERE tenant_id = OLD.tenant_id;
    ELSE
        DELETE FROM audience_words WHERE tenant_id = OLD.tenant_id AND audience = OLD.user_id;
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER users_words_gone BEFORE DELETE ON keeps.users FOR EACH ROW EXECUTE FUNCTION keeps.drop_audience();
CREATE TRIGGER tenants_words_gone BEFORE DELETE ON keeps.tenants FOR EACH ROW EXECUTE FUNCTION keeps.drop_audience();

-- As in the fifth revision, with the words where they are now.
CREATE OR REPLACE FUNCTION keeps.follow_memory() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    new_life text := memory_life(NEW.deleted_at, NEW.superseded_by, NEW.archived_at);
    new_audience text := CASE NEW.visibility WHEN 'tenant' THEN '' ELSE NEW.user_id END;
    finder text := words_audience(NEW.visibility, NEW.deleted_at, NEW.user_id);
    whose text := words_agent(NEW.kind, NEW.agent_id);
BEGIN
    UPDATE memory_words SET life = new_life, audience = finder, agent = whose
    WHERE tenant_id = NEW.tenant_id AND memory_id = NEW.memory_id
      AND (life, audience, agent) <> (new_life, finder, whose);
    IF (NEW.content, NEW.trigger_condition, NEW.metadata ->> 'speaker')
        IS DISTINCT FROM (OLD.content, OLD.trigger_condition, OLD.metadata ->> 'speaker') THEN
        -- The vector means the old text; the writer or the index brings the new one.
        DELETE FROM memory_vectors WHERE tenant_id = NEW.tenant_id AND memory_id = NEW.memory_id;
        INSERT INTO memory_pending (tenant_id, memory_id, user_id) VALUES (NEW.tenant_id, NEW.memory_id, NEW.user_id)
            ON CONFLICT DO NOTHING;
        RETURN NULL;
    END IF;
    UPDATE memory_vectors SET life = new_life, audience = new_audience
    WHERE tenant_id = NEW.tenant_id AND memory_id = NEW.memory_id AND (life, audience) <> (new_life, new_audience);
    RETURN NULL;
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

DROP TABLE keeps.memory_terms;
DROP INDEX keeps.memory_vectors_by_audience;
ALTER TABLE keeps.memory_vectors DROP COLUMN bits;
CREATE INDEX memory_vectors_by_audience ON keeps.memory_vectors (tenant_id, audience, life, model);
REVOKE ALL ON FUNCTION keeps.entry_at(bytea, integer, integer), keeps.forget_words(keeps.memory_words),
    keeps.take_places(text, text, integer, bigint), keeps.fold_words(text, text, text), keeps.follow_words(),
    keeps.fold_arrived(), keeps.drop_postings(), keeps.drop_audience(), keeps.follow_vectors(),
    keeps.add_bits(text, text, text, integer[], uuid[]), keeps.fold_bits(text, text, text, text),
    keeps.forget_bits(text, text, text, integer, text) FROM PUBLIC;
