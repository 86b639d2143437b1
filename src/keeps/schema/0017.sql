-- The state that a plan's agents share stays when one of them is erased, and knows which keys a workflow made. Runs as
-- keeps_owner.

ALTER TABLE keeps.working_memory ADD COLUMN workflow boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN keeps.working_memory.workflow IS
    'Whether a workflow made the key, so that clearing the workflow removes it.';

-- As in the sixth revision, with the workflow. Events of keys that no workflow made do not name it.
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
    held.plan_id := event.subject;
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

-- As in the sixth revision. The new column counts only where it says something, so that rows from before weigh the same
-- when they go as when they came.
CREATE OR REPLACE FUNCTION keeps.count_state() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    weight text := $bytes$octet_length(replace(row_to_json(each)::text, ',"workflow":false', ''))$bytes$;
    change record;
    held record;
BEGIN
    FOR change IN EXECUTE CASE TG_OP
        WHEN 'INSERT' THEN format('SELECT tenant_id, sum(%s) AS bytes FROM arrived AS each GROUP BY tenant_id', weight)
        WHEN 'DELETE' THEN format('SELECT tenant_id, -sum(%s) AS bytes FROM departed AS each GROUP BY tenant_id',
            weight)
        ELSE format('SELECT tenant_id, sum(bytes) AS bytes FROM (SELECT tenant_id, %1$s AS bytes FROM arrived AS each
              UNION ALL SELECT tenant_id, -%1$s FROM departed AS each) AS both_sides GROUP BY tenant_id', weight) END
    LOOP
        UPDATE tenants SET state_bytes = state_bytes + change.bytes WHERE tenants.tenant_id = change.tenant_id
            AND change.bytes <> 0
        RETURNING memory_bytes + state_bytes AS bytes, max_bytes INTO held;
        IF change.bytes > 0 AND held.bytes > held.max_bytes THEN
            RAISE EXCEPTION USING ERRCODE = 'KQ001', MESSAGE = format('this tenant may hold %s bytes', held.max_bytes);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- As in the sixth revision; but a plan that goes with its erased user leaves the keys that others wrote, too.
CREATE OR REPLACE FUNCTION keeps.clear_plan() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM task_contexts WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND plan_id = OLD.plan_id;
    IF current_setting('app.erasing', true) IS DISTINCT FROM 'user' AND NOT EXISTS (SELECT FROM plans
        WHERE tenant_id = OLD.tenant_id AND plan_id = OLD.plan_id AND user_id <> OLD.user_id) THEN
        DELETE FROM working_memory WHERE tenant_id = OLD.tenant_id AND plan_id = OLD.plan_id;
        PERFORM redact_plan_events(OLD.plan_id, NULL);
    END IF;
    RETURN NULL;
END
$$;

-- What the current user wrote last, and others wrote, too, becomes theirs: erasure leaves it.
CREATE FUNCTION keeps.leave_shared_state() RETURNS void
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
              AND writing.user_id <> wanted
              AND EXISTS (SELECT FROM users WHERE users.tenant_id = tenant AND users.user_id = writing.user_id)
          ORDER BY writing.subject, writing.data ->> 'key', writing.sequence DESC) AS other
    WHERE held.tenant_id = tenant AND held.user_id = wanted AND held.plan_id = other.plan_id AND held.key = other.key;
END
$$;
REVOKE ALL ON FUNCTION keeps.leave_shared_state() FROM PUBLIC;

-- As in the fourth revision; but a key that others wrote, too, stays, whoever wrote it last.
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
    PERFORM redact_plan_events(plan_id, key) FROM working_memory WHERE tenant_id = tenant AND user_id = wanted;
    -- A key that others wrote is theirs by now. It is said once more as a whole, so that the log without the erased
    -- user's parts still gives it.
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
               || CASE WHEN shared.workflow THEN '{"workflow": true}'::jsonb ELSE '{}'::jsonb END
        FROM counter;
    END LOOP;
    PERFORM log_cascade(ARRAY(SELECT entity_id FROM entities WHERE tenant_id = tenant AND user_id = wanted),
                        ARRAY(SELECT memory_id FROM memories WHERE tenant_id = tenant AND user_id = wanted));
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
