-- All functions and triggers of Keeps as they are now. Run as keeps_owner, as a whole, after the tables' revisions and
-- before policies.sql, so a revision changes tables only. A change here needs a new revision number.
--
-- Functions that run as their owner (SECURITY DEFINER) see rows by the policies of keeps_owner: of the tenant in
-- app.current_tenant, or, where they name all tenants, ids and counts only. Queries with parameters are PL/pgSQL, whose
-- plans are kept.

-- Bodies may name functions that stand further down.
SET LOCAL check_function_bodies = off;

-- JSON values of working memory.

-- The kind of a JSON value, for messages.
CREATE OR REPLACE FUNCTION keeps.json_kind(item jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE jsonb_typeof(item) WHEN 'array' THEN 'a list' WHEN 'object' THEN 'an object' WHEN 'string' THEN 'text'
                WHEN 'number' THEN 'a number' WHEN 'boolean' THEN 'true or false' ELSE 'null' END;

-- A JSON value with room at a path: missing steps become objects. Raises KT001 that names the place.
CREATE OR REPLACE FUNCTION keeps.json_room(document jsonb, path text[]) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    here jsonb;
BEGIN
    FOR depth IN 0 .. cardinality(path) - 1 LOOP
        here := document #> path[1:depth];
        IF here IS NULL OR here = 'null' THEN
            document := CASE depth WHEN 0 THEN '{}' ELSE jsonb_set(document, path[1:depth], '{}') END;
        ELSIF jsonb_typeof(here) = 'array' THEN
            IF path[depth + 1] !~ '^\d{1,9}$' OR path[depth + 1]::integer >= jsonb_array_length(here) THEN
                RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = format('the list at %s has no item %s',
                    COALESCE(NULLIF(array_to_string(path[1:depth], '.'), ''), 'the key'), path[depth + 1]);
            END IF;
        ELSIF jsonb_typeof(here) <> 'object' THEN
            RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = format('there is %s at %s, which has no %s',
                json_kind(here), COALESCE(NULLIF(array_to_string(path[1:depth], '.'), ''), 'the key'), path[depth + 1]);
        END IF;
    END LOOP;
    RETURN document;
END
$$;

-- A JSON value with one item added to the list at a path.
CREATE OR REPLACE FUNCTION keeps.json_append(document jsonb, path text[], item jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    roomy jsonb := json_room(document, path);
    here jsonb := roomy #> path;
BEGIN
    IF here IS NULL OR here = 'null' THEN
        here := '[]';
    ELSIF jsonb_typeof(here) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = format('there is %s, not a list, to append to',
            json_kind(here));
    END IF;
    here := here || jsonb_build_array(item);
    RETURN CASE cardinality(path) WHEN 0 THEN here ELSE jsonb_set(roomy, path, here) END;
END
$$;

-- A JSON value with several items added to the list at a path, next to each other.
CREATE OR REPLACE FUNCTION keeps.json_extend(document jsonb, path text[], items jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    roomy jsonb := json_room(document, path);
    here jsonb := roomy #> path;
BEGIN
    IF here IS NULL OR here = 'null' THEN
        here := '[]';
    ELSIF jsonb_typeof(here) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = format('there is %s, not a list, to append to',
            json_kind(here));
    END IF;
    here := here || items;
    RETURN CASE cardinality(path) WHEN 0 THEN here ELSE jsonb_set(roomy, path, here) END;
END
$$;

-- A JSON value with some entries of the object at a path set; its others stay.
CREATE OR REPLACE FUNCTION keeps.json_merge(document jsonb, path text[], entries jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    roomy jsonb := json_room(document, path);
    here jsonb := roomy #> path;
BEGIN
    IF here IS NULL OR here = 'null' THEN
        here := '{}';
    ELSIF jsonb_typeof(here) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = format('there is %s, not an object, to set entries of',
            json_kind(here));
    END IF;
    here := here || entries;
    RETURN CASE cardinality(path) WHEN 0 THEN here ELSE jsonb_set(roomy, path, here) END;
END
$$;

-- A JSON value with a number added to the number at a path.
CREATE OR REPLACE FUNCTION keeps.json_add(document jsonb, path text[], delta numeric) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    roomy jsonb := json_room(document, path);
    here jsonb := roomy #> path;
BEGIN
    IF here IS NULL OR here = 'null' THEN
        here := '0';
    ELSIF jsonb_typeof(here) <> 'number' THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = format('there is %s, not a number, to add to',
            json_kind(here));
    END IF;
    here := to_jsonb((here #>> '{}')::numeric + delta);
    IF length(here::text) > 300 THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = 'the number would have more than 300 digits';
    END IF;
    RETURN CASE cardinality(path) WHEN 0 THEN here ELSE jsonb_set(roomy, path, here) END;
END
$$;

-- A JSON value after one operation of working memory.
CREATE OR REPLACE FUNCTION keeps.json_change(document jsonb, path text[], operation text, given jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE operation WHEN 'append' THEN keeps.json_append(document, path, given)
                          WHEN 'extend' THEN keeps.json_extend(document, path, given)
                          WHEN 'merge' THEN keeps.json_merge(document, path, given)
                          WHEN 'increment' THEN keeps.json_add(document, path, (given #>> '{}')::numeric) END;

-- The log: append-only, redacted, retired.

-- Make partitions for this month and the next three. Nobody is granted a partition: reads go by the parent.
CREATE OR REPLACE FUNCTION keeps.make_event_partitions() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    month timestamptz := date_trunc('month', now());
    name text;
    made integer := 0;
BEGIN
    FOR ahead IN 0 .. 3 LOOP
        name := to_char(month, '"events_"YYYY_MM');
        IF to_regclass('keeps.' || name) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('keeps.partitions'));
            BEGIN
                EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF events FOR VALUES FROM (%L) TO (%L) WITH (autovacuum_vacuum_insert_scale_factor = 0.2)',
                               name, month, month + interval '1 month');
                EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
                EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
                made := made + 1;
            EXCEPTION WHEN check_violation THEN
                NULL;  -- events_rest has rows of this month already: they and their like stay there
            END;
        END IF;
        month := month + interval '1 month';
    END LOOP;
    RETURN made;
END
$$;

-- Refuse every change of the log, also to the owner. Only the functions that redact, erase and retire set
-- app.log_change.
CREATE OR REPLACE FUNCTION keeps.refuse_log_change() RETURNS trigger
    LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF COALESCE(current_setting('app.log_change', true), '') = '' OR current_user = 'keeps_app' THEN
        RAISE EXCEPTION USING ERRCODE = 'KE001', MESSAGE = 'the log of events is append-only';
    END IF;
    RETURN COALESCE(NEW, OLD);
END
$$;
CREATE OR REPLACE TRIGGER events_append_only BEFORE UPDATE OR DELETE
    ON keeps.events FOR EACH ROW EXECUTE FUNCTION keeps.refuse_log_change();
CREATE OR REPLACE TRIGGER events_never_truncated BEFORE TRUNCATE
    ON keeps.events FOR EACH STATEMENT EXECUTE FUNCTION keeps.refuse_log_change();

-- The chain: each event carries a hash of its contents, and the hash of the event before it.

-- The hash of what redaction may change of an event. record_send prefixes each value with its type and its length, so
-- no two contents give the same bytes. Texts are bytes here, because the encoding of a text is that of the connection.
CREATE OR REPLACE FUNCTION keeps.contents_hash(salt bytea, subject text, user_id text, agent_id text, visibility text,
    traceparent text, data jsonb) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(record_send(ROW(salt, convert_to(subject, 'UTF8'), convert_to(user_id, 'UTF8'),
        convert_to(agent_id, 'UTF8'), convert_to(visibility, 'UTF8'), convert_to(traceparent, 'UTF8'),
        convert_to(data::text, 'UTF8'))));

-- The hash of an event: what never changes of it, the hash of its contents, and the hash of the event before it.
CREATE OR REPLACE FUNCTION keeps.event_hash(tenant_id text, sequence bigint, event_id uuid, type text, source text,
    "time" timestamptz, recorded_at timestamptz, contents_hash bytea, previous_hash bytea) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(record_send(ROW(convert_to(tenant_id, 'UTF8'), sequence, event_id, convert_to(type, 'UTF8'),
        convert_to(source, 'UTF8'), "time", recorded_at, contents_hash, previous_hash)));

-- What the first event of a chain carries in place of the hash of an event before it. It names the tenant and the last
-- event outside the chain, so a chain cannot be shown to begin later than it does.
CREATE OR REPLACE FUNCTION keeps.chain_start(tenant_id text, sequence bigint) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(record_send(ROW(convert_to(tenant_id, 'UTF8'), sequence)));

-- Begin a statement that appends events after this one, of which it knows the hash: link_event need not look it up.
CREATE OR REPLACE FUNCTION keeps.begin_chain(tenant_id text, sequence bigint, hash bytea) RETURNS text
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    RETURN set_config('app.chain', encode(int8send(sequence) || COALESCE(hash, keeps.chain_start(tenant_id, sequence))
        || uuid_send(gen_random_uuid()), 'hex'), true);

-- Link an event to the one before it. app.chain holds, within a statement, the sequence and hash of the last event, and
-- the random bytes that salts are made of, which nobody can know afterwards. Events that retention keeps are moved with
-- their links.
CREATE OR REPLACE FUNCTION keeps.link_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    state bytea := decode(current_setting('app.chain', true), 'hex');
    after text;
BEGIN
    IF state IS NULL OR state = '' THEN
        IF current_setting('app.log_change', true) = 'retire' AND current_user <> 'keeps_app' THEN
            RETURN NEW;
        END IF;
        state := int8send(NEW.sequence - 1) || COALESCE((SELECT chain_hash FROM keeps.tenants
            WHERE tenant_id = NEW.tenant_id), keeps.chain_start(NEW.tenant_id, NEW.sequence - 1))
            || uuid_send(gen_random_uuid());
    ELSIF substr(state, 1, 8) <> int8send(NEW.sequence - 1) THEN
        RAISE EXCEPTION USING ERRCODE = 'KE002', MESSAGE = format('event %s was not written in its turn', NEW.sequence);
    END IF;
    NEW.previous_hash := substr(state, 9, 32);
    NEW.salt := substr(sha256(substr(state, 41) || int8send(NEW.sequence)), 1, 16);
    NEW.contents_hash := keeps.contents_hash(NEW.salt, NEW.subject, NEW.user_id, NEW.agent_id, NEW.visibility,
        NEW.traceparent, NEW.data);
    -- An assignment is an expression. PERFORM would run a query, which costs more, once for each event.
    after := set_config('app.chain', encode(int8send(NEW.sequence) || keeps.event_hash(NEW.tenant_id, NEW.sequence,
        NEW.event_id, NEW.type, NEW.source, NEW.time, NEW.recorded_at, NEW.contents_hash, NEW.previous_hash)
        || substr(state, 41), 'hex'), true);
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER events_linked BEFORE INSERT ON keeps.events FOR EACH ROW EXECUTE FUNCTION keeps.link_event();

-- Store the head of the chain after a statement. As whoever wrote it: a function of the owner would cost each write
-- more, and the serving role could spoil its chain, but not forge one, in any case.
CREATE OR REPLACE FUNCTION keeps.store_head() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    state text := current_setting('app.chain', true);
    resting boolean;
BEGIN
    IF state <> '' THEN
        UPDATE keeps.tenants SET chain_hash = decode(substr(state, 17, 64), 'hex')
        WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') RETURNING jobs_rest INTO resting;
        state := set_config('app.chain', '', true);
        IF resting THEN
            PERFORM keeps.wake_jobs();
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER events_head_stored AFTER INSERT
    ON keeps.events FOR EACH STATEMENT EXECUTE FUNCTION keeps.store_head();

-- Append an event about the log itself, which belongs to no user, to the log of the current tenant; return its number.
CREATE OR REPLACE FUNCTION keeps.log_about_log(type text, data jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    UPDATE tenants SET last_sequence = last_sequence + 1
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') RETURNING last_sequence INTO number;
    INSERT INTO events (tenant_id, sequence, event_id, type, source, subject, time, user_id, visibility, data)
    SELECT tenant_id, number, gen_random_uuid(), log_about_log.type, 'keeps', '', now(), '', 'private',
        log_about_log.data
    FROM tenants WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '');
    RETURN number;
END
$$;

-- The kind of row that an event carries or removes; NULL for other events.
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
                WHEN type = 'item.written' THEN 'item'
                WHEN type = 'space.written' THEN 'space'
                WHEN type LIKE 'space.member.%' THEN 'space_member' END;

-- Void the answers kept for retries that are about these things, so that a retry is told that they are gone. own:
-- those of the current user only.
CREATE OR REPLACE FUNCTION keeps.void_answers(wanted text[], own boolean) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE idempotency_keys SET answer = '{"gone": true}', about = '{}'
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND about && wanted
      AND (NOT own OR user_id = NULLIF(current_setting('app.current_user', true), ''))
      AND (user_id = current_setting('app.current_user', true) OR NOT starts_with(user_id, '(space) ')
        AND NOT starts_with(COALESCE(current_setting('app.current_user', true), ''), '(space) '));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

-- Take the data out of some events of the current tenant; their order stays. kept: data that may stay; anonymous:
-- remove user and subject, too. Each event of the chain gets a new salt, and an event log.redacted with the hash of
-- what is left, so that contents cannot vanish without a record.
CREATE OR REPLACE FUNCTION keeps.redact_events(sequences bigint[], kept jsonb, anonymous boolean) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    changed bigint := 0;
    here bigint;
    number bigint;
    hashes jsonb;
BEGIN
    FOR beginning IN 1 .. COALESCE(cardinality(sequences), 0) BY 1000 LOOP
        SELECT last_sequence + 1 INTO number FROM tenants WHERE tenant_id = tenant FOR UPDATE;
        PERFORM set_config('app.log_change', 'redact', true);
        WITH redacted AS (
            UPDATE events SET data = jsonb_build_object('redacted', true) || kept,
                agent_id = CASE WHEN anonymous OR type LIKE 'memory.%' THEN NULL ELSE agent_id END,
                user_id = CASE WHEN anonymous THEN '' ELSE user_id END,
                visibility = CASE WHEN anonymous THEN 'private' ELSE visibility END,
                traceparent = CASE WHEN anonymous THEN NULL ELSE traceparent END,
                -- The ids of memories and entities say nothing; other subjects are names.
                subject = CASE WHEN anonymous AND subject !~ '^[0-9a-f-]{36}$' OR type LIKE 'space.member.%' THEN ''
                    ELSE subject END,
                actor_id = CASE WHEN anonymous THEN NULL ELSE actor_id END,
                salt = CASE WHEN contents_hash IS NOT NULL THEN uuid_send(gen_random_uuid()) END,
                redacted_by = CASE WHEN contents_hash IS NOT NULL THEN number END
            WHERE tenant_id = tenant AND sequence = ANY (sequences[beginning : beginning + 999])
            RETURNING *
        )
        SELECT count(*), jsonb_object_agg(sequence, encode(contents_hash(salt, subject, user_id, agent_id, visibility,
            traceparent, data), 'hex')) FILTER (WHERE redacted_by IS NOT NULL) INTO here, hashes FROM redacted;
        PERFORM set_config('app.log_change', '', true);
        changed := changed + here;
        IF hashes IS NOT NULL THEN
            PERFORM log_about_log('log.redacted', jsonb_build_object('events', hashes));
        END IF;
    END LOOP;
    RETURN changed;
END
$$;

-- Redact the events of one memory of the current user, or those with one content, and void the answers about it. The
-- newest event stays where a content is given.
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

-- Redact the working memory of a plan: one key, or all.
CREATE OR REPLACE FUNCTION keeps.redact_plan_events(wanted_plan_id text, wanted_key text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND subject = wanted_plan_id AND type LIKE 'plan.state.%'
      AND (wanted_key IS NULL OR data ->> 'key' = wanted_key) AND NOT data ? 'redacted'
      -- The tenant shares the state of a plan, and the members of a space that of theirs.
      AND CASE WHEN starts_with(current_setting('app.current_user', true), '(space) ')
               THEN user_id = current_setting('app.current_user', true) ELSE NOT starts_with(user_id, '(space) ') END;
    PERFORM void_answers(ARRAY['state:' || wanted_plan_id || COALESCE(chr(31) || wanted_key, '')], false);
    RETURN redact_events(found, jsonb_build_object('plan_id', wanted_plan_id), false);
END
$$;

-- Redact the events of a task context, a plan or a session of the current user.
CREATE OR REPLACE FUNCTION keeps.redact_own_events(wanted_subject text, wanted_types text[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND user_id = wanted AND subject = wanted_subject AND type = ANY (wanted_types)
        AND NOT data ? 'redacted';
    PERFORM void_answers(ARRAY(SELECT DISTINCT CASE WHEN type LIKE 'plan.task.%' THEN 'task:'
        ELSE split_part(type, '.', 1) || ':' END || wanted_subject
                               FROM unnest(wanted_types) AS type), true);
    RETURN redact_events(found, '{}', false);
END
$$;

-- Redact the events about rows of transcripts or items of the current user, and void the answers about them. The
-- order lets only the index by subject answer it: without statistics, others would read every event of the user.
CREATE OR REPLACE FUNCTION keeps.redact_rows(about text[], wanted uuid[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    found bigint[];
BEGIN
    SELECT array_agg(held.sequence) INTO found
    FROM unnest(wanted::text[]) AS gone(subject) CROSS JOIN LATERAL (
        SELECT sequence, user_id, type, data FROM events
        WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
          AND events.subject BETWEEN gone.subject AND gone.subject
        ORDER BY events.subject, sequence OFFSET 0) AS held
    WHERE held.user_id = NULLIF(current_setting('app.current_user', true), '')
      AND held.type IN ('transcript.written', 'item.written') AND NOT held.data ? 'redacted';
    PERFORM void_answers(about, true);
    RETURN redact_events(found, '{}', false);
END
$$;

-- Redact the events of entities and relations of the current user, and their names in the events of entities that
-- took them in.
CREATE OR REPLACE FUNCTION keeps.redact_graph_events(wanted uuid[]) RETURNS bigint
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
    PERFORM void_answers(wanted::text[], true);
    RETURN redact_events(found, '{}', false);
END
$$;

-- Append the events for others' edges and mentions that go by foreign key with entities and memories. Returns how
-- many.
CREATE OR REPLACE FUNCTION keeps.log_cascade(gone_entities uuid[], gone_memories uuid[]) RETURNS bigint
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

-- The number of the last event of some tenants, for subscribers.
CREATE OR REPLACE FUNCTION keeps.last_sequences(wanted text[]) RETURNS TABLE (tenant_id text, last_sequence bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT tenants.tenant_id, tenants.last_sequence FROM tenants WHERE tenants.tenant_id = ANY (wanted);
END
$$;

-- The owners of the events after a number, so that each event is read as its user.
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

-- Record in the log of a tenant which events retention removed, and what it kept of them: events kept from before the
-- last removed one are no chain any more, so the record holds a hash over theirs.
CREATE OR REPLACE FUNCTION keeps.record_retention(wanted text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    asking text := current_setting('app.current_tenant', true);
BEGIN
    PERFORM set_config('app.current_tenant', wanted, true);
    PERFORM log_about_log('log.retired', jsonb_build_object('through', retired_sequence, 'kept', encode(sha256(COALESCE((
        SELECT string_agg(event_hash(events.tenant_id, sequence, event_id, type, source, time, recorded_at,
            contents_hash, previous_hash), '' ORDER BY sequence)
        FROM events WHERE events.tenant_id = wanted AND sequence <= retired_sequence AND previous_hash IS NOT NULL),
        '')), 'hex')))
    FROM tenants WHERE tenants.tenant_id = wanted;
    PERFORM set_config('app.current_tenant', COALESCE(asking, ''), true);
END
$$;

-- Remove events recorded before a time, of all tenants, except those that replay needs; these move to events_rest.
CREATE OR REPLACE FUNCTION keeps.retire_events(before timestamptz) RETURNS TABLE (removed bigint, kept bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    part record;
    month timestamptz;
    here bigint;
    shortened text[];
BEGIN
    IF before > now() - interval '30 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001',
            MESSAGE = 'events of the last 30 days stay: forgotten memories can be restored so long';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('keeps.partitions')), set_config('app.log_change', 'retire', true);
    -- Of a frozen tenant they are removed when it is thawed.
    UPDATE keeps_cells.frozen SET retire_before = GREATEST(retire_before, before) WHERE state <> 'thawed';
    CREATE TEMP TABLE needed ON COMMIT DROP AS
    SELECT held.* FROM events AS held
    WHERE held.recorded_at < before
      AND ((event_noun(held.type, held.data) IS NOT NULL
          AND held.type NOT IN ('memory.erased', 'session.deleted', 'plan.deleted', 'plan.task.deleted')
            AND NOT EXISTS (SELECT FROM events AS later
                            WHERE later.tenant_id = held.tenant_id AND later.subject = held.subject
                                AND later.user_id = held.user_id
                              AND later.sequence > held.sequence AND event_noun(later.type,
                                  later.data) = event_noun(held.type, held.data)))
           OR (held.type = 'plan.state.written' AND held.data ? 'key'
               AND NOT EXISTS (SELECT FROM events AS later
                               WHERE later.tenant_id = held.tenant_id AND later.subject = held.subject
                                   AND later.sequence > held.sequence
                                 AND later.data ->> 'key' = held.data ->> 'key'
                                 AND (later.type = 'plan.state.deleted' OR later.data ->> 'operation' = 'set'))));
    -- What was redacted stays provable as long as it stays.
    INSERT INTO needed SELECT held.* FROM events AS held
    WHERE held.recorded_at < before AND held.type = 'log.redacted'
      AND EXISTS (SELECT FROM needed WHERE needed.tenant_id = held.tenant_id AND needed.redacted_by = held.sequence);
    SELECT count(*) INTO kept FROM needed;
    WITH changed AS (
        UPDATE tenants SET retired_sequence = GREATEST(retired_sequence, gone.sequence),
            retired_until = GREATEST(retired_until, gone.until), retired_count = retired_count + gone.events
        FROM (SELECT events.tenant_id, max(events.sequence) AS sequence, max(events.time) AS until,
                  count(*) AS events
              FROM events
              WHERE recorded_at < before AND NOT EXISTS (SELECT FROM needed WHERE needed.tenant_id = events.tenant_id
                  AND needed.sequence = events.sequence)
              GROUP BY events.tenant_id) AS gone
        WHERE tenants.tenant_id = gone.tenant_id
        RETURNING tenants.tenant_id, chain_hash
    )
    SELECT array_agg(tenant_id ORDER BY tenant_id) INTO shortened FROM changed WHERE chain_hash IS NOT NULL;
    removed := 0;
    FOR part IN SELECT inhrelid::regclass::text AS name, relname FROM pg_inherits JOIN pg_class
        ON pg_class.oid = inhrelid
                WHERE inhparent = 'keeps.events'::regclass AND relname ~ '^events_\d{4}_\d{2}$'
                  AND to_timestamp(substr(relname, 8), 'YYYY_MM') + interval '1 month' <= before LOOP
        month := to_timestamp(substr(part.relname, 8), 'YYYY_MM');
        SELECT count(*) INTO here FROM events WHERE recorded_at >= month AND recorded_at < month + interval '1 month';
        removed := removed + here;
        EXECUTE format('DROP TABLE %s', part.name);
        INSERT INTO events SELECT needed.* FROM needed WHERE date_trunc('month', needed.recorded_at) = month;
        GET DIAGNOSTICS here = ROW_COUNT;
        removed := removed - here;
    END LOOP;
    DELETE FROM events WHERE recorded_at < before
        AND NOT EXISTS (SELECT FROM needed WHERE needed.tenant_id = events.tenant_id
            AND needed.sequence = events.sequence);
    GET DIAGNOSTICS here = ROW_COUNT;
    removed := removed + here;
    PERFORM set_config('app.log_change', '', true);
    DROP TABLE needed;
    PERFORM record_retention(each) FROM unnest(shortened) AS each;
    RETURN NEXT;
END
$$;

-- Replay and verification.

-- The rows of one kind in the current tenant as its events up to a time tell them.
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

-- The id of a plan as working memory stores it: in a space after the owner of the space. Ids of plans outside of spaces
-- never begin so.
CREATE OR REPLACE FUNCTION keeps.state_plan(owner text, plan text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(owner, '(space) ') THEN owner || chr(31) || plan ELSE plan END;

-- The id of a plan from the id that working memory stores.
CREATE OR REPLACE FUNCTION keeps.state_plan_name(owner text, stored text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(owner, '(space) ') THEN substr(stored, char_length(owner) + 2) ELSE stored END;

-- A key of working memory after one more event.
CREATE OR REPLACE FUNCTION keeps.working_step(held keeps.working_memory,
    event keeps.events) RETURNS keeps.working_memory
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    over boolean := COALESCE(held.expires_at <= event.time, false);
    path text[] := ARRAY(SELECT jsonb_array_elements_text(event.data -> 'path'));
    given jsonb := COALESCE(event.data -> 'item', event.data -> 'items', event.data -> 'entries',
        event.data -> 'delta');
BEGIN
    IF event.type = 'plan.state.deleted' THEN
        RETURN NULL;
    END IF;
    held.created_at := COALESCE((event.data ->> 'created_at')::timestamptz, held.created_at, event.time);
    held.tenant_id := event.tenant_id;
    held.plan_id := state_plan(event.user_id, event.subject);
    held.key := event.data ->> 'key';
    held.user_id := event.user_id;
    held.version := (event.data ->> 'version')::integer;
    held.updated_at := event.time;
    held.workflow := COALESCE((event.data ->> 'workflow')::boolean, false);
    IF event.data ->> 'operation' = 'set' THEN
        held.value := event.data -> 'value';
        held.expires_at := (event.data ->> 'expires_at')::timestamptz;
    ELSE
        held.value := json_change(CASE WHEN over THEN NULL
            ELSE held.value END, path, event.data ->> 'operation', given);
        held.expires_at := CASE WHEN over THEN NULL ELSE held.expires_at END;
    END IF;
    RETURN held;
END
$$;

-- Fold the events of a key of working memory.
CREATE OR REPLACE AGGREGATE keeps.working_after(keeps.events) (SFUNC = keeps.working_step, STYPE = keeps.working_memory);

-- Working memory as the events up to a time tell it.
CREATE OR REPLACE FUNCTION keeps.replay_working_memory(until timestamptz) RETURNS SETOF keeps.working_memory
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT (folded.held).*
    FROM (SELECT working_after(events ORDER BY sequence) AS held FROM events
          WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND type LIKE 'plan.state.%'
              AND data ? 'key' AND time <= until
          GROUP BY subject, data ->> 'key', CASE WHEN starts_with(user_id, '(space) ') THEN user_id END) AS folded
    WHERE (folded.held).key IS NOT NULL;
END
$$;

-- Relations as the events tell them, without those whose entity is erased.
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

-- Mentions that users made as the events tell them, without those whose entity or memory is erased.
CREATE OR REPLACE FUNCTION keeps.replay_mentions(until timestamptz) RETURNS SETOF keeps.mentions
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT filled.* FROM replay_rows('mention', until) AS image CROSS
        JOIN LATERAL jsonb_populate_record(NULL::mentions, image) AS filled
    WHERE image ->> 'entity_id' IN (SELECT entity ->> 'entity_id' FROM replay_rows('entity', until) AS entity)
      AND image ->> 'memory_id' IN (SELECT memory ->> 'memory_id' FROM replay_rows('memory', until) AS memory);
END
$$;

-- Entities as the events tell them.
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

-- The passages of documents as the events tell them, without those whose memory is erased.
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

-- The tables that replay rebuilds: their keys, the query that rebuilds them from events up to $1, and the condition
-- of the live rows to compare.
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
                 ('items', '{user_id,namespace,key}', 'item'), ('spaces', '{space_id}', 'space'),
                 ('space_members', '{space_id,member_type,member_id}', 'space_member')) AS part(name, key, noun)
    UNION ALL
    VALUES ('working_memory', '{plan_id,key}'::text[], 'SELECT * FROM keeps.replay_working_memory($1)', 'true'),
           ('entities', '{entity_id}', 'SELECT * FROM keeps.replay_entities($1)', 'true'),
           ('relations', '{relation_id}', 'SELECT * FROM keeps.replay_edges($1)', 'true'),
           ('mentions', '{memory_id,entity_id}', 'SELECT * FROM keeps.replay_mentions($1)', 'source = ''user'''),
           ('document_passages', '{document_id,position}', 'SELECT * FROM keeps.replay_passages($1)', 'true')
$$;

-- Rows of the current tenant that differ from what its events tell: ids and column names only.
CREATE OR REPLACE FUNCTION keeps.replay_differences(at_most integer) RETURNS TABLE (table_name text, compared bigint,
    row_key jsonb, problem text, columns text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    part record;
    keys text;
BEGIN
    FOR part IN SELECT * FROM replayed_tables() LOOP
        keys := (SELECT string_agg(format('live.%1$I = told.%1$I', each), ' AND ') FROM unnest(part.key) AS each);
        RETURN QUERY EXECUTE format($query$
            WITH both_sides AS MATERIALIZED (
                SELECT live, told FROM (SELECT * FROM %1$I
                    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND %7$s) AS live
                FULL JOIN (%2$s) AS told ON %3$s
            )
            SELECT %4$L::text, (SELECT count(*) FROM both_sides), NULL::jsonb, NULL::text, NULL::text[]
            UNION ALL
            (SELECT %4$L, NULL, (SELECT jsonb_object_agg(each, to_jsonb(COALESCE(live, told)) -> each)
                FROM unnest(%5$L::text[]) AS each),
                    CASE WHEN live IS NULL THEN 'told by events, but not stored' WHEN told IS NULL
                        THEN 'stored, but told by no event' ELSE 'differs' END,
                    ARRAY(SELECT one.key FROM jsonb_each(to_jsonb(live)) AS one
                        WHERE to_jsonb(told) -> one.key IS DISTINCT FROM one.value ORDER BY 1)
             FROM both_sides WHERE (live IS NULL) OR (told IS NULL) OR live *<> told
             LIMIT %6$s)$query$, part.name, part.source, keys, part.name, part.key, at_most, part.live)
                 USING 'infinity'::timestamptz;
    END LOOP;
END
$$;

-- How many rows of each table the events of the current tenant tell.
CREATE OR REPLACE FUNCTION keeps.replay_counts(until timestamptz) RETURNS TABLE (table_name text, told bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT * FROM replayed_tables() LOOP
        RETURN QUERY EXECUTE format('SELECT %L::text, count(*) FROM (%s) AS told', part.name, part.source) USING until;
    END LOOP;
END
$$;

-- Rebuild the tables of a tenant in a new schema from events alone. For PostgreSQL's administrator.
CREATE OR REPLACE FUNCTION keeps.replay_into(target text, tenant text, until timestamptz) RETURNS TABLE (table_name text,
    told bigint)
    LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
DECLARE
    part record;
BEGIN
    PERFORM set_config('app.current_tenant', tenant, true);
    EXECUTE format('CREATE SCHEMA %I', target);
    FOR part IN SELECT * FROM replayed_tables() LOOP
        EXECUTE format('CREATE TABLE %I.%I (LIKE keeps.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS)',
            target, part.name, part.name);
        EXECUTE format('INSERT INTO %I.%I %s', target, part.name, part.source) USING until;
        GET DIAGNOSTICS told = ROW_COUNT;
        table_name := part.name;
        RETURN NEXT;
    END LOOP;
END
$$;

-- The first 32 bytes of the hash of a memory, as keeps.memories.types computes it: without its moment, and with it;
-- of its words as they are, as releases up to 0.2 did, and in the form by which they are known again.
CREATE OR REPLACE FUNCTION keeps.words_hashes(held keeps.memories) RETURNS bytea[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
    SELECT array_agg(sha256(convert_to('[' || array_to_string(CASE
        WHEN held.layer = 'knowledge' THEN ARRAY['"passage"', to_json(held.visibility)::text,
                                                 to_json(held.content)::text]
        ELSE ARRAY[to_json(held.kind)::text, COALESCE(to_json(held.namespace)::text, 'null'),
                   to_json(form.said)::text]
          || CASE WHEN held.kind = 'semantic' THEN '{}'::text[]
             ELSE ARRAY[COALESCE(to_json(held.agent_id)::text, 'null'), COALESCE(to_json(held.role)::text, 'null'),
                        COALESCE(to_json(held.trigger_condition)::text, 'null'),
                        COALESCE(to_json(held.procedure_type)::text, 'null')] END
          || CASE WHEN held.kind <> 'episodic' THEN '{}'::text[]
             ELSE ARRAY[COALESCE(to_json(held.session_id)::text, 'null'),
                        COALESCE((held.metadata -> 'speaker')::text, 'null'), moment.said] END
        END, ', ') || ']', 'UTF8')))
    FROM (VALUES ('null'), ('"' || replace(to_char(held.valid_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
        '.000000', '') || '+00:00"')) AS moment(said)
    CROSS JOIN (VALUES (held.content), (btrim(regexp_replace(normalize(held.content, NFC),
        E'[\t\u000b\u000c\r\u001c-\u001f \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g'),
        E' \n'))) AS form(said)
$$;

-- Gaps in the log of the current tenant, and memories whose content does not give their hash: numbers and ids only.
CREATE OR REPLACE FUNCTION keeps.log_differences(at_most integer) RETURNS TABLE (table_name text, row_key jsonb, problem text,
    columns text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY WITH tenant AS MATERIALIZED (
        SELECT tenant_id, retired_sequence, last_sequence FROM tenants
        WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
    ), numbered AS (
        SELECT sequence, lag(sequence, 1, retired_sequence) OVER (ORDER BY sequence) AS previous
        FROM (SELECT events.sequence, tenant.retired_sequence FROM events JOIN tenant USING (tenant_id)
              WHERE events.sequence > tenant.retired_sequence
              UNION ALL SELECT last_sequence + 1, retired_sequence FROM tenant
              WHERE NOT EXISTS (SELECT FROM events WHERE events.tenant_id = tenant.tenant_id
                                  AND events.sequence > tenant.last_sequence)) AS each
    )
    (SELECT 'events', jsonb_build_object('sequence', previous + 1, 'to', sequence - 1), 'missing from the log',
            '{}'::text[]
     FROM numbered WHERE sequence > previous + 1 ORDER BY sequence LIMIT at_most)
    UNION ALL
    (SELECT 'events', jsonb_build_object('sequence', events.sequence), 'numbered after the last of the log', '{}'
     FROM events JOIN tenant USING (tenant_id) WHERE events.sequence > tenant.last_sequence
     ORDER BY events.sequence LIMIT at_most)
    UNION ALL
    -- A memory keeps the hash of what was first said, while its speaker or its trigger may be corrected. So a hash is
    -- right, too, if an event with the same words gives it. Where retention removed that event nothing can be said.
    (SELECT 'memories', jsonb_build_object('memory_id', held.memory_id), 'the content does not give its hash',
            '{content_hash}'
     FROM memories AS held JOIN tenant USING (tenant_id)
     WHERE substr(held.content_hash, 1, 32) <> ALL (words_hashes(held))
       AND COALESCE(jsonb_typeof(held.metadata -> 'speaker'), 'null') IN ('null', 'string')
       -- Earlier releases gave some of these the hash of another kind.
       AND (held.key IS NULL OR held.kind = 'semantic' OR held.version = 1)
       AND EXISTS (SELECT FROM events WHERE events.tenant_id = held.tenant_id AND subject = held.memory_id::text
                     AND data #>> '{memory,version}' = '1')
       AND NOT EXISTS (
           SELECT FROM events CROSS JOIN LATERAL jsonb_populate_record(NULL::memories, data -> 'memory') AS said
           WHERE events.tenant_id = held.tenant_id AND subject = held.memory_id::text AND data ? 'memory'
             AND said.content = held.content AND substr(held.content_hash, 1, 32) = ANY (words_hashes(said)))
     LIMIT at_most);
END
$$;

-- The chain of the current tenant after a number. starts: its first event · state: open (before the chain), whole,
-- changed, redacted, or hidden (redacted without a record). Contents only of events that belong to no user: about the
-- log, and of erased users.
CREATE OR REPLACE FUNCTION keeps.chain_events(after bigint, at_most integer) RETURNS TABLE (sequence bigint,
    event_id uuid, type text, source text, "time" timestamptz, recorded_at timestamptz, contents_hash bytea,
    previous_hash bytea, hash bytea, starts boolean, state text, user_id text, salt bytea, subject text, agent_id text, visibility text,
    traceparent text, data text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    RETURN QUERY
    SELECT held.sequence, held.event_id, held.type, held.source, held.time, held.recorded_at, held.contents_hash,
        held.previous_hash, event_hash(held.tenant_id, held.sequence, held.event_id, held.type, held.source, held.time,
            held.recorded_at, held.contents_hash, held.previous_hash),
        COALESCE(held.previous_hash = chain_start(tenant, held.sequence - 1), false),
        CASE WHEN held.previous_hash IS NULL THEN 'open'
             WHEN held.redacted_by IS NULL THEN
                 CASE WHEN held.contents_hash = said.hash THEN 'whole' ELSE 'changed' END
             WHEN EXISTS (SELECT FROM events AS record WHERE record.tenant_id = tenant
                 AND record.sequence = held.redacted_by AND record.sequence > held.sequence
                 AND record.type = 'log.redacted'
                 AND record.data #>> ARRAY['events', held.sequence::text] = encode(said.hash, 'hex')) THEN 'redacted'
             ELSE 'hidden' END,
        held.user_id, free.salt, free.subject, free.agent_id, free.visibility, free.traceparent, free.data::text
    FROM (SELECT * FROM events WHERE events.tenant_id = tenant AND events.sequence > after
          ORDER BY events.sequence LIMIT at_most) AS held
    CROSS JOIN LATERAL contents_hash(held.salt, held.subject, held.user_id, held.agent_id, held.visibility,
        held.traceparent, held.data) AS said(hash)
    LEFT JOIN LATERAL (SELECT held.* WHERE held.user_id = '') AS free ON true
    ORDER BY held.sequence;
END
$$;

-- Erasure and receipts.

-- How many rows of each table the current tenant has, or one user of it: for receipts of erasure.
CREATE OR REPLACE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'memory_words', 'memory_vectors', 'sessions', 'plans',
        'plan_correlations', 'task_contexts', 'task_subtasks', 'working_memory', 'entities', 'entity_names',
        'relations', 'mentions', 'memory_readings', 'documents', 'document_passages', 'query_audit', 'requests', 'transcripts',
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
    name := 'space_members';
    SELECT count(*) INTO held FROM space_members
    WHERE tenant_id = tenant AND (wanted_user_id IS NULL OR member_type = 'user' AND member_id = wanted_user_id
        OR '(space) ' || space_id = wanted_user_id);
    RETURN NEXT;
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

-- Hand the keys of working memory that the current user wrote last, and others wrote before, to the last of those
-- others.
CREATE OR REPLACE FUNCTION keeps.leave_shared_state() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
BEGIN
    -- The last writer that stays. Events of a key that was removed since do not name it any more.
    UPDATE working_memory AS held SET user_id = other.user_id
    FROM (SELECT DISTINCT ON (writing.subject, writing.data ->> 'key') writing.subject AS plan_id,
                 writing.data ->> 'key' AS key, writing.user_id
          FROM events AS writing
          WHERE writing.tenant_id = tenant AND writing.type = 'plan.state.written' AND writing.data ? 'key'
              AND writing.user_id <> wanted AND NOT starts_with(writing.user_id, '(space) ')
              AND EXISTS (SELECT FROM users WHERE users.tenant_id = tenant AND users.user_id = writing.user_id)
          ORDER BY writing.subject, writing.data ->> 'key', writing.sequence DESC) AS other
    WHERE held.tenant_id = tenant AND held.user_id = wanted AND held.plan_id = other.plan_id AND held.key = other.key;
END
$$;

-- Erase the current user: rows, keys, and the data, owner and subject of every event.
CREATE OR REPLACE FUNCTION keeps.erase_user() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
    found bigint[];
    shared working_memory;
BEGIN
    PERFORM leave_shared_state();
    -- What they wrote alone into the working memory of plans goes from the log, too.
    PERFORM redact_plan_events(state_plan_name(user_id, plan_id), key) FROM working_memory WHERE tenant_id = tenant AND user_id = wanted;
    -- A key that others wrote is theirs by now. It is said once more as a whole, so that the log without the erased
    -- user's parts still gives it.
    FOR shared IN
        SELECT DISTINCT held.* FROM working_memory AS held
        JOIN events ON events.tenant_id = tenant AND events.subject = held.plan_id
            AND events.type = 'plan.state.written'
                   AND events.data ->> 'key' = held.key AND events.user_id = wanted
        WHERE held.tenant_id = tenant AND held.user_id <> wanted AND NOT starts_with(wanted, '(space) ')
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
               || CASE WHEN shared.workflow THEN '{"workflow": true}'::jsonb ELSE '{}'::jsonb END
        FROM counter;
    END LOOP;
    PERFORM log_cascade(ARRAY(SELECT entity_id FROM entities WHERE tenant_id = tenant AND user_id = wanted),
                        ARRAY(SELECT memory_id FROM memories WHERE tenant_id = tenant AND user_id = wanted));
    -- The user leaves all spaces: what was written there stays, without the name.
    DELETE FROM space_members WHERE tenant_id = tenant AND member_type = 'user' AND member_id = wanted;
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND type LIKE 'space.member.%'
      AND substr(subject, strpos(subject, '/') + 1) = 'user/' || wanted;
    PERFORM redact_events(found, '{}', false);
    PERFORM set_config('app.log_change', 'redact', true);
    UPDATE events SET actor_id = NULL WHERE tenant_id = tenant AND actor_id = wanted;
    PERFORM set_config('app.log_change', '', true);
    DELETE FROM api_keys WHERE tenant_id = tenant AND user_id = wanted;
    UPDATE api_keys SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    UPDATE webhooks SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    PERFORM set_config('app.erasing', 'user', true);
    DELETE FROM users WHERE tenant_id = tenant AND user_id = wanted;
    PERFORM set_config('app.erasing', '', true);
    SELECT array_agg(sequence) INTO found FROM events WHERE tenant_id = tenant AND user_id = wanted;
    RETURN redact_events(found, '{}', true);
END
$$;

-- Remove the log of a removed tenant, so that a later tenant of the same name has none of its events.
CREATE OR REPLACE FUNCTION keeps.drop_log() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM events WHERE tenant_id = OLD.tenant_id;
    IF EXISTS (SELECT FROM events WHERE tenant_id = OLD.tenant_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'KE001', MESSAGE = 'the log of events is append-only';
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER tenants_log_follow AFTER DELETE
    ON keeps.tenants FOR EACH ROW EXECUTE FUNCTION keeps.drop_log();

-- Erase the current tenant with its log.
CREATE OR REPLACE FUNCTION keeps.erase_tenant() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    PERFORM set_config('app.log_change', 'erase', true);
    DELETE FROM tenants WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '');
    PERFORM set_config('app.log_change', '', true);
END
$$;

-- Forget who undid an operation when that user is erased.
CREATE OR REPLACE FUNCTION keeps.forget_undoer() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    UPDATE operations SET undone_by = '' WHERE tenant_id = OLD.tenant_id AND undone_by = OLD.user_id;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER users_undone_follow AFTER DELETE ON keeps.users FOR EACH ROW EXECUTE FUNCTION keeps.forget_undoer();

-- Spaces.

-- The spaces that the acting user or the bound agent has at least a role in, as the owners of their rows. In a
-- transaction of one space only that one. The engine acts as the space itself. Only a curator can write in an archived
-- space, to open it again.
CREATE OR REPLACE FUNCTION keeps.open_spaces(least_role text) RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    owner text := COALESCE(current_setting('app.current_user', true), '');
    acting text := COALESCE(current_setting('app.acting_user', true), '');
    bound text := NULLIF(current_setting('app.bound_agent', true), '');
    limits jsonb := NULLIF(current_setting('app.grant', true), '');
BEGIN
    IF starts_with(acting, '(space) ') THEN
        RETURN CASE WHEN acting = owner THEN ARRAY[owner] ELSE '{}' END;
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT spaces.user_id COLLATE "C" FROM (
            -- An agent of a user may do what its user may, but for managing the space.
            SELECT space_id, CASE WHEN bound IS NOT NULL AND role = 'curator' THEN 'writer' ELSE role END AS role,
                expires_at
            FROM space_members
            WHERE tenant_id = tenant AND member_type = 'user' AND member_id = acting
            UNION ALL
            SELECT space_id, role, expires_at FROM space_members
            WHERE tenant_id = tenant AND member_type = 'agent' AND member_id = bound) AS membership
        JOIN spaces ON spaces.tenant_id = tenant AND spaces.space_id = membership.space_id
        WHERE (expires_at IS NULL OR expires_at > now())
          AND CASE least_role WHEN 'reader' THEN true
              WHEN 'writer' THEN role = 'curator' OR role = 'writer' AND archived_at IS NULL ELSE role = 'curator' END
          AND (NOT starts_with(owner, '(space) ') OR spaces.user_id = owner)
          AND (limits IS NULL OR NOT limits ? 'spaces' OR limits -> 'spaces' ? spaces.space_id)
        ORDER BY 1);
END
$$;

-- Whether the acting user has at least a role in the space that the transaction belongs to.
CREATE OR REPLACE FUNCTION keeps.acts_in_space(least_role text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN current_setting('app.current_user', true) = ANY (open_spaces(least_role));
END
$$;

-- What a limited key or token may do: 'write' something, 'change' what is stored, 'read', see what is shared with the
-- 'tenant', or use 'all' nouns and not memories alone.
CREATE OR REPLACE FUNCTION keeps.grant_allows(what text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    limits jsonb := NULLIF(current_setting('app.grant', true), '');
BEGIN
    RETURN limits IS NULL OR CASE what
        WHEN 'write' THEN limits ->> 'access' IS DISTINCT FROM 'read'
        WHEN 'change' THEN limits ->> 'access' IS NULL
        WHEN 'read' THEN limits ->> 'access' IS DISTINCT FROM 'append'
        WHEN 'tenant' THEN NOT limits ? 'spaces'
        ELSE NOT limits ?| ARRAY['kinds', 'namespaces'] AND limits ->> 'access' IS DISTINCT FROM 'append' END;
END
$$;

-- Whether a limited key or token may see or write a memory of this kind and namespace. One that may only add sees what its
-- transaction stores.
CREATE OR REPLACE FUNCTION keeps.grant_covers(kind text, namespace text, memory_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    limits jsonb := NULLIF(current_setting('app.grant', true), '');
BEGIN
    RETURN limits IS NULL OR (
        (NOT limits ? 'kinds' OR COALESCE(limits -> 'kinds' ? kind, false))
        AND (NOT limits ? 'namespaces' OR COALESCE(limits -> 'namespaces' ? namespace, false))
        AND (limits ->> 'access' IS DISTINCT FROM 'append'
             OR memory_id = ANY (string_to_array(current_setting('app.appending', true), ','))));
END
$$;

-- Make a space with its owner and the current user as its first curator. False if there is one of this id.
CREATE OR REPLACE FUNCTION keeps.make_space(new_space_id text, new_title text, moment timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    maker text := NULLIF(current_setting('app.current_user', true), '');
BEGIN
    IF NOT grant_allows('all') OR NOT grant_allows('change') OR starts_with(maker, '(space) ') THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001', MESSAGE = 'these credentials cannot create spaces';
    END IF;
    INSERT INTO users (tenant_id, user_id) VALUES (tenant, '(space) ' || new_space_id) ON CONFLICT DO NOTHING;
    INSERT INTO spaces (tenant_id, space_id, user_id, title, created_at)
    VALUES (tenant, new_space_id, '(space) ' || new_space_id, new_title, moment) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO space_members (tenant_id, space_id, member_type, member_id, role, added_at)
    VALUES (tenant, new_space_id, 'user', maker, 'curator', moment);
    RETURN true;
END
$$;

-- The spaces of the current tenant by id, for its administrators: no contents.
CREATE OR REPLACE FUNCTION keeps.list_spaces(after text, at_most integer) RETURNS TABLE (space_id text, tenant_id text,
    title text, created_at timestamptz, archived_at timestamptz, members bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT spaces.space_id, spaces.tenant_id, spaces.title, spaces.created_at, spaces.archived_at,
        (SELECT count(*) FROM space_members AS held
         WHERE held.tenant_id = spaces.tenant_id AND held.space_id = spaces.space_id)
    FROM spaces
    WHERE spaces.tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND spaces.space_id > after
    ORDER BY spaces.space_id LIMIT at_most;
END
$$;

-- Rows that follow others.

-- The stage of a memory's life, as MemoryRow.life computes it.
CREATE OR REPLACE FUNCTION keeps.memory_life(deleted_at timestamptz, superseded_by uuid, archived_at timestamptz) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN deleted_at IS NOT NULL THEN 'deleted'
                WHEN superseded_by IS NOT NULL THEN 'superseded'
                WHEN archived_at IS NOT NULL THEN 'archived'
                ELSE 'current' END;

-- How far a memory is trusted, as keeps.base.text.trust computes it: 0 the user, 1 their agents, 2 other users, 3 a
-- document, 4 a tool or page. For the memories of others, see keeps.memory.recall.conditions.
CREATE OR REPLACE FUNCTION keeps.memory_trust(layer text, role text, source text, metadata jsonb) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN layer = 'knowledge' THEN 3
                WHEN role = 'tool'
                    OR ltrim(source, E' \t\n\r\f\v') ~* '^(tool|web|page|e?mail|mcp|file|ftp|https?)[ \t\n\r\f\v]{0,5}:' THEN 4
                WHEN jsonb_typeof(metadata -> 'trust') IS NULL OR jsonb_typeof(metadata -> 'trust') = 'null'
                    OR metadata -> 'trust' <@ '["user", "agent", "own", "high"]' AND jsonb_typeof(metadata -> 'trust') = 'string'
                    THEN CASE WHEN metadata ->> 'trust' = 'agent' OR role IN ('assistant', 'system') THEN 1 ELSE 0 END
                WHEN metadata -> 'trust' = '"document"' THEN 3
                WHEN metadata -> 'trust' = '"shared"' THEN 2
                ELSE 4 END;

-- Keep the words and vectors of a memory in step with it. As the owner, since keeps_app reads words only by list.
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
    IF OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL
        AND NOT EXISTS (SELECT FROM memory_vectors WHERE tenant_id = NEW.tenant_id AND memory_id = NEW.memory_id) THEN
        -- It was forgotten, or held back, before it had a vector.
        INSERT INTO memory_pending (tenant_id, memory_id, user_id) VALUES (NEW.tenant_id, NEW.memory_id, NEW.user_id)
            ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER memories_derived_follow AFTER UPDATE ON keeps.memories FOR EACH ROW
    WHEN (OLD IS DISTINCT FROM NEW) EXECUTE FUNCTION keeps.follow_memory();

-- Keep the correlation ids of a plan in step with it; writes only what changed.
CREATE OR REPLACE FUNCTION keeps.follow_plan() RETURNS trigger LANGUAGE plpgsql
    SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM plan_correlations WHERE tenant_id = NEW.tenant_id AND user_id = NEW.user_id AND plan_id = NEW.plan_id
        AND NOT correlation_id = ANY (NEW.correlation_ids);
    INSERT INTO plan_correlations (tenant_id, user_id, correlation_id, plan_id)
    SELECT DISTINCT NEW.tenant_id, NEW.user_id, wanted, NEW.plan_id FROM unnest(NEW.correlation_ids) AS wanted
    WHERE TG_OP = 'INSERT' OR NOT wanted = ANY (OLD.correlation_ids);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER plans_correlations_follow_insert AFTER INSERT ON keeps.plans FOR EACH ROW
    WHEN (NEW.correlation_ids <> '{}') EXECUTE FUNCTION keeps.follow_plan();
CREATE OR REPLACE TRIGGER plans_correlations_follow_update AFTER UPDATE ON keeps.plans FOR EACH ROW
    WHEN (OLD.correlation_ids IS DISTINCT FROM NEW.correlation_ids) EXECUTE FUNCTION keeps.follow_plan();

-- Keep the sub-tasks of a task context in step with it; writes only what changed.
CREATE OR REPLACE FUNCTION keeps.follow_task() RETURNS trigger LANGUAGE plpgsql
    SET search_path = keeps, public, pg_temp AS $$
DECLARE
    before text[] := '{}';
    after text[] := ARRAY(SELECT DISTINCT COALESCE(item ->> 'sub_task_id', item #>> '{}')
        FROM jsonb_array_elements(NEW.sub_tasks) AS item);
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := ARRAY(SELECT DISTINCT COALESCE(item ->> 'sub_task_id', item #>> '{}')
            FROM jsonb_array_elements(OLD.sub_tasks) AS item);
    END IF;
    IF before <> after THEN
        DELETE FROM task_subtasks WHERE tenant_id = NEW.tenant_id AND user_id = NEW.user_id AND task_id = NEW.task_id
            AND sub_task_id IN (SELECT unnest(before) EXCEPT SELECT unnest(after));
        INSERT INTO task_subtasks (tenant_id, user_id, sub_task_id, task_id)
        SELECT NEW.tenant_id, NEW.user_id, wanted, NEW.task_id FROM (SELECT unnest(after) EXCEPT
            SELECT unnest(before)) AS new_ones(wanted);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER task_contexts_subtasks_follow_insert AFTER INSERT ON keeps.task_contexts FOR EACH ROW
    WHEN (NEW.sub_tasks <> '[]') EXECUTE FUNCTION keeps.follow_task();
CREATE OR REPLACE TRIGGER task_contexts_subtasks_follow_update AFTER UPDATE ON keeps.task_contexts FOR EACH ROW
    WHEN (OLD.sub_tasks IS DISTINCT FROM NEW.sub_tasks) EXECUTE FUNCTION keeps.follow_task();

-- Remove the task contexts of a removed plan, and its working memory where nobody else has a plan of that id and no
-- user is being erased.
CREATE OR REPLACE FUNCTION keeps.clear_plan() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM task_contexts WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND plan_id = OLD.plan_id;
    IF current_setting('app.erasing', true) IS DISTINCT FROM 'user' AND (starts_with(OLD.user_id, '(space) ')
        OR NOT EXISTS (SELECT FROM plans WHERE tenant_id = OLD.tenant_id AND plan_id = OLD.plan_id
            AND user_id <> OLD.user_id AND NOT starts_with(user_id, '(space) '))) THEN
        DELETE FROM working_memory
        WHERE tenant_id = OLD.tenant_id AND plan_id = state_plan(OLD.user_id, OLD.plan_id);
        PERFORM redact_plan_events(OLD.plan_id, NULL);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER plans_contents_follow AFTER DELETE ON keeps.plans FOR EACH ROW EXECUTE FUNCTION keeps.clear_plan();

-- Keep the names of an entity in step with it.
CREATE OR REPLACE FUNCTION keeps.follow_entity() RETURNS trigger LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
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
CREATE OR REPLACE TRIGGER entities_names_follow AFTER INSERT OR UPDATE
    ON keeps.entities FOR EACH ROW EXECUTE FUNCTION keeps.follow_entity();

-- All entities within some steps of one, nearest first, each once, as the asking user. One more than at_most shows
-- that there are more.
CREATE OR REPLACE FUNCTION keeps.graph_reach(start uuid, steps integer, way text, types text[], moment timestamptz,
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

-- Quotas and tenants.

-- The bytes of a memory that count for its tenant's quota.
CREATE OR REPLACE FUNCTION keeps.memory_size(content text, value jsonb, metadata jsonb, tags text[],
    trigger_condition text) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN octet_length(content) + COALESCE(octet_length(value::text), 0) + octet_length(metadata::text)
           + octet_length(array_to_string(tags, '')) + COALESCE(octet_length(trigger_condition), 0);

-- Count memories and their bytes for the tenant, and refuse what exceeds its quota.
CREATE OR REPLACE FUNCTION keeps.count_memories() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    change record;
    held record;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE audience_words SET version = keeps.new_version()
        FROM (SELECT DISTINCT tenant_id, words_audience(visibility, deleted_at, user_id) AS audience,
                  memory_life(deleted_at, superseded_by, archived_at) AS life FROM arrived) AS changed
        WHERE audience_words.tenant_id = changed.tenant_id AND audience_words.audience = changed.audience
          AND audience_words.life = changed.life;
    END IF;
    IF TG_OP = 'INSERT' THEN
        SELECT min(tenant_id) AS tenant_id, count(*) AS memories, count(*) - count(deleted_at) AS live,
            COALESCE(sum(memory_size(content, value, metadata, tags, trigger_condition)), 0) AS bytes INTO change
        FROM arrived;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT min(tenant_id) AS tenant_id, -count(*) AS memories, count(deleted_at) - count(*) AS live,
            -COALESCE(sum(memory_size(content, value, metadata, tags, trigger_condition)), 0) AS bytes INTO change
        FROM departed;
    ELSE
        SELECT after.tenant_id, 0 AS memories, before.deleted - after.deleted AS live,
            after.bytes - before.bytes AS bytes, before.deleted > 0 OR after.deleted > 0 AS any_deleted INTO change
        FROM (SELECT min(tenant_id) AS tenant_id, count(deleted_at) AS deleted,
                  COALESCE(sum(memory_size(content, value, metadata, tags, trigger_condition)), 0) AS bytes
              FROM arrived) AS after
        CROSS JOIN (SELECT count(deleted_at) AS deleted,
                        COALESCE(sum(memory_size(content, value, metadata, tags, trigger_condition)), 0) AS bytes
                    FROM departed) AS before;
        IF change.any_deleted THEN
            -- The vectors of memories that were deleted or restored. follow_memory ran before.
            UPDATE vector_counts SET deleted = vector_counts.deleted + turned.deleted
            FROM (SELECT vectors.model, sum(CASE WHEN changed.is_deleted THEN 1 ELSE -1 END) AS deleted
                  FROM (SELECT tenant_id, memory_id, deleted_at IS NOT NULL AS is_deleted FROM arrived
                        EXCEPT SELECT tenant_id, memory_id, deleted_at IS NOT NULL FROM departed) AS changed
                  JOIN memory_vectors AS vectors USING (tenant_id, memory_id)
                  GROUP BY vectors.model) AS turned
            WHERE vector_counts.tenant_id = change.tenant_id AND vector_counts.model = turned.model;
        END IF;
    END IF;
    IF change.tenant_id IS NULL OR (change.memories = 0 AND change.live = 0 AND change.bytes = 0) THEN
        RETURN NULL;
    END IF;
    UPDATE tenants SET memory_count = memory_count + change.memories, live_count = live_count + change.live,
        memory_bytes = memory_bytes + change.bytes
    WHERE tenant_id = change.tenant_id
    RETURNING memory_count, memory_bytes + state_bytes AS memory_bytes, max_memories, max_bytes INTO held;
    IF change.memories > 0 AND held.memory_count > held.max_memories THEN
        RAISE EXCEPTION USING ERRCODE = 'KQ001', MESSAGE = format('this tenant may hold %s memories',
            held.max_memories);
    ELSIF change.bytes > 0 AND held.memory_bytes > held.max_bytes THEN
        RAISE EXCEPTION USING ERRCODE = 'KQ001', MESSAGE = format('this tenant may hold %s bytes', held.max_bytes);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER memories_count_insert AFTER INSERT ON keeps.memories REFERENCING NEW TABLE AS arrived
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_memories();
CREATE OR REPLACE TRIGGER memories_count_update AFTER UPDATE
    ON keeps.memories REFERENCING OLD TABLE AS departed NEW TABLE AS arrived
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_memories();
CREATE OR REPLACE TRIGGER memories_count_delete AFTER DELETE ON keeps.memories REFERENCING OLD TABLE AS departed
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_memories();

-- Count the bytes of other rows for the tenant, and items that need vectors, and refuse what exceeds its quota. workflow
-- counts only where true, so that older rows weigh the same when removed.
CREATE OR REPLACE FUNCTION keeps.count_state() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    weight text := $bytes$octet_length(replace(row_to_json(each)::text, ',"workflow":false', ''))$bytes$;
    textual text := CASE TG_TABLE_NAME WHEN 'items' THEN 'count(texts)' ELSE '0' END;
    change record;
    held record;
BEGIN
    FOR change IN EXECUTE CASE TG_OP
        WHEN 'INSERT' THEN format('SELECT tenant_id, sum(%s) AS bytes, %s AS texts FROM arrived AS each'
            ' GROUP BY tenant_id', weight, textual)
        WHEN 'DELETE' THEN format('SELECT tenant_id, -sum(%s) AS bytes, -%s AS texts FROM departed AS each'
            ' GROUP BY tenant_id', weight, textual)
        ELSE format('SELECT tenant_id, sum(bytes) AS bytes, sum(texts) AS texts FROM ('
            'SELECT tenant_id, sum(%1$s) AS bytes, %2$s AS texts FROM arrived AS each GROUP BY tenant_id UNION ALL '
            'SELECT tenant_id, -sum(%1$s), -%2$s FROM departed AS each GROUP BY tenant_id) AS both_sides'
            ' GROUP BY tenant_id', weight, textual) END
    LOOP
        UPDATE tenants SET state_bytes = state_bytes + change.bytes, text_count = text_count + change.texts
        WHERE tenants.tenant_id = change.tenant_id AND (change.bytes <> 0 OR change.texts <> 0)
        RETURNING memory_bytes + state_bytes AS bytes, max_bytes INTO held;
        IF change.bytes > 0 AND held.bytes > held.max_bytes THEN
            RAISE EXCEPTION USING ERRCODE = 'KQ001', MESSAGE = format('this tenant may hold %s bytes', held.max_bytes);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['working_memory', 'plans', 'task_contexts', 'sessions', 'entities', 'relations', 'documents',
                                'document_passages', 'transcripts', 'transcript_entries', 'transcript_values',
                                'items'] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_state_insert AFTER INSERT ON keeps.%1$I REFERENCING NEW TABLE AS'
            ' arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_state_update AFTER UPDATE ON keeps.%1$I REFERENCING OLD TABLE AS'
            ' departed NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_state_delete AFTER DELETE ON keeps.%1$I REFERENCING OLD TABLE AS'
            ' departed FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
    END LOOP;
END
$$;

-- Count the users of tenants.
CREATE OR REPLACE FUNCTION keeps.count_users() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE tenants SET user_count = user_count + came.users
        FROM (SELECT tenant_id, count(*) AS users FROM arrived GROUP BY tenant_id) AS came
        WHERE tenants.tenant_id = came.tenant_id;
    ELSE
        UPDATE tenants SET user_count = user_count - gone.users
        FROM (SELECT tenant_id, count(*) AS users FROM departed GROUP BY tenant_id) AS gone
        WHERE tenants.tenant_id = gone.tenant_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER users_count_insert AFTER INSERT ON keeps.users REFERENCING NEW TABLE AS arrived
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_users();
CREATE OR REPLACE TRIGGER users_count_delete AFTER DELETE ON keeps.users REFERENCING OLD TABLE AS departed
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_users();

-- The counts of a tenant, counted from its rows: by indexes, and its bytes too where they are wanted, which reads all
-- rows. The names are columns of tenants, and of vector_counts where there is a model.
CREATE OR REPLACE FUNCTION keeps.count_tenant(wanted text, weigh boolean) RETURNS TABLE (name text, model text,
    held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    stored bigint;
    bytes bigint := 0;
    part text;
BEGIN
    SELECT count(*) INTO stored FROM memories WHERE memories.tenant_id = wanted;
    RETURN QUERY VALUES ('memory_count', '', stored);
    RETURN QUERY SELECT 'live_count', '', stored - count(*) FROM memories
    WHERE memories.tenant_id = wanted AND deleted_at IS NOT NULL;
    RETURN QUERY SELECT 'user_count', '', count(*) FROM users WHERE users.tenant_id = wanted;
    RETURN QUERY SELECT 'retired_count', '', last_sequence - (SELECT count(*) FROM events
        WHERE events.tenant_id = wanted) FROM tenants WHERE tenants.tenant_id = wanted;
    RETURN QUERY SELECT 'text_count', '', count(texts) FROM items WHERE items.tenant_id = wanted;
    RETURN QUERY SELECT counted.name, by_model.model, counted.held FROM (
        SELECT memory_vectors.model, count(*) AS vectors, count(*) FILTER (WHERE life = 'deleted') AS deleted
        FROM memory_vectors WHERE memory_vectors.tenant_id = wanted GROUP BY memory_vectors.model) AS by_model
    CROSS JOIN LATERAL (VALUES ('vectors', by_model.vectors), ('deleted', by_model.deleted)) AS counted(name, held);
    RETURN QUERY SELECT 'items', item_vectors.model, count(DISTINCT row_id) FROM item_vectors
    WHERE item_vectors.tenant_id = wanted GROUP BY item_vectors.model;
    IF weigh THEN
        RETURN QUERY SELECT 'memory_bytes', '', COALESCE(sum(memory_size(content, value, metadata, tags,
            trigger_condition)), 0)::bigint FROM memories WHERE memories.tenant_id = wanted;
        -- The tables whose rows count_state weighs, in its way.
        FOR part IN SELECT tgrelid::regclass::text FROM pg_trigger
            WHERE tgfoid = 'keeps.count_state()'::regprocedure GROUP BY tgrelid LOOP
            EXECUTE format($sum$SELECT COALESCE(sum(octet_length(replace(row_to_json(each)::text,
                ',"workflow":false', ''))), 0) FROM %s AS each WHERE tenant_id = $1$sum$, part)
                INTO stored USING wanted;
            bytes := bytes + stored;
        END LOOP;
        RETURN QUERY VALUES ('state_bytes', '', bytes);
    END IF;
END
$$;

-- The counters of the current tenant beside what its rows give, both of one moment. made_at and counted_at: of which
-- counters, for correct_counts.
CREATE OR REPLACE FUNCTION keeps.compare_counts(weigh boolean) RETURNS TABLE (name text, model text, kept bigint,
    held bigint, made_at timestamptz, counted_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    RETURN QUERY SELECT compared.name, compared.model, compared.kept, compared.held, tenants.created_at,
        tenants.counted_at
    FROM tenants CROSS JOIN (
        SELECT name, model, COALESCE(stored.held, 0) AS kept, COALESCE(counted.held, 0) AS held FROM (
            SELECT counter.name, '' AS model, counter.held FROM tenants CROSS JOIN LATERAL (VALUES
                ('user_count', user_count), ('memory_count', memory_count), ('live_count', live_count),
                ('retired_count', retired_count), ('text_count', text_count), ('memory_bytes', memory_bytes),
                ('state_bytes', state_bytes)) AS counter(name, held)
            WHERE tenants.tenant_id = tenant AND (weigh OR counter.name NOT LIKE '%\_bytes')
            UNION ALL
            SELECT counter.name, vector_counts.model, counter.held FROM vector_counts CROSS JOIN LATERAL (VALUES
                ('vectors', vectors), ('deleted', deleted), ('items', items)) AS counter(name, held)
            WHERE vector_counts.tenant_id = tenant
        ) AS stored FULL JOIN count_tenant(tenant, weigh) AS counted USING (name, model)) AS compared
    WHERE tenants.tenant_id = tenant;
END
$$;

-- Add what a comparison found missing to the counters of the current tenant. Not the counts themselves: writers have
-- gone on counting. Returns false if the counters are no longer those that were compared.
CREATE OR REPLACE FUNCTION keeps.correct_counts(seen_made_at timestamptz, seen_counted_at timestamptz, names text[],
    models text[], changes bigint[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    by_name jsonb := (SELECT COALESCE(jsonb_object_agg(change.name, change.by), '{}')
        FROM unnest(names, models, changes) AS change(name, model, by) WHERE change.model = '');
BEGIN
    UPDATE tenants SET counted_at = clock_timestamp(),
        user_count = user_count + COALESCE((by_name ->> 'user_count')::bigint, 0),
        memory_count = memory_count + COALESCE((by_name ->> 'memory_count')::bigint, 0),
        live_count = live_count + COALESCE((by_name ->> 'live_count')::bigint, 0),
        retired_count = retired_count + COALESCE((by_name ->> 'retired_count')::bigint, 0),
        text_count = text_count + COALESCE((by_name ->> 'text_count')::bigint, 0),
        memory_bytes = memory_bytes + COALESCE((by_name ->> 'memory_bytes')::bigint, 0),
        state_bytes = state_bytes + COALESCE((by_name ->> 'state_bytes')::bigint, 0)
    WHERE tenant_id = tenant AND created_at = seen_made_at AND counted_at IS NOT DISTINCT FROM seen_counted_at;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO vector_counts AS held (tenant_id, model, vectors, deleted, items)
    SELECT tenant, change.model, COALESCE(sum(change.by) FILTER (WHERE change.name = 'vectors'), 0),
        COALESCE(sum(change.by) FILTER (WHERE change.name = 'deleted'), 0),
        COALESCE(sum(change.by) FILTER (WHERE change.name = 'items'), 0)
    FROM unnest(names, models, changes) AS change(name, model, by) WHERE change.model <> ''
    GROUP BY change.model
    ON CONFLICT (tenant_id, model) DO UPDATE SET vectors = held.vectors + EXCLUDED.vectors,
        deleted = held.deleted + EXCLUDED.deleted, items = held.items + EXCLUDED.items;
    RETURN true;
END
$$;

-- The ids of the users of the current tenant, for its export.
CREATE OR REPLACE FUNCTION keeps.users_of_tenant() RETURNS TABLE (user_id text, created_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT users.user_id, users.created_at FROM users
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') ORDER BY users.user_id
$$;

-- Users of the current tenant whose id begins with a text, by id.
CREATE OR REPLACE FUNCTION keeps.find_users(beginning text, at_most integer) RETURNS TABLE (user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT users.user_id FROM users
    WHERE users.tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND users.user_id >= beginning AND starts_with(users.user_id, beginning)
    ORDER BY users.user_id LIMIT at_most;
END
$$;

-- Tenants whose id begins with a text, by id, without those in other cells: for the operator.
CREATE OR REPLACE FUNCTION keeps.find_tenants(beginning text, at_most integer) RETURNS TABLE (tenant_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT tenants.tenant_id FROM tenants
    WHERE tenants.tenant_id >= beginning AND starts_with(tenants.tenant_id, beginning)
      AND elsewhere(tenants.tenant_id) IS NULL
    ORDER BY tenants.tenant_id LIMIT at_most;
END
$$;

-- All tenants with counts and quotas, without those in other cells: for the operator.
CREATE OR REPLACE FUNCTION keeps.list_tenants(after_tenant_id text, at_most integer) RETURNS TABLE (tenant_id text,
    users bigint, memories bigint, bytes bigint, max_memories bigint, max_bytes bigint, created_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT tenants.tenant_id, CASE WHEN tenants.counted_at IS NULL THEN (SELECT count(*) FROM users
        WHERE users.tenant_id = tenants.tenant_id) ELSE tenants.user_count END, tenants.memory_count,
           tenants.memory_bytes + tenants.state_bytes, tenants.max_memories, tenants.max_bytes, tenants.created_at
    FROM tenants WHERE tenants.tenant_id > after_tenant_id AND elsewhere(tenants.tenant_id) IS NULL
    ORDER BY tenants.tenant_id LIMIT at_most;
END
$$;

-- The owner and rights of a key, by its hash: the one question before a tenant is known.
CREATE OR REPLACE FUNCTION keeps.find_api_key(wanted_hash bytea)
    RETURNS TABLE (tenant_id text, key_id uuid, user_id text, agent_id text, roles text[], expires_at timestamptz,
        revoked_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE api_keys SET last_used_at = now()
    WHERE key_hash = wanted_hash AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
      AND elsewhere(tenant_id) IS NULL;
    RETURN QUERY SELECT api_keys.tenant_id, api_keys.key_id, api_keys.user_id, api_keys.agent_id, api_keys.roles,
                        api_keys.expires_at, api_keys.revoked_at
                 -- Servers of the release before know no limits.
                 FROM api_keys WHERE key_hash = wanted_hash AND limits IS NULL AND elsewhere(api_keys.tenant_id) IS NULL;
END
$$;

-- The same with the limits of the key.
CREATE OR REPLACE FUNCTION keeps.find_key(wanted_hash bytea)
    RETURNS TABLE (tenant_id text, key_id uuid, user_id text, agent_id text, roles text[], limits jsonb,
        expires_at timestamptz, revoked_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE api_keys SET last_used_at = now()
    WHERE key_hash = wanted_hash AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
      AND elsewhere(tenant_id) IS NULL;
    RETURN QUERY SELECT api_keys.tenant_id, api_keys.key_id, api_keys.user_id, api_keys.agent_id, api_keys.roles,
                        api_keys.limits, api_keys.expires_at, api_keys.revoked_at
                 FROM api_keys WHERE key_hash = wanted_hash AND elsewhere(api_keys.tenant_id) IS NULL;
END
$$;

-- When the rows of some users were made, side by side, of tenants that live here. For streams, which end with their
-- user: one question for all of a server.
CREATE OR REPLACE FUNCTION keeps.users_since(wanted_tenant_ids text[], wanted_user_ids text[]) RETURNS TABLE (tenant_id text,
    user_id text, since timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT held.tenant_id, held.user_id, held.created_at
    FROM unnest(wanted_tenant_ids, wanted_user_ids) AS wanted(tenant_id, user_id)
    JOIN users AS held ON held.tenant_id = wanted.tenant_id AND held.user_id = wanted.user_id
    WHERE elsewhere(held.tenant_id) IS NULL;
END
$$;

-- Counts over all tenants, for keeps status: sums of counters. Only tenants that were not counted since revision 28 are
-- counted here.
CREATE OR REPLACE FUNCTION keeps.installation_counts() RETURNS TABLE (tenants bigint, users bigint, memories bigint, events bigint,
    vectors jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    uncounted text[];
    counted record;
BEGIN
    SELECT count(*), COALESCE(sum(user_count) FILTER (WHERE counted_at IS NOT NULL), 0),
        COALESCE(sum(live_count) FILTER (WHERE counted_at IS NOT NULL), 0), COALESCE(sum(last_sequence - retired_count)
            FILTER (WHERE counted_at IS NOT NULL), 0), array_agg(tenant_id) FILTER (WHERE counted_at IS NULL)
    INTO tenants, users, memories, events, uncounted FROM keeps.tenants;
    SELECT COALESCE(jsonb_object_agg(model, total), '{}') INTO vectors
    FROM (SELECT model, sum(held.vectors) AS total FROM vector_counts AS held
          WHERE uncounted IS NULL OR tenant_id <> ALL (uncounted)
          GROUP BY model HAVING sum(held.vectors) > 0) AS by_model;
    FOR counted IN
        SELECT counts.name, counts.model, counts.held, held.last_sequence
        FROM unnest(uncounted) AS missing(tenant_id) JOIN keeps.tenants AS held USING (tenant_id)
        CROSS JOIN LATERAL count_tenant(missing.tenant_id, false) AS counts
    LOOP
        CASE counted.name
            WHEN 'user_count' THEN users := users + counted.held;
            WHEN 'live_count' THEN memories := memories + counted.held;
            WHEN 'retired_count' THEN events := events + counted.last_sequence - counted.held;
            WHEN 'vectors' THEN vectors := vectors || jsonb_build_object(counted.model,
                counted.held + COALESCE((vectors ->> counted.model)::bigint, 0));
            ELSE NULL;
        END CASE;
    END LOOP;
    RETURN NEXT;
END
$$;

-- How many memories and items have no vector of a model, and since when the oldest of those that wait for one waits:
-- differences of counters. After a change of the model nothing waits until the index is made anew.
CREATE OR REPLACE FUNCTION keeps.index_missing(wanted_model text) RETURNS TABLE (missing bigint, since timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    uncounted text[];
BEGIN
    SELECT COALESCE(sum(live_count + text_count) FILTER (WHERE counted_at IS NOT NULL), 0),
        array_agg(tenant_id) FILTER (WHERE counted_at IS NULL)
    INTO missing, uncounted FROM tenants;
    missing := missing - (
        SELECT COALESCE(sum(vectors - deleted + items), 0) FROM vector_counts
        WHERE model = wanted_model AND (uncounted IS NULL OR tenant_id <> ALL (uncounted)));
    IF uncounted IS NOT NULL THEN
        missing := missing + (
            SELECT COALESCE(sum(CASE WHEN counts.name IN ('live_count', 'text_count', 'deleted') THEN counts.held
                                ELSE -counts.held END), 0)
            FROM unnest(uncounted) AS uncounted_tenant(id)
            CROSS JOIN LATERAL count_tenant(uncounted_tenant.id, false) AS counts
            WHERE counts.name IN ('live_count', 'text_count')
               OR counts.name IN ('vectors', 'deleted', 'items') AND counts.model = wanted_model);
    END IF;
    missing := GREATEST(missing, 0);
    IF missing > 0 THEN
        since := LEAST((SELECT min(noticed_at) FROM memory_pending), (SELECT min(noticed_at) FROM item_pending));
    END IF;
    RETURN NEXT;
END
$$;

-- What models were asked from one day to another: rows of the current tenant, or of all for the owner. Tokens that a
-- server of an earlier release counted have no model and no calls.
CREATE OR REPLACE FUNCTION keeps.usage_rows(since date, until date) RETURNS TABLE (tenant_id text, day date, job text,
    kind text, model text, calls bigint, failed bigint, prompt_tokens bigint, completion_tokens bigint,
    seconds double precision)
    LANGUAGE plpgsql STABLE SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT tenant_id, day, job, kind, model, calls, failed, prompt_tokens, completion_tokens, seconds
    FROM model_usage WHERE day BETWEEN since AND until
    UNION ALL
    SELECT llm_usage.tenant_id, llm_usage.day, llm_usage.job, 'llm', '', 0::bigint, 0::bigint,
        llm_usage.tokens - known.tokens, 0::bigint, 0.0::double precision
    FROM llm_usage CROSS JOIN LATERAL (
        SELECT COALESCE(sum(model_usage.prompt_tokens + model_usage.completion_tokens), 0)::bigint AS tokens
        FROM model_usage WHERE model_usage.tenant_id = llm_usage.tenant_id AND model_usage.day = llm_usage.day
            AND model_usage.job = llm_usage.job AND model_usage.kind = 'llm') AS known
    WHERE llm_usage.day BETWEEN since AND until AND llm_usage.tokens > known.tokens;
END
$$;

-- The same of all tenants in sums, by day, job, model or tenant: ids and counts alone.
CREATE OR REPLACE FUNCTION keeps.usage_of_all(since date, until date, grouped_by text) RETURNS TABLE (name text,
    kind text, model text, calls bigint, failed bigint, prompt_tokens bigint, completion_tokens bigint,
    seconds double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT CASE grouped_by WHEN 'day' THEN day::text WHEN 'job' THEN job WHEN 'tenant' THEN tenant_id ELSE model END,
        kind, model, sum(calls)::bigint, sum(failed)::bigint, sum(prompt_tokens)::bigint,
        sum(completion_tokens)::bigint, sum(seconds)
    FROM usage_rows(since, until) GROUP BY 1, 2, 3;
END
$$;

-- The owners of some memories of the current tenant, for callers who may act for any user.
CREATE OR REPLACE FUNCTION keeps.memory_owners(wanted uuid[]) RETURNS TABLE (memory_id uuid, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT memories.memory_id, memories.user_id FROM memories
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND memories.memory_id = ANY (wanted);
END
$$;

-- Store requests of users of the current tenant, and remove the oldest of each user beyond a number. Those of a user who
-- is not there any more are dropped.
CREATE OR REPLACE FUNCTION keeps.log_requests(noted jsonb, at_most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    INSERT INTO requests (tenant_id, request_id, user_id, agent_id, session_id, kind, door, query, arguments, asked_at,
        took_ms, hits, left_out, found_nothing, answer, omitted)
    SELECT tenant, new.request_id, new.user_id, new.agent_id, new.session_id, new.kind, new.door, new.query,
        new.arguments, new.asked_at, new.took_ms, new.hits, new.left_out, new.found_nothing, new.answer, new.omitted
    FROM jsonb_to_recordset(noted) AS new(request_id uuid, user_id text, agent_id text, session_id text, kind text,
        door text, query text, arguments jsonb, asked_at timestamptz, took_ms real, hits integer, left_out integer,
        found_nothing boolean, answer jsonb, omitted jsonb)
    JOIN users ON users.tenant_id = tenant AND users.user_id = new.user_id
    ON CONFLICT DO NOTHING;
    DELETE FROM requests USING (
        SELECT owners.user_id, (SELECT held.request_id FROM requests AS held
                                WHERE held.tenant_id = tenant AND held.user_id = owners.user_id
                                ORDER BY held.request_id DESC OFFSET at_most LIMIT 1) AS last_id
        FROM (SELECT DISTINCT value ->> 'user_id' AS user_id FROM jsonb_array_elements(noted)) AS owners) AS over
    WHERE requests.tenant_id = tenant AND requests.user_id = over.user_id AND requests.request_id <= over.last_id;
END
$$;

-- The owners of the current tenant's requests, newest first.
CREATE OR REPLACE FUNCTION keeps.request_owners(before uuid, wanted_kind text, only_nothing boolean, at_most integer)
    RETURNS TABLE (request_id uuid, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT requests.request_id, requests.user_id FROM requests
    WHERE requests.tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND (before IS NULL OR requests.request_id < before) AND (wanted_kind IS NULL OR requests.kind = wanted_kind)
      AND (NOT only_nothing OR requests.found_nothing)
    ORDER BY requests.request_id DESC LIMIT at_most;
END
$$;

-- The users, agents, apps and sessions that have memories in the current tenant, with counts.
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

-- The users of the current tenant who have transcripts in an app.
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

-- The users of the current tenant who have items.
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

-- Jobs and webhooks.

-- Schedule the declared jobs of a new tenant. The lock lets keeps.declare_jobs wait for tenants that are being created.
CREATE OR REPLACE FUNCTION keeps.schedule_tenant() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    LOCK TABLE keeps_jobs.periods IN ROW SHARE MODE;
    INSERT INTO tenant_jobs (tenant_id, job, due_at)
    SELECT NEW.tenant_id, periods.job, NEW.created_at + periods.period FROM keeps_jobs.periods
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER tenants_jobs_follow AFTER INSERT ON keeps.tenants FOR EACH ROW EXECUTE FUNCTION keeps.schedule_tenant();

-- Store how often jobs are due, and schedule those that are new for every tenant, spread over their period. An engine
-- calls it when it opens.
CREATE OR REPLACE FUNCTION keeps.declare_jobs(names text[], every interval[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
    IF NOT EXISTS (SELECT declared.* FROM unnest(names, every) AS declared(job, period)
                   EXCEPT SELECT job, period FROM keeps_jobs.periods) THEN
        RETURN;
    END IF;
    IF (SELECT count(*) FROM (SELECT job FROM keeps_jobs.periods UNION SELECT * FROM unnest(names)) AS jobs) > 100 THEN
        RAISE EXCEPTION 'at most 100 jobs can be declared' USING ERRCODE = 'check_violation';
    END IF;
    -- Twice: without the lock for the many, then under it for the tenants that were created meanwhile, so that new
    -- tenants wait for moments only. The declared periods are stored last: until then a new tenant has the old jobs.
    FOR each IN 1..2 LOOP
        INSERT INTO tenant_jobs (tenant_id, job, due_at)
        SELECT tenants.tenant_id, declared.job, now() + random() * declared.period
        FROM tenants CROSS JOIN unnest(names, every) AS declared(job, period)
        WHERE declared.job NOT IN (SELECT periods.job FROM keeps_jobs.periods)
            AND NOT EXISTS (SELECT FROM tenant_jobs WHERE tenant_jobs.tenant_id = tenants.tenant_id
                            AND tenant_jobs.job = declared.job)
        ON CONFLICT DO NOTHING;
        IF each = 1 THEN
            LOCK TABLE keeps_jobs.periods IN EXCLUSIVE MODE;
        END IF;
    END LOOP;
    INSERT INTO keeps_jobs.periods (job, period) SELECT * FROM unnest(names, every)
    ON CONFLICT (job) DO UPDATE SET period = EXCLUDED.period;
END
$$;

-- Take the jobs that are due, the longest overdue first: ids and names, the first of each tenant before the second of
-- any. A job that is taken is due again in ten minutes, unless it says otherwise when it is done. Of the tenants whose
-- memories or items wait for vectors, those that are not queued: one index probe for each, however much it has.
CREATE OR REPLACE FUNCTION keeps.take_due_jobs(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    job text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY WITH RECURSIVE due AS MATERIALIZED (
        SELECT held.tenant_id, held.job, held.due_at FROM tenant_jobs AS held WHERE held.due_at <= moment
        ORDER BY held.due_at LIMIT at_most FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE tenant_jobs SET due_at = LEAST(moment, now()) + interval '10 minutes' FROM due
        WHERE tenant_jobs.tenant_id = due.tenant_id AND tenant_jobs.job = due.job
        RETURNING tenant_jobs.tenant_id, tenant_jobs.job, due.due_at
    ), with_memories AS (
        (SELECT memory_pending.tenant_id FROM memory_pending ORDER BY memory_pending.tenant_id LIMIT 1)
        UNION ALL
        SELECT (SELECT memory_pending.tenant_id FROM memory_pending
                WHERE memory_pending.tenant_id > with_memories.tenant_id ORDER BY memory_pending.tenant_id LIMIT 1)
        FROM with_memories WHERE with_memories.tenant_id IS NOT NULL
    ), with_items AS (
        (SELECT item_pending.tenant_id FROM item_pending ORDER BY item_pending.tenant_id LIMIT 1)
        UNION ALL
        SELECT (SELECT item_pending.tenant_id FROM item_pending
                WHERE item_pending.tenant_id > with_items.tenant_id ORDER BY item_pending.tenant_id LIMIT 1)
        FROM with_items WHERE with_items.tenant_id IS NOT NULL
    ), waiting AS (
        SELECT found.tenant_id FROM (SELECT * FROM with_memories UNION SELECT * FROM with_items) AS found(tenant_id)
        WHERE NOT EXISTS (SELECT FROM keeps_jobs.pgqueuer
                          WHERE pgqueuer.dedupe_key = 'index:' || found.tenant_id AND status IN ('queued', 'picked'))
          -- The first row by the key, not any row: a tenant may have a million that were noticed a moment ago.
          AND (COALESCE((SELECT memory_pending.noticed_at FROM memory_pending
                         WHERE memory_pending.tenant_id = found.tenant_id ORDER BY memory_pending.memory_id LIMIT 1)
                        <= now() - interval '1 minute', false)
               OR COALESCE((SELECT item_pending.noticed_at FROM item_pending
                            WHERE item_pending.tenant_id = found.tenant_id ORDER BY item_pending.row_id LIMIT 1)
                           <= now() - interval '1 minute', false))
        LIMIT at_most
    )
    SELECT queued.tenant_id, queued.job FROM (
        SELECT taken.tenant_id, taken.job, taken.due_at FROM taken
        UNION ALL
        SELECT waiting.tenant_id, 'index', moment FROM waiting) AS queued
    ORDER BY row_number() OVER (PARTITION BY queued.tenant_id ORDER BY queued.due_at, queued.job), queued.due_at,
        queued.tenant_id;
END
$$;

-- The moment from which a job can have work in the current tenant if nobody writes or reads there; infinity: none. A
-- job has just run at `moment`. Of a tenant with many users, the moment itself: nobody waits while they are looked
-- through.
CREATE OR REPLACE FUNCTION keeps.job_has_work_at(wanted_job text, moment timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF wanted_job = 'storage' THEN
        RETURN CASE WHEN (SELECT storage_samples.events FROM storage_samples WHERE storage_samples.tenant_id = tenant
                          ORDER BY day DESC LIMIT 1)
                         = (SELECT last_sequence FROM tenants WHERE tenants.tenant_id = tenant)
                    THEN 'infinity' ELSE moment END;
    END IF;
    IF wanted_job = 'counts' THEN
        RETURN 'infinity';  -- Without a write no counter becomes wrong.
    END IF;
    IF wanted_job NOT IN ('decay', 'promotion', 'expiry', 'sessions')
        OR (SELECT count(*) FROM (SELECT FROM users WHERE users.tenant_id = tenant LIMIT 1001) AS first) > 1000 THEN
        RETURN moment;
    END IF;
    RETURN COALESCE((SELECT min(CASE wanted_job
        WHEN 'decay' THEN (SELECT fades_at(importance, 0, updated_at) FROM memories
            WHERE memories.tenant_id = tenant AND memories.user_id = users.user_id AND layer = 'short_term'
              AND archived_at IS NULL AND deleted_at IS NULL AND superseded_by IS NULL
            ORDER BY fades_at(importance, 0, updated_at) LIMIT 1)
        -- Only those that are not an hour old pass later than now: a score falls until the memory is read.
        WHEN 'promotion' THEN CASE WHEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
            AND memories.user_id = users.user_id AND created_at > moment - interval '1 hour'
            AND layer = 'short_term' AND deleted_at IS NULL AND superseded_by IS NULL) THEN moment END
        WHEN 'expiry' THEN LEAST(
            (SELECT expires_at FROM memories WHERE memories.tenant_id = tenant AND memories.user_id = users.user_id
             AND expires_at IS NOT NULL AND deleted_at IS NULL ORDER BY expires_at LIMIT 1),
            (SELECT deleted_at + interval '30 days' FROM memories WHERE memories.tenant_id = tenant
             AND memories.user_id = users.user_id AND deleted_at IS NOT NULL ORDER BY deleted_at LIMIT 1),
            (SELECT session_notes.expires_at FROM session_notes WHERE session_notes.tenant_id = tenant
             AND session_notes.user_id = users.user_id ORDER BY session_notes.expires_at LIMIT 1),
            (SELECT asked_at + interval '90 days' FROM query_audit WHERE query_audit.tenant_id = tenant
             AND query_audit.user_id = users.user_id ORDER BY asked_at LIMIT 1),
            -- How long requests stay is a setting of the engine; how long items stay differs between them.
            CASE WHEN EXISTS (SELECT FROM requests WHERE requests.tenant_id = tenant
                              AND requests.user_id = users.user_id)
                   OR EXISTS (SELECT FROM items WHERE items.tenant_id = tenant AND items.user_id = users.user_id
                              AND ttl_minutes IS NOT NULL) THEN moment END)
        WHEN 'sessions' THEN (SELECT consolidate_at FROM session_notes WHERE session_notes.tenant_id = tenant
            AND session_notes.user_id = users.user_id AND consolidate_at IS NOT NULL ORDER BY consolidate_at LIMIT 1)
        END) FROM users WHERE users.tenant_id = tenant), 'infinity');
END
$$;

-- Set when a job of the current tenant is next due: at `due`, or later if it can have no work by then, but not after
-- `latest`. In a writer's turn, so that nobody writes between the question and the answer; the next write wakes the
-- jobs that rest.
CREATE OR REPLACE FUNCTION keeps.reschedule_job(wanted_job text, moment timestamptz, due timestamptz,
    latest timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    next timestamptz := CASE WHEN latest > due THEN GREATEST(due, LEAST(job_has_work_at(wanted_job, moment), latest))
                             ELSE due END;
BEGIN
    INSERT INTO tenant_jobs (tenant_id, job, due_at) VALUES (tenant, wanted_job, next)
    ON CONFLICT (tenant_id, job) DO UPDATE SET due_at = EXCLUDED.due_at;
    IF next > due THEN
        UPDATE tenants SET jobs_rest = true WHERE tenant_id = tenant AND NOT jobs_rest;
    END IF;
END
$$;

-- Let the resting jobs of the current tenant be due one period from now: something was written or read.
CREATE OR REPLACE FUNCTION keeps.wake_jobs() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    UPDATE tenants SET jobs_rest = false WHERE tenant_id = tenant AND jobs_rest;
    IF FOUND THEN
        UPDATE tenant_jobs SET due_at = now() + periods.period FROM keeps_jobs.periods
        WHERE tenant_jobs.tenant_id = tenant AND periods.job = tenant_jobs.job
          AND tenant_jobs.due_at > now() + periods.period;
    END IF;
END
$$;

-- Wake the jobs after a change that no event tells of: notes of a session, a request, a reading.
CREATE OR REPLACE FUNCTION keeps.wake_resting_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT jobs_rest FROM keeps.tenants
        WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')) THEN
        PERFORM keeps.wake_jobs();
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER session_notes_wake_jobs AFTER INSERT OR UPDATE
    ON keeps.session_notes FOR EACH STATEMENT EXECUTE FUNCTION keeps.wake_resting_jobs();
CREATE OR REPLACE TRIGGER memory_access_wakes_jobs AFTER INSERT OR UPDATE
    ON keeps.memory_access FOR EACH STATEMENT EXECUTE FUNCTION keeps.wake_resting_jobs();
CREATE OR REPLACE TRIGGER requests_wake_jobs AFTER INSERT
    ON keeps.requests FOR EACH STATEMENT EXECUTE FUNCTION keeps.wake_resting_jobs();
CREATE OR REPLACE TRIGGER query_audit_wakes_jobs AFTER INSERT
    ON keeps.query_audit FOR EACH STATEMENT EXECUTE FUNCTION keeps.wake_resting_jobs();

-- The users of the current tenant with work for a job, after a given one; one index probe a user.
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
              OR EXISTS (SELECT FROM query_audit WHERE query_audit.tenant_id = tenant
                  AND query_audit.user_id = users.user_id AND asked_at <= moment - interval '90 days')
              -- How long requests stay is a setting of the engine, which removes those that are over.
              OR (SELECT requests.asked_at FROM requests WHERE requests.tenant_id = tenant
                  AND requests.user_id = users.user_id
                  ORDER BY requests.request_id LIMIT 1) <= moment - interval '1 day'
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

-- Whether a job's change of a memory was undone within a window: it is not repeated.
CREATE OR REPLACE FUNCTION keeps.was_undone(wanted_tenant text, wanted_memory_id uuid, wanted_job text) RETURNS
    boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM operation_changes JOIN operations USING (tenant_id, operation_id)
                   WHERE operation_changes.tenant_id = wanted_tenant AND operation_changes.memory_id = wanted_memory_id
                     AND operations.job = wanted_job AND operations.status = 'undone');
END
$$;

-- The webhooks that have something to send: the first few of each tenant, so that one tenant's slow ones delay
-- nobody else's.
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

-- How many webhooks have something to send, and since when the oldest waits: for metrics.
CREATE OR REPLACE FUNCTION keeps.webhooks_behind() RETURNS TABLE (behind bigint, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT count(*), min((SELECT events.recorded_at FROM events WHERE events.tenant_id = webhooks.tenant_id
        AND events.sequence > webhooks.position
                          ORDER BY events.sequence LIMIT 1))
    FROM webhooks JOIN tenants USING (tenant_id) WHERE webhooks.active AND webhooks.position < tenants.last_sequence
$$;

-- The users with memories or items that have no vector of a model: ids and counts. For servers of the release before.
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

-- The users with memories or items that have no vector of a model, in the order of their ids, after one of them. Counters
-- say which tenants have any. What was written lately is listed in memory_pending and item_pending; memories are looked
-- at only where the model changed, or where less is listed than is missing.
CREATE OR REPLACE FUNCTION keeps.users_to_index(wanted_model text, after_tenant text, after_user text, at_most integer)
    RETURNS TABLE (tenant_id text, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    held record;
    after text;
    listed boolean;
    found bigint;
    remaining bigint := at_most;
BEGIN
    FOR held IN
        SELECT tenants.tenant_id, tenants.counted_at,
            live_count + text_count - COALESCE(vectors - deleted + items, 0) AS missing
        FROM tenants LEFT JOIN vector_counts
          ON vector_counts.tenant_id = tenants.tenant_id AND vector_counts.model = wanted_model
        WHERE tenants.tenant_id >= after_tenant
          AND (counted_at IS NULL OR live_count + text_count > COALESCE(vectors - deleted + items, 0))
        ORDER BY tenants.tenant_id
    LOOP
        after := CASE held.tenant_id WHEN after_tenant THEN after_user ELSE '' END;
        listed := held.counted_at IS NOT NULL
            AND NOT EXISTS (SELECT FROM vector_counts WHERE vector_counts.tenant_id = held.tenant_id
                              AND vector_counts.model <> wanted_model AND (vectors > 0 OR items > 0))
            AND held.missing <= (SELECT count(*) FROM memory_pending WHERE memory_pending.tenant_id = held.tenant_id)
                + (SELECT count(*) FROM item_pending WHERE item_pending.tenant_id = held.tenant_id);
        IF listed THEN
            RETURN QUERY SELECT held.tenant_id, waiting.user_id FROM (
                SELECT memory_pending.user_id FROM memory_pending
                WHERE memory_pending.tenant_id = held.tenant_id AND memory_pending.user_id > after
                UNION
                SELECT item_pending.user_id FROM item_pending
                WHERE item_pending.tenant_id = held.tenant_id AND item_pending.user_id > after) AS waiting
            ORDER BY waiting.user_id LIMIT remaining;
        ELSE
            RETURN QUERY SELECT held.tenant_id, users.user_id FROM users
            WHERE users.tenant_id = held.tenant_id AND users.user_id > after
              AND (EXISTS (SELECT FROM memories
                           WHERE memories.tenant_id = held.tenant_id AND memories.user_id = users.user_id
                             AND memories.deleted_at IS NULL
                             AND NOT EXISTS (SELECT FROM memory_vectors
                                             WHERE memory_vectors.tenant_id = held.tenant_id
                                               AND memory_vectors.memory_id = memories.memory_id
                                               AND memory_vectors.model = wanted_model))
                   OR EXISTS (SELECT FROM items
                              WHERE items.tenant_id = held.tenant_id AND items.user_id = users.user_id
                                AND items.texts IS NOT NULL
                                AND NOT EXISTS (SELECT FROM item_vectors
                                                WHERE item_vectors.tenant_id = held.tenant_id
                                                  AND item_vectors.row_id = items.row_id
                                                  AND item_vectors.model = wanted_model)))
            ORDER BY users.user_id LIMIT remaining;
        END IF;
        GET DIAGNOSTICS found = ROW_COUNT;
        remaining := remaining - found;
        EXIT WHEN remaining <= 0;
    END LOOP;
END
$$;

-- The users of memories and items that wait for their first vector.
CREATE OR REPLACE FUNCTION keeps.users_waiting(at_most integer) RETURNS TABLE (tenant_id text, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT waiting.tenant_id, waiting.user_id FROM (
        (SELECT tenant_id, user_id, noticed_at FROM memory_pending ORDER BY noticed_at LIMIT 10 * at_most)
        UNION ALL
        (SELECT tenant_id, user_id, noticed_at FROM item_pending ORDER BY noticed_at LIMIT 10 * at_most)) AS waiting
    GROUP BY waiting.tenant_id, waiting.user_id ORDER BY min(waiting.noticed_at) LIMIT at_most;
END
$$;

-- The users with vectors of other models than one, for the clean-up after a change of model. Counters say which tenants
-- have any.
CREATE OR REPLACE FUNCTION keeps.users_with_other_models(kept_model text) RETURNS TABLE (tenant_id text, user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY WITH RECURSIVE others AS MATERIALIZED (
        SELECT tenant_id FROM vector_counts WHERE model <> kept_model AND (vectors > 0 OR items > 0)
        UNION
        SELECT tenant_id FROM tenants WHERE counted_at IS NULL
    ), places AS (
        SELECT following.* FROM others CROSS JOIN LATERAL (
            SELECT vectors.tenant_id, vectors.audience, vectors.life, vectors.model FROM memory_vectors AS vectors
            WHERE vectors.tenant_id = others.tenant_id
            ORDER BY vectors.tenant_id, vectors.audience, vectors.life, vectors.model LIMIT 1) AS following
        UNION ALL
        SELECT following.* FROM places CROSS JOIN LATERAL (
            SELECT vectors.tenant_id, vectors.audience, vectors.life, vectors.model FROM memory_vectors AS vectors
            WHERE vectors.tenant_id = places.tenant_id
              AND (vectors.audience, vectors.life, vectors.model) > (places.audience, places.life, places.model)
            ORDER BY vectors.tenant_id, vectors.audience, vectors.life, vectors.model LIMIT 1) AS following
    ), items_places AS (
        SELECT following.* FROM others CROSS JOIN LATERAL (
            SELECT vectors.tenant_id, vectors.user_id, vectors.model FROM item_vectors AS vectors
            WHERE vectors.tenant_id = others.tenant_id
            ORDER BY vectors.tenant_id, vectors.user_id, vectors.model LIMIT 1) AS following
        UNION ALL
        SELECT following.* FROM items_places CROSS JOIN LATERAL (
            SELECT vectors.tenant_id, vectors.user_id, vectors.model FROM item_vectors AS vectors
            WHERE vectors.tenant_id = items_places.tenant_id
              AND (vectors.user_id, vectors.model) > (items_places.user_id, items_places.model)
            ORDER BY vectors.tenant_id, vectors.user_id, vectors.model LIMIT 1) AS following
    )
    SELECT owners.tenant_id, owners.user_id FROM places CROSS JOIN LATERAL (
        SELECT DISTINCT vectors.tenant_id, vectors.user_id FROM memory_vectors AS vectors
        WHERE vectors.tenant_id = places.tenant_id AND vectors.audience = places.audience
          AND vectors.life = places.life AND vectors.model = places.model) AS owners
    WHERE places.model <> kept_model
    UNION
    SELECT items_places.tenant_id, items_places.user_id FROM items_places WHERE model <> kept_model;
END
$$;

-- How many memories and items wait for a vector, and since when: for metrics of servers of the release before.
CREATE OR REPLACE FUNCTION keeps.index_waiting() RETURNS TABLE (waiting bigint, since timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT count(*), min(noticed_at) FROM (
        SELECT noticed_at FROM memory_pending UNION ALL SELECT noticed_at FROM item_pending) AS either;
END
$$;

-- Lists of words and vectors by audience.

-- A version of an audience that no other has.
CREATE OR REPLACE FUNCTION keeps.new_version() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN (random() * 9e15)::bigint;

-- The audience that finds a memory by its words: its owner, or the empty text for the whole tenant; for a deleted
-- one its owner.
CREATE OR REPLACE FUNCTION keeps.words_audience(visibility text, deleted_at timestamptz, user_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN visibility = 'tenant' AND deleted_at IS NULL THEN '' ELSE user_id END;

-- The agent that a memory's words belong to; facts belong to all.
CREATE OR REPLACE FUNCTION keeps.words_agent(kind text, agent_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN kind = 'semantic' THEN '' ELSE COALESCE(agent_id, chr(1)) END;

-- The position in a list of fixed-size entries at which that of a place begins, from 1; 0 where there is none.
CREATE OR REPLACE FUNCTION keeps.entry_at(packed bytea, place integer, size integer) RETURNS integer
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

-- A list of fixed-size entries without those of some places. An entry begins with its place.
CREATE OR REPLACE FUNCTION keeps.without(packed bytea, places integer[], size integer) RETURNS bytea
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

-- Take a memory out of the counts and lists of its audience.
CREATE OR REPLACE FUNCTION keeps.forget_words(gone keeps.memory_words) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    held audience_words;
BEGIN
    UPDATE audience_words
    SET memories = memories - 1, words = audience_words.words - gone.word_count, version = keeps.new_version()
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

-- Take many memories of the current user out of their audiences, each list rewritten once.
CREATE OR REPLACE FUNCTION keeps.leave_lists(wanted uuid[]) RETURNS void
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

-- Reserve the next places in an audience of the current user; NULL for another user's.
CREATE OR REPLACE FUNCTION keeps.take_places(wanted_audience text, wanted_life text, more integer, more_words
    bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    place integer;
BEGIN
    INSERT INTO audience_words AS held (tenant_id, audience, life, memories, words, next_place, folded_to, version)
    SELECT NULLIF(current_setting('app.current_tenant', true), ''), wanted_audience, wanted_life, more, more_words,
        more, 0, keeps.new_version()
    WHERE wanted_audience IN ('', NULLIF(current_setting('app.current_user', true), ''))
    ON CONFLICT (tenant_id, audience, life) DO UPDATE
    SET memories = held.memories + more, words = held.words + more_words, next_place = held.next_place + more,
        version = EXCLUDED.version
    RETURNING next_place - more INTO place;
    RETURN place;
END
$$;

-- Add the sign bits of some memories' vectors at their places.
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

-- Remove the sign bits of one place: of one model, or of all (NULL).
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

-- Fold single sign bits into blocks.
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

-- Keep the sign bits in step with the vectors. It looks only now and then how many are not folded. The query for a
-- place is written so that only the index by memory can answer it, whatever the table's size was when it was
-- planned.
CREATE OR REPLACE FUNCTION keeps.follow_vectors() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    each record;
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM forget_bits(OLD.tenant_id, audience, life, place, OLD.model) FROM memory_words
        WHERE tenant_id = OLD.tenant_id AND memory_id = OLD.memory_id;
        UPDATE audience_words SET version = keeps.new_version()
        WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
        RETURN NULL;
    END IF;
    FOR each IN
        SELECT arrived.tenant_id, held.audience, held.life, arrived.model, array_agg(held.place) AS places,
            array_agg(arrived.memory_id) AS memory_ids, bool_or(held.place % 64 = 0) AS due
        FROM arrived CROSS JOIN LATERAL (
            SELECT memory_words.memory_id, audience, life, place FROM memory_words
            WHERE memory_words.tenant_id = arrived.tenant_id AND memory_words.memory_id >= arrived.memory_id
            ORDER BY memory_words.memory_id LIMIT 1) AS held
        WHERE held.memory_id = arrived.memory_id
        GROUP BY arrived.tenant_id, held.audience, held.life, arrived.model
    LOOP
        PERFORM add_bits(each.tenant_id, each.audience, each.life, each.places, each.memory_ids);
        UPDATE audience_words SET version = keeps.new_version()
        WHERE tenant_id = each.tenant_id AND audience = each.audience AND life = each.life;
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
CREATE OR REPLACE TRIGGER memory_vectors_arrived AFTER INSERT ON keeps.memory_vectors
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.follow_vectors();
CREATE OR REPLACE TRIGGER memory_vectors_gone AFTER DELETE ON keeps.memory_vectors
    FOR EACH ROW EXECUTE FUNCTION keeps.follow_vectors();

-- Count the vectors of memories and items by model. Those of a removed user are counted by discount_vectors.
CREATE OR REPLACE FUNCTION keeps.count_vectors() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF tenant IS NULL THEN
        RETURN NULL;  -- An administrator changes rows by hand, or removes a tenant. The next check counts them.
    ELSIF TG_OP = 'INSERT' AND TG_TABLE_NAME = 'memory_vectors' THEN
        INSERT INTO vector_counts AS held (tenant_id, model, vectors, deleted)
        SELECT tenant_id, model, count(*), count(*) FILTER (WHERE life = 'deleted') FROM arrived
        WHERE tenant_id = tenant GROUP BY tenant_id, model
        ON CONFLICT (tenant_id, model) DO UPDATE
            SET vectors = held.vectors + EXCLUDED.vectors, deleted = held.deleted + EXCLUDED.deleted;
    ELSIF TG_OP = 'INSERT' THEN
        -- All vectors of an item come and go in one statement.
        INSERT INTO vector_counts AS held (tenant_id, model, items)
        SELECT tenant_id, model, count(DISTINCT row_id) FROM arrived WHERE tenant_id = tenant GROUP BY tenant_id, model
        ON CONFLICT (tenant_id, model) DO UPDATE SET items = held.items + EXCLUDED.items;
    ELSIF TG_TABLE_NAME = 'memory_vectors' THEN
        UPDATE vector_counts SET vectors = vectors - gone.count, deleted = vector_counts.deleted - gone.deleted
        FROM (SELECT tenant_id, model, count(*) AS count, count(*) FILTER (WHERE life = 'deleted') AS deleted
              FROM departed
              WHERE EXISTS (SELECT FROM users WHERE users.tenant_id = departed.tenant_id
                              AND users.user_id = departed.user_id)
              GROUP BY tenant_id, model) AS gone
        WHERE vector_counts.tenant_id = gone.tenant_id AND vector_counts.model = gone.model;
    ELSE
        UPDATE vector_counts SET items = items - gone.count
        FROM (SELECT tenant_id, model, count(DISTINCT row_id) AS count FROM departed
              WHERE EXISTS (SELECT FROM users WHERE users.tenant_id = departed.tenant_id
                              AND users.user_id = departed.user_id)
              GROUP BY tenant_id, model) AS gone
        WHERE vector_counts.tenant_id = gone.tenant_id AND vector_counts.model = gone.model;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER memory_vectors_count_insert AFTER INSERT ON keeps.memory_vectors
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_vectors();
CREATE OR REPLACE TRIGGER memory_vectors_count_delete AFTER DELETE ON keeps.memory_vectors
    REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_vectors();
CREATE OR REPLACE TRIGGER item_vectors_count_insert AFTER INSERT ON keeps.item_vectors
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_vectors();
CREATE OR REPLACE TRIGGER item_vectors_count_delete AFTER DELETE ON keeps.item_vectors
    REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_vectors();

-- Take the vectors of a user who is being removed out of the counts, all at once: the foreign keys remove the vectors
-- of one memory at a time, and a row that one transaction updates thousands of times is slow to find.
CREATE OR REPLACE FUNCTION keeps.discount_vectors(wanted_tenant text, wanted_user text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM tenants WHERE tenant_id = wanted_tenant)
        OR NULLIF(current_setting('app.current_tenant', true), '') IS NULL THEN
        RETURN;  -- The tenant is removed, too, or the next check counts.
    END IF;
    UPDATE vector_counts SET vectors = vector_counts.vectors - gone.vectors,
        deleted = vector_counts.deleted - gone.deleted, items = vector_counts.items - gone.items
    FROM (SELECT model, sum(own.vectors) AS vectors, sum(own.deleted) AS deleted, sum(own.items) AS items FROM (
              SELECT vectors.model, count(*) AS vectors, count(*) FILTER (WHERE vectors.life = 'deleted') AS deleted,
                  0 AS items
              FROM memories JOIN memory_vectors AS vectors USING (tenant_id, memory_id)
              WHERE memories.tenant_id = wanted_tenant AND memories.user_id = wanted_user
              GROUP BY vectors.model
              UNION ALL
              SELECT model, 0, 0, count(DISTINCT row_id) FROM item_vectors
              WHERE tenant_id = wanted_tenant AND user_id = wanted_user GROUP BY model) AS own
          GROUP BY model) AS gone
    WHERE vector_counts.tenant_id = wanted_tenant AND vector_counts.model = gone.model;
END
$$;

-- Fold the words of the newest memories of an audience into its lists, 512 memories at a time (8,192 where so many
-- wait); until then they are few enough to be scanned.
CREATE OR REPLACE FUNCTION keeps.fold_words(wanted_tenant text, wanted_audience text, wanted_life text) RETURNS void
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
        UPDATE audience_words SET next_place = held.memories, folded_to = held.memories, version = keeps.new_version()
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

-- Keep the lists in step with the words of a memory.
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
CREATE OR REPLACE TRIGGER memory_words_gone AFTER DELETE ON keeps.memory_words FOR EACH ROW EXECUTE FUNCTION keeps.follow_words();
CREATE OR REPLACE TRIGGER memory_words_moved BEFORE UPDATE OF audience, life, agent, words, counts ON keeps.memory_words
    FOR EACH ROW WHEN ((OLD.audience, OLD.life, OLD.agent, OLD.words, OLD.counts)
        <> (NEW.audience, NEW.life, NEW.agent, NEW.words, NEW.counts)) EXECUTE FUNCTION keeps.follow_words();

-- Fold words where enough have arrived.
CREATE OR REPLACE FUNCTION keeps.fold_arrived() RETURNS trigger
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
CREATE OR REPLACE TRIGGER memory_words_arrived AFTER INSERT ON keeps.memory_words
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.fold_arrived();
CREATE OR REPLACE TRIGGER memory_words_changed AFTER UPDATE ON keeps.memory_words
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.fold_arrived();

-- Remove the lists of a removed audience.
CREATE OR REPLACE FUNCTION keeps.drop_postings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM postings WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
    DELETE FROM vector_bits WHERE tenant_id = OLD.tenant_id AND audience = OLD.audience AND life = OLD.life;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER audience_words_gone AFTER DELETE ON keeps.audience_words FOR EACH ROW
    EXECUTE FUNCTION keeps.drop_postings();

-- Remove the audience and the counts of a removed user or tenant before the words and vectors of each memory would be
-- removed one by one.
CREATE OR REPLACE FUNCTION keeps.drop_audience() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'tenants' THEN
        DELETE FROM audience_words WHERE tenant_id = OLD.tenant_id;
        DELETE FROM vector_counts WHERE tenant_id = OLD.tenant_id;
    ELSE
        DELETE FROM audience_words WHERE tenant_id = OLD.tenant_id AND audience = OLD.user_id;
        PERFORM discount_vectors(OLD.tenant_id, OLD.user_id);
    END IF;
    RETURN OLD;
END
$$;
CREATE OR REPLACE TRIGGER users_words_gone BEFORE DELETE ON keeps.users FOR EACH ROW EXECUTE FUNCTION keeps.drop_audience();
CREATE OR REPLACE TRIGGER tenants_words_gone BEFORE DELETE ON keeps.tenants FOR EACH ROW EXECUTE FUNCTION keeps.drop_audience();

-- Arrays of audiences that a process holds (ADR 58).

-- The memories that events after a number are about: of the current user or a space, or for '' of the tenant's shared ones. One row
-- is NULL if there are more than at_most, or ten times as many events. Ids alone leave the function: what was shared is
-- seen by all, and a row is read under the caller's own policies. A bound agent is told nothing.
CREATE OR REPLACE FUNCTION keeps.changed_memories(wanted_audience text, after bigint, at_most integer)
    RETURNS TABLE (memory_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    asking text := NULLIF(current_setting('app.current_user', true), '');
BEGIN
    IF asking IS NULL OR (wanted_audience NOT IN ('', asking) AND wanted_audience <> ALL (open_spaces('reader')))
        OR NULLIF(current_setting('app.bound_agent', true), '') IS NOT NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH said AS MATERIALIZED (
        SELECT subject FROM events
        WHERE tenant_id = tenant AND (wanted_audience = '' OR user_id = wanted_audience) AND sequence > after
          AND type LIKE 'memory.%' AND subject ~ '^[0-9a-f-]{36}$'
        ORDER BY sequence LIMIT 10 * GREATEST(at_most, 0) + 1
    ), found AS MATERIALIZED (
        SELECT DISTINCT said.subject::uuid AS changed_id FROM said
        WHERE wanted_audience <> '' OR EXISTS (
            SELECT FROM memories
            WHERE memories.tenant_id = tenant AND memories.memory_id = said.subject::uuid
              AND visibility = 'tenant' AND deleted_at IS NULL)
        LIMIT GREATEST(at_most, 0) + 1
    )
    SELECT changed_id FROM found
    UNION ALL
    SELECT NULL WHERE (SELECT count(*) FROM said) > 10 * GREATEST(at_most, 0)
                   OR (SELECT count(*) FROM found) > GREATEST(at_most, 0);
END
$$;

-- The versions of some audiences, for processes that hold them: numbers only. One that has no memories has none.
CREATE OR REPLACE FUNCTION keeps.audience_versions(wanted_tenants text[], wanted_audiences text[])
    RETURNS TABLE (tenant_id text, audience text, version bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT held.tenant_id, held.audience, bit_xor(held.version)
    FROM unnest(wanted_tenants, wanted_audiences) AS wanted(tenant_id, audience)
    JOIN audience_words AS held USING (tenant_id, audience)
    GROUP BY held.tenant_id, held.audience;
END
$$;

-- The hits of a question, read as the user who asks, if the audiences still have the versions that they were found in,
-- and the user the spaces that were known; else one row that says so. One statement, so that both are of one moment. It
-- names the tenant and the user itself, for its own transaction only.
CREATE OR REPLACE FUNCTION keeps.recall_hits(wanted_tenant text, wanted_user text, wanted_agent text,
    wanted_acting text, known_spaces text[], audiences text[], versions bigint[], wanted uuid[])
    RETURNS TABLE (elsewhere text, current boolean,
    tenant_id text, memory_id uuid, user_id text, agent_id text, session_id text, kind text, layer text, namespace
    text, key text, content text, value jsonb, content_type text, role text, trigger_condition text, procedure_type
    text, metadata jsonb, tags text[], source text, importance double precision, visibility text, content_hash bytea,
    valid_from timestamptz, valid_to timestamptz, superseded_by uuid, expires_at timestamptz, archived_at timestamptz,
    deleted_at timestamptz, held_for text, document_id uuid, version integer, created_at timestamptz,
    updated_at timestamptz, access_count bigint, last_accessed_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.current_tenant', wanted_tenant, true), set_config('app.current_user', wanted_user, true),
        set_config('app.bound_agent', wanted_agent, true), set_config('app.acting_user', wanted_acting, true);
    RETURN QUERY
    SELECT keeps.elsewhere(wanted_tenant), held.current,
        memories.tenant_id, memories.memory_id, memories.user_id, memories.agent_id, memories.session_id,
        memories.kind, memories.layer, memories.namespace, memories.key, memories.content, memories.value,
        memories.content_type, memories.role, memories.trigger_condition, memories.procedure_type, memories.metadata,
        memories.tags, memories.source, memories.importance, memories.visibility, memories.content_hash,
        memories.valid_from, memories.valid_to, memories.superseded_by, memories.expires_at, memories.archived_at,
        memories.deleted_at, memories.held_for, memories.document_id, memories.version, memories.created_at,
        memories.updated_at, readings.access_count, readings.last_accessed_at
    FROM (SELECT keeps.open_spaces('reader') = known_spaces AND bool_and(COALESCE(found.version, 0) = asked.version)
              AS current
          FROM unnest(audiences, versions) AS asked(audience, version)
          LEFT JOIN (SELECT audience_words.audience, bit_xor(audience_words.version) AS version FROM audience_words
                     WHERE tenant_id = wanted_tenant AND audience_words.audience = ANY (audiences)
                     GROUP BY audience_words.audience) AS found USING (audience)) AS held
    LEFT JOIN memories ON held.current AND tenant_id = wanted_tenant AND memory_id = ANY (wanted)
    LEFT JOIN LATERAL (
        SELECT memory_access.access_count, memory_access.last_accessed_at FROM memory_access
        WHERE memory_access.tenant_id = wanted_tenant AND memory_access.memory_id = memories.memory_id
        LIMIT 1) AS readings ON true;
END
$$;

-- The same for servers of the release before, which know no spaces.
CREATE OR REPLACE FUNCTION keeps.recall_hits(wanted_tenant text, wanted_user text, wanted_agent text, shared bigint,
    own bigint, wanted uuid[]) RETURNS TABLE (elsewhere text, current boolean,
    tenant_id text, memory_id uuid, user_id text, agent_id text, session_id text, kind text, layer text, namespace
    text, key text, content text, value jsonb, content_type text, role text, trigger_condition text, procedure_type
    text, metadata jsonb, tags text[], source text, importance double precision, visibility text, content_hash bytea,
    valid_from timestamptz, valid_to timestamptz, superseded_by uuid, expires_at timestamptz, archived_at timestamptz,
    deleted_at timestamptz, held_for text, document_id uuid, version integer, created_at timestamptz,
    updated_at timestamptz, access_count bigint, last_accessed_at timestamptz)
    LANGUAGE sql STABLE SECURITY INVOKER SET search_path = keeps, public, pg_temp AS $$
    SELECT * FROM keeps.recall_hits(wanted_tenant, wanted_user, wanted_agent, wanted_user, '{}',
        ARRAY['', wanted_user], ARRAY[shared, own], wanted)
$$;

-- What a context reads besides what its question finds, as the user who asks: one row with the notes of conversations
-- and the state of the sources, then memories, each with the part that it is read for. parts: some of session,
-- last_session, identity, knowledge and standing. One statement, which names the tenant and the user itself, for its
-- own transaction only. Generic plans, as in any other transaction.
CREATE OR REPLACE FUNCTION keeps.context_rows(wanted_tenant text, wanted_user text, wanted_agent text, parts text[],
    wanted_session text, asking_agent text, moment timestamptz, wanted_model text, messages integer, most integer)
    RETURNS TABLE (elsewhere text, part text, notes jsonb, last_notes jsonb, sources bigint, changed timestamptz,
    versions bigint, vectors bigint, memory keeps.memories)
    LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    fresh jsonb;
    before jsonb;
    known record;
BEGIN
    PERFORM set_config('app.current_tenant', wanted_tenant, true), set_config('app.current_user', wanted_user, true),
        set_config('app.bound_agent', wanted_agent, true), set_config('plan_cache_mode', 'force_generic_plan', true);
    -- The notes of this conversation that are still fresh.
    IF 'session' = ANY (parts) THEN
        SELECT notes INTO fresh FROM session_notes
        WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND session_id = wanted_session
          AND agent_id = wanted_agent AND expires_at > moment;
    END IF;
    -- The notes of the user's last conversation but this one.
    IF 'last_session' = ANY (parts) THEN
        SELECT notes INTO before FROM session_notes
        WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND session_id IS DISTINCT FROM wanted_session
          AND expires_at > moment
        ORDER BY expires_at DESC LIMIT 1;
    END IF;
    -- What changes when anything that can be looked up does, or has its vector.
    SELECT count(*) AS sources, max(updated_at) AS changed, sum(version) AS versions,
        count(*) FILTER (WHERE EXISTS (SELECT FROM memory_vectors
                                       WHERE memory_vectors.tenant_id = wanted_tenant
                                         AND memory_vectors.memory_id = memories.memory_id
                                         AND memory_vectors.model = wanted_model)) AS vectors
    INTO known FROM memories
    WHERE 'knowledge' = ANY (parts) AND tenant_id = wanted_tenant
      AND (user_id = wanted_user OR visibility = 'tenant' OR user_id = ANY (keeps.open_spaces('reader'))) AND namespace IN ('sources', 'tools')
      AND key IS NOT NULL AND content_type = 'source' AND value ->> 'kind' IN ('document', 'database', 'api')
      AND deleted_at IS NULL AND superseded_by IS NULL AND (expires_at IS NULL OR expires_at > moment);
    RETURN QUERY SELECT keeps.elsewhere(wanted_tenant), 'state', fresh, before, known.sources, known.changed,
        known.versions, known.vectors, NULL::memories;
    -- The last messages of a conversation without fresh notes, newest first.
    IF 'session' = ANY (parts) AND fresh IS NULL THEN
        RETURN QUERY SELECT NULL, 'session', NULL::jsonb, NULL::jsonb, NULL::bigint, NULL::timestamptz, NULL::bigint,
            NULL::bigint, memories
        FROM memories
        WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND session_id = wanted_session AND kind = 'episodic'
          AND content_type IN ('message', 'tool_result') AND deleted_at IS NULL
        ORDER BY valid_from DESC, memory_id DESC
        LIMIT messages;
    END IF;
    -- The summary of the user's last conversation that is over.
    IF 'last_session' = ANY (parts) THEN
        RETURN QUERY SELECT NULL, 'last_session', NULL::jsonb, NULL::jsonb, NULL::bigint, NULL::timestamptz,
            NULL::bigint, NULL::bigint, memories
        FROM memories
        WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND namespace = 'sessions' AND key IS NOT NULL
          AND deleted_at IS NULL AND superseded_by IS NULL AND session_id IS DISTINCT FROM wanted_session
        ORDER BY valid_from DESC, updated_at DESC LIMIT 1;
    END IF;
    -- What is known of the user, the most important first.
    IF 'identity' = ANY (parts) THEN
        RETURN QUERY SELECT NULL, 'identity', NULL::jsonb, NULL::jsonb, NULL::bigint, NULL::timestamptz, NULL::bigint,
            NULL::bigint, memories
        FROM memories
        WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND namespace = 'facts' AND key IS NOT NULL
          AND key LIKE 'user/%' AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL
          AND (valid_to IS NULL OR valid_to > moment) AND (expires_at IS NULL OR expires_at > moment)
        ORDER BY importance DESC, valid_from DESC LIMIT 10;
    END IF;
    -- One's own memories that are told whatever is asked: what defines the user, what matters most, and skills that
    -- the asking agent may use; the most important first, then the newest. What ends by itself is not among them, but
    -- for dated facts, until their date.
    IF 'standing' = ANY (parts) THEN
        RETURN QUERY SELECT NULL, 'standing', NULL::jsonb, NULL::jsonb, NULL::bigint, NULL::timestamptz, NULL::bigint,
            NULL::bigint, memories
        FROM (
            (SELECT memory_id FROM memories
             WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND kind = 'semantic' AND importance >= 0.7
               AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL AND expires_at IS NULL
               AND valid_to IS NULL AND content_type <> 'source'
             ORDER BY importance DESC, created_at DESC, memory_id DESC LIMIT most)
            UNION
            (SELECT memory_id FROM memories
             WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND namespace = 'facts' AND key IS NOT NULL
               AND key LIKE 'user/%' AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL
               AND expires_at IS NULL AND valid_to IS NULL
             ORDER BY importance DESC, created_at DESC, memory_id DESC LIMIT most)
            UNION
            (SELECT memory_id FROM memories
             WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND namespace = 'facts'
               AND key >= 'user/statement/' AND key < 'user/statement0' AND deleted_at IS NULL
               AND superseded_by IS NULL AND expires_at > moment AND valid_to IS NULL
             ORDER BY expires_at, memory_id LIMIT most)
            UNION
            (SELECT memory_id FROM memories
             WHERE tenant_id = wanted_tenant AND user_id = wanted_user AND kind = 'procedural'
               AND (asking_agent IS NULL OR agent_id IS NULL OR agent_id = asking_agent)
               AND deleted_at IS NULL AND superseded_by IS NULL AND archived_at IS NULL AND expires_at IS NULL
               AND valid_to IS NULL
             ORDER BY importance DESC, created_at DESC, memory_id DESC LIMIT most)
        ) AS chosen JOIN memories ON tenant_id = wanted_tenant AND memories.memory_id = chosen.memory_id
        ORDER BY kind DESC, importance DESC, created_at DESC, memories.memory_id DESC;
    END IF;
END
$$;

-- Cells.

-- The tables with rows of tenants, which a move takes along. For administrators.
CREATE OR REPLACE FUNCTION keeps_cells.tenant_tables() RETURNS SETOF text
    LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT relname::text FROM pg_class
    WHERE relnamespace = 'keeps'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant_id')
    ORDER BY relname
$$;

-- The number that a tenant's id hashes to.
CREATE OR REPLACE FUNCTION keeps.tenant_hash(wanted text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(convert_to(wanted, 'UTF8'));

-- The cell of a tenant, where it is not this one.
CREATE OR REPLACE FUNCTION keeps.elsewhere(wanted text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
BEGIN
    RETURN (SELECT cell FROM placements WHERE tenant_hash = sha256(convert_to(wanted, 'UTF8'))
            AND NOT (cell = 'main' AND EXISTS (SELECT FROM cells)));
END
$$;

-- Take a writer's turn of the tenant until commit, then return its cell. Volatile, so that a move that committed
-- while it waited is seen.
CREATE OR REPLACE FUNCTION keeps.take_turn(wanted text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('keeps.write.' || wanted, 0));
    RETURN (SELECT cell FROM placements WHERE tenant_hash = sha256(convert_to(wanted, 'UTF8'))
            AND NOT (cell = 'main' AND EXISTS (SELECT FROM cells)));
END
$$;

-- The cell of a tenant, or of a new one the cell that it shall have; NULL for this one. Asked in main, before a
-- tenant is made.
CREATE OR REPLACE FUNCTION keeps.place_tenant(wanted text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    found text;
BEGIN
    -- One that is known is not waited for.
    IF NOT EXISTS (SELECT FROM cells) OR EXISTS (SELECT FROM tenants WHERE tenant_id = wanted)
        OR EXISTS (SELECT FROM placements WHERE tenant_hash = tenant_hash(wanted)) THEN
        RETURN elsewhere(wanted);
    END IF;
    PERFORM take_turn(wanted);
    IF EXISTS (SELECT FROM tenants WHERE tenant_id = wanted)
        OR EXISTS (SELECT FROM placements WHERE tenant_hash = tenant_hash(wanted)) THEN
        RETURN (SELECT cell FROM placements WHERE tenant_hash = tenant_hash(wanted) AND cell <> 'main');
    END IF;
    SELECT name INTO found FROM cells WHERE weight > 0 ORDER BY -ln(1 - random()) / weight LIMIT 1 FOR SHARE;
    IF found IS NULL OR found = 'main' THEN
        RETURN NULL;
    END IF;
    INSERT INTO placements (tenant_hash, cell) VALUES (tenant_hash(wanted), found);
    RETURN found;
END
$$;

-- Whether this database is or was a cell.
CREATE OR REPLACE FUNCTION keeps.has_placements() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
    SELECT EXISTS (SELECT FROM placements)
$$;

-- The cells and their weights.
CREATE OR REPLACE FUNCTION keeps.list_cells() RETURNS TABLE (name text, address bytea, key_id text, weight integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
    SELECT cells.name, cells.address, cells.key_id, cells.weight FROM cells ORDER BY added_at, cells.name
$$;

-- Tenants that have rows here but live in another cell: left by a move, or a copy under way.
CREATE OR REPLACE FUNCTION keeps.tenants_elsewhere() RETURNS TABLE (tenant_id text, cell text, arriving boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
    SELECT tenants.tenant_id, placements.cell, placements.arriving
    FROM tenants JOIN placements ON placements.tenant_hash = tenant_hash(tenants.tenant_id)
    WHERE NOT (placements.cell = 'main' AND EXISTS (SELECT FROM cells)) AND placements.cell <> '(frozen)'
    ORDER BY tenants.tenant_id
$$;

-- Frozen tenants. A freeze reads all rows of the current tenant as text, in batches, and removes them; a thaw inserts
-- the batches. Both skip triggers, so that rows come back as they were (the block at the end of this file).

-- The tables with rows of tenants and their columns, without generated ones; a table comes after those it refers to.
CREATE OR REPLACE FUNCTION keeps.carried_tables() RETURNS TABLE (name text, columns text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
BEGIN
    RETURN QUERY WITH RECURSIVE held AS (
        SELECT pg_class.oid, relname::text AS name FROM pg_class
        WHERE relnamespace = 'keeps'::regnamespace AND relname::text IN (SELECT tenant_tables())
    ), leads AS (
        SELECT DISTINCT conrelid, confrelid FROM pg_constraint
        WHERE contype = 'f' AND connamespace = 'keeps'::regnamespace AND conrelid <> confrelid
    ), levels AS (
        SELECT held.oid, 0 AS level FROM held
        UNION
        SELECT leads.conrelid, levels.level + 1 FROM levels JOIN leads ON leads.confrelid = levels.oid
    )
    SELECT held.name, (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
                       WHERE attrelid = held.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '')
    FROM held JOIN levels USING (oid) GROUP BY held.oid, held.name ORDER BY max(levels.level), held.name;
END
$$;

-- This database, as its bundles name it. A copy of it, such as a restored one, has another timeline or name.
CREATE OR REPLACE FUNCTION keeps.bundle_origin() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    cluster text := '';
BEGIN
    BEGIN
        SELECT system_identifier::text INTO cluster FROM pg_control_system();
    EXCEPTION WHEN insufficient_privilege THEN
        NULL;
    END;
    RETURN concat_ws(' ', cluster, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), current_database());
END
$$;

-- Those of them that have rows of the current tenant.
CREATE OR REPLACE FUNCTION keeps.carry_tables() RETURNS TABLE (name text, columns text[])
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    has_rows boolean;
BEGIN
    PERFORM set_config('app.carrying', 'yes', true);
    FOR name, columns IN SELECT each.name, each.columns
                         FROM carried_tables() WITH ORDINALITY AS each(name, columns, place) ORDER BY place LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE tenant_id = $1)', name) INTO has_rows
            USING NULLIF(current_setting('app.current_tenant', true), '');
        IF has_rows THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    PERFORM set_config('app.carrying', '', true);
END
$$;

-- Take the tenant's turn to be frozen, in a transaction with one snapshot. False: another process freezes or thaws it.
-- A change that was committed after the snapshot is a serialization failure, so the transaction is tried again.
CREATE OR REPLACE FUNCTION keeps.freeze_lock() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keeps.freeze.' || tenant, 0)) THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('keeps.write.' || tenant, 0));
    PERFORM FROM tenants WHERE tenant_id = tenant FOR UPDATE;
    RETURN FOUND;
END
$$;

-- Name a bundle before it is written. False: the tenant has none here, or an entry that has to be removed first.
CREATE OR REPLACE FUNCTION keeps.freeze_begin(new_bundle text, new_sealed bytea, new_key_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF NOT EXISTS (SELECT FROM tenants WHERE tenant_id = tenant) OR elsewhere(tenant) IS NOT NULL THEN
        RETURN false;
    END IF;
    INSERT INTO frozen (tenant_hash, state, bundle, sealed, key_id)
    VALUES (tenant_hash(tenant), 'freezing', new_bundle, new_sealed, new_key_id) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Open the rows of a table for carry_next, and return the first.
CREATE OR REPLACE FUNCTION keeps.carry_open(wanted text, columns text[], at_most_bytes integer) RETURNS TABLE (batch text,
    held integer, more boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
DECLARE
    rows_of_table refcursor := 'keeps_carried';
BEGIN
    IF wanted NOT IN (SELECT tenant_tables()) THEN
        RAISE EXCEPTION USING ERRCODE = 'KF001', MESSAGE = format('%s is not a table of tenants', wanted);
    END IF;
    IF NOT EXISTS (SELECT FROM frozen WHERE frozen.tenant_hash = keeps.tenant_hash(
            NULLIF(current_setting('app.current_tenant', true), '')) AND state = 'freezing') THEN
        RAISE EXCEPTION USING ERRCODE = 'KF001', MESSAGE = 'no freeze of the tenant has begun';
    END IF;
    PERFORM set_config('app.carrying', 'yes', true);
    IF EXISTS (SELECT FROM pg_cursors WHERE name = 'keeps_carried') THEN
        CLOSE rows_of_table;
    END IF;
    OPEN rows_of_table NO SCROLL FOR EXECUTE format('SELECT json_build_array(%s)::text FROM keeps.%I WHERE tenant_id = $1',
        (SELECT string_agg(format('%I::text', name), ', ' ORDER BY place) FROM unnest(columns) WITH ORDINALITY
            AS each(name, place)), wanted) USING NULLIF(current_setting('app.current_tenant', true), '');
    RETURN QUERY SELECT * FROM keeps.carry_next(at_most_bytes);
END
$$;

-- The next rows of the open table, as a JSON array of arrays of texts, and whether there may be more. Settings fix how values are
-- written, so that they are read as the same values.
CREATE OR REPLACE FUNCTION keeps.carry_next(at_most_bytes integer) RETURNS TABLE (batch text, held integer, more boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp SET timezone = 'UTC'
    SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = '1' SET bytea_output = 'hex' AS $$
DECLARE
    rows_of_table refcursor := 'keeps_carried';
    line text;
    lines text[] := '{}';
    size integer := 0;
BEGIN
    held := 0;
    more := true;
    PERFORM set_config('app.carrying', 'yes', true);
    WHILE size < at_most_bytes LOOP
        FETCH rows_of_table INTO line;
        more := FOUND;
        EXIT WHEN NOT FOUND;
        lines := array_append(lines, line);
        size := size + octet_length(line);
        held := held + 1;
    END LOOP;
    PERFORM set_config('app.carrying', '', true);
    batch := '[' || array_to_string(lines, ',') || ']';
    RETURN NEXT;
END
$$;

-- Remove the rows of the current tenant, which a verified bundle holds, and enter it as frozen. Returns the rows removed.
CREATE OR REPLACE FUNCTION keeps.freeze_end(wanted_bundle text, new_digest bytea, new_held bigint, new_bytes bigint,
    new_key_hashes bytea[], new_sealed bytea, new_sealed_keys bytea, new_key_id text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    table_name text;
    gone bigint;
    removed bigint := 0;
BEGIN
    UPDATE frozen SET state = 'frozen', digest = new_digest, held = new_held, bytes = new_bytes,
        key_hashes = new_key_hashes, sealed = new_sealed, sealed_keys = new_sealed_keys, key_id = new_key_id,
        frozen_at = now(), revision = (SELECT version_num FROM keeps.alembic_version)
    WHERE frozen.tenant_hash = tenant_hash(tenant) AND bundle = wanted_bundle AND state = 'freezing';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KF001', MESSAGE = 'another process removed the entry of this bundle';
    END IF;
    PERFORM set_config('app.carrying', 'yes', true);
    FOR table_name IN SELECT name FROM carried_tables() WITH ORDINALITY AS each(name, columns, place) ORDER BY place DESC LOOP
        EXECUTE format('DELETE FROM keeps.%I WHERE tenant_id = $1', table_name) USING tenant;
        GET DIAGNOSTICS gone = ROW_COUNT;
        removed := removed + gone;
    END LOOP;
    PERFORM set_config('app.carrying', '', true);
    IF removed <> new_held THEN
        RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = 'rows of the tenant changed meanwhile';
    END IF;
    INSERT INTO placements (tenant_hash, cell) VALUES (tenant_hash(tenant), '(frozen)')
    ON CONFLICT ON CONSTRAINT placements_pkey DO UPDATE SET cell = EXCLUDED.cell, arriving = false;
    RETURN removed;
END
$$;

-- Take the turn to thaw the current tenant, until commit. Returns its state; 'busy' while another process thaws it, NULL
-- if it is not frozen.
CREATE OR REPLACE FUNCTION keeps.thaw_lock() RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keeps.freeze.' || tenant, 0)) THEN
        RETURN 'busy';
    END IF;
    RETURN (SELECT state FROM frozen WHERE frozen.tenant_hash = tenant_hash(tenant));
END
$$;

-- Insert a batch of rows of the current tenant, by the columns that it has; the others get their defaults.
CREATE OR REPLACE FUNCTION keeps.carry_load(wanted text, columns text[], batch text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, public, pg_temp
    SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    names text;
    casts text;
    found_columns bigint;
    stored integer;
BEGIN
    UPDATE frozen SET loaded_digest = sha256(COALESCE(loaded_digest, '') || sha256(convert_to(wanted || E'\n' || batch, 'UTF8')))
    WHERE frozen.tenant_hash = tenant_hash(tenant) AND state = 'frozen';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KF001', MESSAGE = 'the tenant is not frozen';
    END IF;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY place),
           string_agg(format('(line ->> %s)::%s', place - 1, format_type(atttypid, atttypmod)), ', ' ORDER BY place), count(*)
    INTO names, casts, found_columns
    FROM unnest(columns) WITH ORDINALITY AS each(name, place)
    JOIN pg_attribute ON attname = each.name AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        AND attrelid = (SELECT pg_class.oid FROM pg_class WHERE relnamespace = 'keeps'::regnamespace AND relname = wanted
            AND relname::text IN (SELECT tenant_tables()));
    IF found_columns <> cardinality(columns) THEN
        RAISE EXCEPTION USING ERRCODE = 'KF001', MESSAGE = format('this schema has no table %s with the columns %s', wanted,
            array_to_string(columns, ', '));
    END IF;
    SET CONSTRAINTS ALL DEFERRED;
    PERFORM set_config('app.carrying', 'yes', true);
    EXECUTE format('INSERT INTO keeps.%I (%s) SELECT %s FROM json_array_elements($1::json) AS line', wanted, names, casts)
        USING batch;
    GET DIAGNOSTICS stored = ROW_COUNT;
    PERFORM set_config('app.carrying', '', true);
    RETURN stored;
END
$$;

-- Enter that all rows are here. Fails unless they are those that were frozen.
CREATE OR REPLACE FUNCTION keeps.thaw_loaded() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
BEGIN
    UPDATE frozen SET state = 'loaded', loaded_digest = NULL
    WHERE frozen.tenant_hash = tenant_hash(NULLIF(current_setting('app.current_tenant', true), '')) AND state = 'frozen'
        AND loaded_digest = digest;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KF001', MESSAGE = 'the rows of the bundle are not those that were frozen';
    END IF;
END
$$;

-- A tenant that was frozen is here from now on, as after a move: the first cell remembers it.
CREATE OR REPLACE FUNCTION keeps_cells.place_here(wanted text) RETURNS void
    LANGUAGE plpgsql SET search_path = keeps_cells, keeps, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM cells) THEN
        UPDATE placements SET cell = 'main', arriving = false WHERE placements.tenant_hash = tenant_hash(wanted);
    ELSE
        DELETE FROM placements WHERE placements.tenant_hash = tenant_hash(wanted);
    END IF;
END
$$;

-- Let callers in, after overdue rows were removed.
CREATE OR REPLACE FUNCTION keeps.thaw_end(today date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    UPDATE frozen SET state = 'thawed', key_hashes = '{}', sealed_keys = NULL
    WHERE frozen.tenant_hash = tenant_hash(tenant) AND state = 'loaded';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE tenants SET used_on = GREATEST(used_on, today) WHERE tenant_id = tenant;
    PERFORM place_here(tenant);
    RETURN true;
END
$$;

-- The time up to which events of the other tenants were removed while the current one was frozen, if it has older ones.
CREATE OR REPLACE FUNCTION keeps.retirement_due() RETURNS timestamptz
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    before timestamptz;
BEGIN
    SELECT retire_before INTO before FROM frozen WHERE frozen.tenant_hash = tenant_hash(tenant);
    RETURN CASE WHEN EXISTS (SELECT FROM events WHERE tenant_id = tenant AND recorded_at < before) THEN before END;
END
$$;

-- Remove the entry of a bundle that was removed, of a tenant whose rows are here. False: there is none, or it is in use.
CREATE OR REPLACE FUNCTION keeps.frozen_forget(wanted_bundle text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keeps.freeze.' || tenant, 0)) THEN
        RETURN false;
    END IF;
    DELETE FROM frozen WHERE frozen.tenant_hash = tenant_hash(tenant) AND bundle = wanted_bundle
        AND state IN ('freezing', 'thawed');
    RETURN FOUND;
END
$$;

-- Erase a frozen tenant: its entry, without which nobody can open the bundle.
CREATE OR REPLACE FUNCTION keeps.frozen_erase(wanted_bundle text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keeps.freeze.' || tenant, 0)) THEN
        RETURN false;
    END IF;
    DELETE FROM frozen WHERE frozen.tenant_hash = tenant_hash(tenant) AND bundle = wanted_bundle AND state = 'frozen';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM place_here(tenant);
    RETURN true;
END
$$;

-- Store an entry under another key.
CREATE OR REPLACE FUNCTION keeps.frozen_reseal(wanted_bundle text, old_key_id text, new_sealed bytea,
    new_sealed_keys bytea, new_key_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
BEGIN
    UPDATE frozen SET sealed = new_sealed, sealed_keys = new_sealed_keys, key_id = new_key_id
    WHERE bundle = wanted_bundle AND key_id = old_key_id;
    RETURN FOUND;
END
$$;

-- The entry of a tenant.
CREATE OR REPLACE FUNCTION keeps.frozen_tenant(wanted text) RETURNS TABLE (state text, bundle text, started_at timestamptz,
    frozen_at timestamptz, revision text, held bigint, bytes bigint, digest bytea, sealed bytea, sealed_keys bytea, key_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT entry.state, entry.bundle, entry.started_at, entry.frozen_at, entry.revision, entry.held, entry.bytes,
        entry.digest, entry.sealed, entry.sealed_keys, entry.key_id
    FROM frozen AS entry WHERE entry.tenant_hash = tenant_hash(wanted);
END
$$;

-- All entries after a hash, for operators.
CREATE OR REPLACE FUNCTION keeps.list_frozen(after bytea, at_most integer) RETURNS TABLE (tenant_hash bytea, state text,
    bundle text, started_at timestamptz, frozen_at timestamptz, revision text, held bigint, bytes bigint, sealed bytea,
    sealed_keys bytea, key_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT entry.tenant_hash, entry.state, entry.bundle, entry.started_at, entry.frozen_at, entry.revision,
        entry.held, entry.bytes, entry.sealed, entry.sealed_keys, entry.key_id
    FROM frozen AS entry WHERE entry.tenant_hash > after ORDER BY entry.tenant_hash LIMIT at_most;
END
$$;

-- The sealed keys of the frozen tenant that has a key of this hash.
CREATE OR REPLACE FUNCTION keeps.find_frozen_key(wanted_hash bytea) RETURNS TABLE (bundle text, sealed_keys bytea, key_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT entry.bundle, entry.sealed_keys, entry.key_id FROM frozen AS entry
    WHERE entry.key_hashes @> ARRAY[wanted_hash] AND entry.state IN ('frozen', 'loaded');
END
$$;

-- Note the day of the last call of tenants that are here.
CREATE OR REPLACE FUNCTION keeps.note_use(wanted text[], today date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, pg_temp AS $$
BEGIN
    PERFORM set_config('app.noting_use', 'yes', true);
    UPDATE tenants SET used_on = today
    WHERE tenant_id IN (SELECT tenant_id FROM tenants WHERE tenant_id = ANY (wanted)
        AND used_on IS DISTINCT FROM GREATEST(used_on, today) ORDER BY tenant_id FOR UPDATE);
    PERFORM set_config('app.noting_use', '', true);
END
$$;

-- Tenants without a call since a moment, the longest unused first. Where no day is noted: the last event, and the last
-- use of a key.
CREATE OR REPLACE FUNCTION keeps.unused_tenants(before timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    used_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT known.tenant_id, known.used_at FROM (
        SELECT tenants.tenant_id, CASE WHEN used_on IS NOT NULL THEN used_on::timestamptz + interval '1 day'
            WHEN tenants.created_at >= before THEN tenants.created_at
            ELSE GREATEST(tenants.created_at,
                (SELECT max(events.recorded_at) FROM events WHERE events.tenant_id = tenants.tenant_id
                    AND events.sequence = tenants.last_sequence),
                (SELECT max(api_keys.last_used_at) FROM api_keys WHERE api_keys.tenant_id = tenants.tenant_id)) END AS used_at
        FROM tenants WHERE elsewhere(tenants.tenant_id) IS NULL) AS known
    WHERE known.used_at < before ORDER BY known.used_at, known.tenant_id LIMIT at_most;
END
$$;

-- How far a tenant has come: its last event, what it holds and when it was made. For standbys, which answer only
-- where they have caught up.
CREATE OR REPLACE FUNCTION keeps.reached(wanted text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, pg_temp AS $$
BEGIN
    RETURN (SELECT ARRAY[last_sequence, memory_count, memory_bytes, state_bytes,
                         (extract(epoch FROM created_at) * 1000000)::bigint]
            FROM tenants WHERE tenant_id = wanted);
END
$$;

-- The oldest release that can serve on this schema, by its newest revision. A revision that the release before
-- cannot live with changes it.
CREATE OR REPLACE FUNCTION keeps.serves_from() RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN '0013';

-- Every trigger on rows of tenants is skipped while keeps.freeze_end and keeps.carry_load run, which set app.carrying.
-- keeps_app cannot skip one: the condition holds for it in any case.
DO $guard$
DECLARE
    said text;
    condition text;
BEGIN
    FOR said IN SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                WHERE relnamespace = 'keeps'::regnamespace AND NOT tgisinternal AND tgparentid = 0
                    AND tgtype & 32 = 0  -- 32: TRUNCATE
                    AND pg_get_triggerdef(pg_trigger.oid) NOT LIKE '%app.carrying%' LOOP
        condition := $$current_user = 'keeps_app' OR COALESCE(current_setting('app.carrying', true), '') <> 'yes'$$;
        IF position(' WHEN (' IN said) > 0 THEN
            said := regexp_replace(said, ' WHEN \((.*)\) EXECUTE FUNCTION ', ' WHEN ((' || condition || ') AND (\1)) EXECUTE FUNCTION ');
        ELSE
            said := replace(said, ' EXECUTE FUNCTION ', ' WHEN (' || condition || ') EXECUTE FUNCTION ');
        END IF;
        EXECUTE regexp_replace(said, '^CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER');
    END LOOP;
END $guard$;

-- Nobody calls a function without a grant; policies.sql grants those that keeps_app needs.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA keeps FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA keeps_cells FROM PUBLIC;
