-- The third revision: the log by months, append-only by trigger; replay; retention; webhooks. Runs as keeps_owner.

-- The log by the month in which a row was recorded, so that old months can go as a whole. `time` is when it happened by
-- the clock of who wrote it; `recorded_at` by that of the database.
ALTER TABLE keeps.events RENAME TO events_before;
ALTER TABLE keeps.events_before RENAME CONSTRAINT events_pkey TO events_before_pkey;
DROP INDEX keeps.events_by_subject, keeps.events_by_user;
CREATE TABLE keeps.events (
    tenant_id text NOT NULL,
    sequence bigint NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    source text NOT NULL,
    subject text NOT NULL,
    time timestamptz NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    visibility text NOT NULL CONSTRAINT events_visibility_known CHECK (visibility IN ('private', 'tenant')),
    -- Of the request that wrote it, told to the transaction by the door.
    traceparent text DEFAULT NULLIF(current_setting('app.traceparent', true), ''),
    data jsonb NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, sequence, recorded_at),
    CONSTRAINT events_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
) PARTITION BY RANGE (recorded_at);
CREATE INDEX events_by_subject ON keeps.events (tenant_id, subject, sequence);
CREATE INDEX events_by_user ON keeps.events (tenant_id, user_id, sequence);
COMMENT ON TABLE keeps.events IS 'Everything that happened, append-only, a partition a month; all durable rows can be rebuilt from it.';

-- Rows of no month that has a partition: of before this revision, what retention keeps, and should a month be missing.
CREATE TABLE keeps.events_rest PARTITION OF keeps.events DEFAULT;
ALTER TABLE keeps.events_rest ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps.events_rest FORCE ROW LEVEL SECURITY;

-- Partitions for this month and the three after it. Nobody is granted anything on a partition: reads go by the parent.
CREATE FUNCTION keeps.make_event_partitions() RETURNS integer
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
SELECT keeps.make_event_partitions();
INSERT INTO keeps.events SELECT *, LEAST(time, date_trunc('month', now()) - interval '1 second')
    FROM keeps.events_before;
DROP TABLE keeps.events_before;

-- Append-only, for the owner, too. Only the functions below that redact, erase and retire change the log; they say so.
CREATE FUNCTION keeps.refuse_log_change() RETURNS trigger
    LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
BEGIN
    IF COALESCE(current_setting('app.log_change', true), '') = '' OR current_user = 'keeps_app' THEN
        RAISE EXCEPTION USING ERRCODE = 'KE001', MESSAGE = 'the log of events is append-only';
    END IF;
    RETURN COALESCE(NEW, OLD);
END
$$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE
    ON keeps.events FOR EACH ROW EXECUTE FUNCTION keeps.refuse_log_change();
CREATE TRIGGER events_never_truncated BEFORE TRUNCATE
    ON keeps.events FOR EACH STATEMENT EXECUTE FUNCTION keeps.refuse_log_change();

-- The one function that redacts: takes what some events of the current tenant say out of the log; order and fact of
-- them stay. `kept`: what may still be said. `anonymous`: nor whose they were, nor what they were about.
CREATE FUNCTION keeps.redact_events(sequences bigint[], kept jsonb, anonymous boolean) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    PERFORM set_config('app.log_change', 'redact', true);
    UPDATE events SET data = jsonb_build_object('redacted', true) || kept,
        agent_id = CASE WHEN anonymous OR type LIKE 'memory.%' THEN NULL ELSE agent_id END,
        user_id = CASE WHEN anonymous THEN '' ELSE user_id END,
        visibility = CASE WHEN anonymous THEN 'private' ELSE visibility END,
        traceparent = CASE WHEN anonymous THEN NULL ELSE traceparent END,
        -- The ids of memories and entities say nothing; other subjects are names.
        subject = CASE WHEN anonymous AND subject !~ '^[0-9a-f-]{36}$' THEN '' ELSE subject END
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND sequence = ANY (sequences);
    GET DIAGNOSTICS changed = ROW_COUNT;
    PERFORM set_config('app.log_change', '', true);
    RETURN changed;
END
$$;

