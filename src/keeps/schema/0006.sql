-- The sixth revision: shared state in one statement each, answers kept without what they say, and what is erased goes
-- from all that tells of it. Runs as keeps_owner.

-- Answers kept for retries name what they are about, and say nothing of it; those of before, with their contents, go.
DELETE FROM keeps.idempotency_keys;
ALTER TABLE keeps.idempotency_keys ADD COLUMN about text[] NOT NULL DEFAULT '{}';

-- Answers of the current tenant that tell of one of these things. Whoever asks again is told that it is gone, and it is
-- not done again. `own`: those of the current user only.
CREATE FUNCTION keeps.void_answers(wanted text[], own boolean) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE idempotency_keys SET answer = '{"gone": true}', about = '{}'
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') AND about && wanted
      AND (NOT own OR user_id = NULLIF(current_setting('app.current_user', true), ''));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
REVOKE ALL ON FUNCTION keeps.void_answers(text[], boolean) FROM PUBLIC;

-- As in the third revision; and answers are voided.
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
    IF wanted_content IS NULL THEN
        PERFORM void_answers(ARRAY[wanted_memory_id::text], true);
    END IF;
    RETURN redact_events(found, jsonb_build_object('memory_id', wanted_memory_id), false);
END
$$;

CREATE OR REPLACE FUNCTION keeps.redact_plan_events(wanted_plan_id text, wanted_key text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    found bigint[];
BEGIN
    SELECT array_agg(sequence) INTO found FROM events
    WHERE tenant_id = tenant AND subject = wanted_plan_id AND type LIKE 'plan.state.%'
      AND (wanted_key IS NULL OR data ->> 'key' = wanted_key) AND NOT data ? 'redacted';
    PERFORM void_answers(ARRAY['state:' || wanted_plan_id || COALESCE(chr(31) || wanted_key, '')], false);
    RETURN redact_events(found, jsonb_build_object('plan_id', wanted_plan_id), false);
END
$$;

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

-- Several items at the end of a list, next to each other.
CREATE FUNCTION keeps.json_extend(document jsonb, path text[], items jsonb) RETURNS jsonb
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

-- Some entries of an object; its others stay.
CREATE FUNCTION keeps.json_merge(document jsonb, path text[], entries jsonb) RETURNS jsonb
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

CREATE FUNCTION keeps.json_change(document jsonb, path text[], operation text, given jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE operation WHEN 'append' THEN keeps.json_append(document, path, given)
                          WHEN 'extend' THEN keeps.json_extend(document, path, given)
                          WHEN 'merge' THEN keeps.json_merge(document, path, given)
                          WHEN 'increment' THEN keeps.json_add(document, path, (given #>> '{}')::numeric) END;

-- As in the third revision, with every operation.
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

-- Arrays as rows, as in the second revision; and only what changed is written.
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

-- Webhooks that are due, of each tenant the first few: one tenant's twenty that hang keep nobody else's waiting.
CREATE OR REPLACE FUNCTION keeps.webhooks_due(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    webhook_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT due.tenant_id, due.webhook_id
    FROM (SELECT webhooks.tenant_id, webhooks.webhook_id, webhooks.next_attempt_at,
                 row_number() OVER (PARTITION BY webhooks.tenant_id
                     ORDER BY webhooks.next_attempt_at, webhooks.webhook_id) AS place
          FROM webhooks JOIN tenants USING (tenant_id)
          WHERE webhooks.active AND webhooks.next_attempt_at <= moment AND webhooks.position < tenants.last_sequence
            AND (webhooks.leased_until IS NULL OR webhooks.leased_until < moment)) AS due
    WHERE due.place <= 4
    ORDER BY due.place, due.next_attempt_at LIMIT at_most
$$;

-- How many webhooks have something to send, and since when the oldest of it waits: for metrics.
CREATE FUNCTION keeps.webhooks_behind() RETURNS TABLE (behind bigint, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT count(*), min((SELECT events.recorded_at FROM events WHERE events.tenant_id = webhooks.tenant_id
        AND events.sequence > webhooks.position
                          ORDER BY events.sequence LIMIT 1))
    FROM webhooks JOIN tenants USING (tenant_id) WHERE webhooks.active AND webhooks.position < tenants.last_sequence
$$;
REVOKE ALL ON FUNCTION keeps.webhooks_behind() FROM PUBLIC;

-- What a tenant stores beside memories counts for its quota of bytes, too: state of agents and the graph.
ALTER TABLE keeps.tenants ADD COLUMN state_bytes bigint NOT NULL DEFAULT 0;
CREATE FUNCTION keeps.count_state() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    change record;
    held record;
BEGIN
    FOR change IN EXECUTE CASE TG_OP
        WHEN 'INSERT' THEN 'SELECT tenant_id, sum(octet_length(row_to_json(arrived)::text)) AS bytes FROM arrived GROUP BY tenant_id'
        WHEN 'DELETE' THEN 'SELECT tenant_id, -sum(octet_length(row_to_json(departed)::text)) AS bytes FROM departed GROUP BY tenant_id'
        ELSE 'SELECT tenant_id, sum(bytes) AS bytes FROM (SELECT tenant_id, octet_length(row_to_json(arrived)::text) AS bytes FROM arrived
              UNION ALL SELECT tenant_id, -octet_length(row_to_json(departed)::text)
                  FROM departed) AS both_sides GROUP BY tenant_id' END
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
REVOKE ALL ON FUNCTION keeps.count_state() FROM PUBLIC;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['working_memory', 'plans', 'task_contexts', 'sessions', 'entities', 'relations'] LOOP
        EXECUTE format('CREATE TRIGGER %1$s_state_insert AFTER INSERT ON keeps.%1$I REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE TRIGGER %1$s_state_update AFTER UPDATE ON keeps.%1$I REFERENCING OLD TABLE AS departed NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('CREATE TRIGGER %1$s_state_delete AFTER DELETE ON keeps.%1$I REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_state()', name);
        EXECUTE format('UPDATE keeps.tenants SET state_bytes = state_bytes + held.bytes FROM (SELECT tenant_id, sum(octet_length(row_to_json(each)::text)) AS bytes FROM keeps.%I AS each GROUP BY tenant_id) AS held WHERE held.tenant_id = tenants.tenant_id', name);
    END LOOP;
END
$$;

-- As in the second revision; the bytes are those of memories and state together.
CREATE OR REPLACE FUNCTION keeps.list_tenants(after_tenant_id text, at_most integer)
    RETURNS TABLE (tenant_id text, users bigint, memories bigint, bytes bigint, max_memories bigint, max_bytes bigint,
        created_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT tenants.tenant_id, (SELECT count(*) FROM users
        WHERE users.tenant_id = tenants.tenant_id), tenants.memory_count,
           tenants.memory_bytes + tenants.state_bytes, tenants.max_memories, tenants.max_bytes, tenants.created_at
    FROM tenants WHERE tenants.tenant_id > after_tenant_id ORDER BY tenants.tenant_id LIMIT at_most
$$;

-- As in the second revision; with the bytes of state.
CREATE OR REPLACE FUNCTION keeps.count_memories() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    change record;
    held record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT min(tenant_id) AS tenant_id, count(*) AS memories, COALESCE(sum(memory_size(content, value, metadata,
            tags, trigger_condition)), 0) AS bytes INTO change FROM arrived;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT min(tenant_id) AS tenant_id, -count(*) AS memories, -COALESCE(sum(memory_size(content, value, metadata,
            tags, trigger_condition)), 0) AS bytes INTO change FROM departed;
    ELSE
        SELECT (SELECT min(tenant_id) FROM arrived) AS tenant_id, 0 AS memories,
               COALESCE((SELECT sum(memory_size(content, value, metadata, tags, trigger_condition)) FROM arrived), 0)
                   - COALESCE((SELECT sum(memory_size(content, value, metadata, tags, trigger_condition))
                       FROM departed), 0) AS bytes INTO change;
    END IF;
    IF change.tenant_id IS NULL OR (change.memories = 0 AND change.bytes = 0) THEN
        RETURN NULL;
    END IF;
    UPDATE tenants SET memory_count = memory_count + change.memories, memory_bytes = memory_bytes + change.bytes
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

-- A plan takes its task contexts along; its working memory, which the tenant shares, only when nobody else has a plan
-- of that id.
CREATE OR REPLACE FUNCTION keeps.clear_plan() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM task_contexts WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND plan_id = OLD.plan_id;
    IF NOT EXISTS (SELECT FROM plans WHERE tenant_id = OLD.tenant_id AND plan_id = OLD.plan_id
        AND user_id <> OLD.user_id) THEN
        DELETE FROM working_memory WHERE tenant_id = OLD.tenant_id AND plan_id = OLD.plan_id;
        PERFORM redact_plan_events(OLD.plan_id, NULL);
    END IF;
    RETURN NULL;
END
$$;

-- Who undid an operation is forgotten with them.
CREATE FUNCTION keeps.forget_undoer() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    UPDATE operations SET undone_by = '' WHERE tenant_id = OLD.tenant_id AND undone_by = OLD.user_id;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION keeps.forget_undoer() FROM PUBLIC;
CREATE TRIGGER users_undone_follow AFTER DELETE ON keeps.users FOR EACH ROW EXECUTE FUNCTION keeps.forget_undoer();

-- Whether a job was undone for a memory within the window: what somebody took back is not done to it again.
CREATE FUNCTION keeps.was_undone(wanted_tenant text, wanted_memory_id uuid, wanted_job text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM operation_changes JOIN operations USING (tenant_id, operation_id)
                   WHERE operation_changes.tenant_id = wanted_tenant AND operation_changes.memory_id = wanted_memory_id
                     AND operations.job = wanted_job AND operations.status = 'undone')
$$;