-- Hard forgetting: of one memory of the current user, or, of its older truths, those events that carry one content;
-- then the newest stays, since it says what is true now. Takes the answers that carry it, too.
CREATE OR REPLACE FUNCTION keeps.redact_memory_events(wanted_memory_id uuid, wanted_content text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND user_id = wanted AND subject = wanted_memory_id::text
      AND NOT (data ? 'entity' OR data ? 'edge' OR data ? 'entity_id' OR data ? 'relation_id')
      AND (wanted_content IS NULL
           OR (data -> 'memory' ->> 'content' = wanted_content
               AND sequence < (SELECT max(newest.sequence) FROM events AS newest
                               WHERE newest.tenant_id = tenant AND newest.subject = wanted_memory_id::text
                                   AND newest.data ? 'memory')));
    DELETE FROM idempotency_keys
    WHERE tenant_id = tenant AND user_id = wanted AND position(wanted_memory_id::text IN answer::text) > 0;
    RETURN redact_events(found, jsonb_build_object('memory_id', wanted_memory_id), false);
END
$$;

-- The values of a plan's working memory: of one key, or of all.
CREATE OR REPLACE FUNCTION keeps.redact_plan_events(wanted_plan_id text, wanted_key text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND subject = wanted_plan_id AND type LIKE 'plan.state.%'
      AND (wanted_key IS NULL OR data ->> 'key' = wanted_key) AND NOT data ? 'redacted';
    -- Answers kept for retries lose the value, not the fact: whoever tries again must not do it again.
    UPDATE idempotency_keys SET answer = answer || '{"value": null}'
    WHERE tenant_id = tenant
      AND answer ->> 'plan_id' = wanted_plan_id AND answer ? 'value' AND (wanted_key IS NULL
          OR answer ->> 'key' = wanted_key);
    RETURN redact_events(found, jsonb_build_object('plan_id', wanted_plan_id), false);
END
$$;

-- A task context, a plan or a session of the current user.
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
    UPDATE idempotency_keys
    SET answer = (SELECT jsonb_object_agg(part.key, CASE
        WHEN part.key IN ('goal_data', 'state', 'data', 'metadata') THEN '{}'::jsonb
                                                         WHEN part.key = 'sub_tasks' THEN '[]'
                                                         WHEN part.key IN ('name', 'current_state') THEN 'null'
                                                             ELSE part.value END)
                  FROM jsonb_each(answer) AS part)
    WHERE tenant_id = tenant AND user_id = wanted
      AND jsonb_typeof(answer) = 'object' AND NOT answer ? 'value'
      AND wanted_subject = COALESCE(answer ->> 'task_id', answer ->> 'plan_id', answer ->> 'session_id');
    RETURN redact_events(found, '{}', false);
END
$$;

-- Erasure of the current user: the rows, the keys, and of every event what it said, whose it was and what it was about.
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
    DELETE FROM api_keys WHERE tenant_id = tenant AND user_id = wanted;
    UPDATE api_keys SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    UPDATE webhooks SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    DELETE FROM users WHERE tenant_id = tenant AND user_id = wanted;
    SELECT array_agg(sequence) INTO found FROM events WHERE tenant_id = tenant AND user_id = wanted;
    RETURN redact_events(found, '{}', true);
END
$$;

CREATE OR REPLACE FUNCTION keeps.erase_tenant() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    PERFORM set_config('app.log_change', 'erase', true);
    DELETE FROM tenants WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '');
    PERFORM set_config('app.log_change', '', true);
END
$$;

-- Replay. Events about a row carry it whole, so the row is what the last of them says; working memory is folded.

-- Of which row an event says how it is now, or that it is gone; NULL for all others.
CREATE FUNCTION keeps.event_noun(type text, data jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN data ? 'memory' OR type = 'memory.erased' THEN 'memory'
                WHEN data ? 'session' OR type = 'session.deleted' THEN 'session'
                WHEN data ? 'plan' OR type = 'plan.deleted' THEN 'plan'
                WHEN data ? 'task_context' OR type = 'plan.task.deleted' THEN 'task_context' END;

-- The rows of one noun in the current tenant as its events tell them, of those that happened up to `until`.
CREATE FUNCTION keeps.replay_rows(noun text, until timestamptz) RETURNS SETOF jsonb
    LANGUAGE sql STABLE SET search_path = keeps, public, pg_temp AS $$
    SELECT last.data -> noun
    FROM (SELECT DISTINCT ON (user_id, subject) data FROM events
          WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
              AND event_noun(type, data) = noun AND time <= until
          ORDER BY user_id, subject, sequence DESC) AS last
    WHERE last.data ? noun
$$;

-- A key of working memory after one more event.
CREATE FUNCTION keeps.working_step(held keeps.working_memory, event keeps.events) RETURNS keeps.working_memory
    LANGUAGE plpgsql IMMUTABLE SET search_path = keeps, public, pg_temp AS $$
DECLARE
    over boolean := COALESCE(held.expires_at <= event.time, false);
    path text[] := ARRAY(SELECT jsonb_array_elements_text(event.data -> 'path'));
BEGIN
    IF event.type = 'plan.state.deleted' THEN
        RETURN NULL;
    END IF;
    held.created_at := COALESCE((event.data ->> 'created_at')::timestamptz, held.created_at, event.time);
    held.tenant_id := event.tenant_id;
    held.plan_id := event.subject;
    held.key := event.data ->> 'key';
    held.user_id := event.user_id;
    held.version := (event.data ->> 'version')::integer;
    held.updated_at := event.time;
    CASE event.data ->> 'operation'
        WHEN 'set' THEN
            held.value := event.data -> 'value';
            held.expires_at := (event.data ->> 'expires_at')::timestamptz;
        WHEN 'append' THEN
            held.value := json_append(CASE WHEN over THEN NULL ELSE held.value END, path, event.data -> 'item');
            held.expires_at := CASE WHEN over THEN NULL ELSE held.expires_at END;
        WHEN 'increment' THEN
            held.value := json_add(CASE WHEN over THEN NULL
                ELSE held.value END, path, (event.data ->> 'delta')::numeric);
            held.expires_at := CASE WHEN over THEN NULL ELSE held.expires_at END;
    END CASE;
    RETURN held;
END
$$;
CREATE AGGREGATE keeps.working_after(keeps.events) (SFUNC = keeps.working_step, STYPE = keeps.working_memory);

CREATE FUNCTION keeps.replay_working_memory(until timestamptz) RETURNS SETOF keeps.working_memory
    LANGUAGE sql STABLE SET search_path = keeps, public, pg_temp AS $$
    SELECT (folded.held).*
    FROM (SELECT working_after(events ORDER BY sequence) AS held FROM events
          WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND type LIKE 'plan.state.%'
              AND data ? 'key' AND time <= until
          GROUP BY subject, data ->> 'key') AS folded
    WHERE (folded.held).key IS NOT NULL
$$;

-- What is replayed: the table, its key, how its rows are read from events up to $1, and which live rows that must give.
CREATE FUNCTION keeps.replayed_tables() RETURNS TABLE (name text, key text[], source text, live text)
    LANGUAGE sql STABLE AS $$
    SELECT part.name, part.key,
           format('SELECT filled.* FROM keeps.replay_rows(%L, $1) AS image CROSS JOIN LATERAL jsonb_populate_record(NULL::keeps.%I, image) AS filled',
                  part.noun, part.name), 'true'
    FROM (VALUES ('memories', '{memory_id}'::text[], 'memory'), ('sessions', '{user_id,session_id}', 'session'),
                 ('plans', '{user_id,plan_id}', 'plan'), ('task_contexts', '{user_id,task_id}',
                     'task_context')) AS part(name, key, noun)
    UNION ALL
    SELECT 'working_memory', '{plan_id,key}', 'SELECT * FROM keeps.replay_working_memory($1)', 'true'
$$;

-- Where the live rows of the current tenant are not, to the byte, what its events tell: ids and names of columns only.
CREATE FUNCTION keeps.replay_differences(at_most integer) RETURNS TABLE (table_name text, compared bigint,
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
CREATE FUNCTION keeps.replay_counts(until timestamptz) RETURNS TABLE (table_name text, told bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT * FROM replayed_tables() LOOP
        RETURN QUERY EXECUTE format('SELECT %L::text, count(*) FROM (%s) AS told', part.name, part.source) USING until;
    END LOOP;
END
$$;

-- Rebuild a tenant's tables in a schema of their own, from events alone. For PostgreSQL's administrator: it makes a
-- schema.
CREATE FUNCTION keeps.replay_into(target text, tenant text, until timestamptz) RETURNS TABLE (table_name text,
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

-- How far the logs of some tenants go: for subscribers of every process. Numbers only.
CREATE FUNCTION keeps.last_sequences(wanted text[]) RETURNS TABLE (tenant_id text, last_sequence bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT tenants.tenant_id, tenants.last_sequence FROM tenants WHERE tenants.tenant_id = ANY (wanted)
$$;

-- Retention: what a subscriber and `as_of` can no longer reach.
ALTER TABLE keeps.tenants
    ADD COLUMN retired_sequence bigint NOT NULL DEFAULT 0,
    ADD COLUMN retired_until timestamptz;

-- Remove events recorded before `before`, of all tenants, but for those that replay still needs: the last about each
-- row that is there, and of working memory those since it was last set. They move to events_rest; months without others
-- go as a whole. Returns counts.
CREATE FUNCTION keeps.retire_events(before timestamptz) RETURNS TABLE (removed bigint, kept bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    part record;
    month timestamptz;
    here bigint;
BEGIN
    IF before > now() - interval '30 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'KT001',
            MESSAGE = 'events of the last 30 days stay: forgotten memories can be restored so long';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('keeps.partitions')), set_config('app.log_change', 'retire', true);
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
    SELECT count(*) INTO kept FROM needed;
    UPDATE tenants SET retired_sequence = GREATEST(retired_sequence, gone.sequence),
        retired_until = GREATEST(retired_until, gone.until)
    FROM (SELECT events.tenant_id, max(events.sequence) AS sequence, max(events.time) AS until FROM events
          WHERE recorded_at < before AND NOT EXISTS (SELECT FROM needed WHERE needed.tenant_id = events.tenant_id
              AND needed.sequence = events.sequence)
          GROUP BY events.tenant_id) AS gone
    WHERE tenants.tenant_id = gone.tenant_id;
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
    RETURN NEXT;
END
$$;

-- Webhooks: a tenant's events, sent on. `position` is the sequence up to which everything is delivered or given up.
CREATE TABLE keeps.webhooks (
    tenant_id text NOT NULL,
    webhook_id uuid NOT NULL,
    url text NOT NULL,
    types text[] NOT NULL,
    secret text NOT NULL,
    active boolean NOT NULL,
    position bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL,
    leased_until timestamptz,
    last_error text,
    last_delivered_at timestamptz,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, webhook_id),
    CONSTRAINT webhooks_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
CREATE INDEX webhooks_due ON keeps.webhooks (next_attempt_at) WHERE active;
COMMENT ON TABLE keeps.webhooks IS 'Where events of a tenant are sent, how far, and when to try again.';

CREATE TABLE keeps.webhook_failures (
    tenant_id text NOT NULL,
    webhook_id uuid NOT NULL,
    sequence bigint NOT NULL,
    attempts integer NOT NULL,
    error text NOT NULL,
    failed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, webhook_id, sequence),
    CONSTRAINT webhook_failures_webhook_exists FOREIGN KEY (tenant_id, webhook_id) REFERENCES keeps.webhooks
        ON DELETE CASCADE
);
COMMENT ON TABLE keeps.webhook_failures IS
    'Dead letters: events that a webhook was not given after all attempts. The event itself stays in the log.';

-- Which webhooks have something to send now: ids only, so that each is served as keeps_app in its own tenant.
CREATE FUNCTION keeps.webhooks_due(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text, webhook_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT webhooks.tenant_id, webhooks.webhook_id FROM webhooks JOIN tenants USING (tenant_id)
    WHERE webhooks.active AND webhooks.next_attempt_at <= moment AND webhooks.position < tenants.last_sequence
      AND (webhooks.leased_until IS NULL OR webhooks.leased_until < moment)
    ORDER BY webhooks.next_attempt_at LIMIT at_most
$$;

-- Whose the events after a number are: ids only, so that each is read as the user who owns it.
CREATE FUNCTION keeps.event_owners(after bigint, at_most integer) RETURNS TABLE (sequence bigint, user_id text,
    type text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT events.sequence, events.user_id, events.type FROM events
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND events.sequence > after
    ORDER BY events.sequence LIMIT at_most
$$;

-- Erasure counts what is new, too.
CREATE OR REPLACE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'memory_terms', 'memory_vectors', 'sessions', 'plans',
        'plan_correlations',
                                'task_contexts', 'task_subtasks', 'working_memory', 'idempotency_keys', 'api_keys',
                                    'events'] LOOP
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
REVOKE ALL ON FUNCTION keeps.make_event_partitions(), keeps.refuse_log_change(), keeps.redact_events(bigint[], jsonb,
    boolean), keeps.replay_rows(text, timestamptz),
    keeps.replay_working_memory(timestamptz), keeps.replay_differences(integer), keeps.replay_counts(timestamptz),
    keeps.replay_into(text, text, timestamptz), keeps.last_sequences(text[]), keeps.retire_events(timestamptz),
    keeps.webhooks_due(timestamptz, integer), keeps.event_owners(bigint, integer) FROM PUBLIC;
