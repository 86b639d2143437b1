-- The second revision: the state that agents share, keys of access, quotas, answers kept for retries. Runs as
-- keeps_owner.

-- Quotas, kept by the database: what a tenant holds is counted where it changes, and a limit refuses what goes beyond.
ALTER TABLE keeps.tenants
    ADD COLUMN memory_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN memory_bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN max_memories bigint CONSTRAINT tenants_max_memories_positive CHECK (max_memories >= 0),
    ADD COLUMN max_bytes bigint CONSTRAINT tenants_max_bytes_positive CHECK (max_bytes >= 0);

CREATE TABLE keeps.sessions (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL CONSTRAINT sessions_id_length CHECK (char_length(session_id) BETWEEN 1 AND 255),
    name text,
    agent_id text,
    metadata jsonb NOT NULL,
    version integer NOT NULL,
    last_interaction timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, session_id),
    CONSTRAINT sessions_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX sessions_by_time ON keeps.sessions (tenant_id, user_id, created_at DESC, session_id DESC);
COMMENT ON TABLE keeps.sessions IS 'Conversations of a user; each groups plans.';

CREATE TABLE keeps.plans (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    plan_id text NOT NULL CONSTRAINT plans_id_length CHECK (char_length(plan_id) BETWEEN 1 AND 255),
    session_id text,
    parent_plan_id text,
    agent_id text,
    goal_event text NOT NULL,
    goal_data jsonb NOT NULL,
    response_event text,
    status text NOT NULL CONSTRAINT plans_status_known
        CHECK (status IN ('pending', 'running', 'paused', 'completed', 'failed', 'cancelled')),
    state jsonb NOT NULL,
    current_state text,
    correlation_ids text[] NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, plan_id),
    CONSTRAINT plans_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE,
    CONSTRAINT plans_session_exists FOREIGN KEY (tenant_id, user_id, session_id) REFERENCES keeps.sessions
        ON DELETE SET NULL (session_id),
    CONSTRAINT plans_parent_exists FOREIGN KEY (tenant_id, user_id, parent_plan_id) REFERENCES keeps.plans
        ON DELETE CASCADE,
    CONSTRAINT plans_parent_is_another CHECK (parent_plan_id <> plan_id)
) WITH (fillfactor = 70);
CREATE INDEX plans_by_time ON keeps.plans (tenant_id, user_id, created_at DESC, plan_id DESC);
CREATE INDEX plans_by_session ON keeps.plans (tenant_id, user_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX plans_by_parent ON keeps.plans (tenant_id, user_id, parent_plan_id) WHERE parent_plan_id IS NOT NULL;
COMMENT ON TABLE keeps.plans IS 'One goal''s execution, with its plan context: the state machine and what it waits for.';

-- A btree beside the array: array operators are not leakproof, so under row security no GIN index would be used.
CREATE TABLE keeps.plan_correlations (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    correlation_id text NOT NULL,
    plan_id text NOT NULL,
    PRIMARY KEY (tenant_id, user_id, correlation_id, plan_id),
    CONSTRAINT plan_correlations_plan_exists FOREIGN KEY (tenant_id, user_id, plan_id) REFERENCES keeps.plans
        ON DELETE CASCADE
);
CREATE INDEX plan_correlations_by_plan ON keeps.plan_correlations (tenant_id, user_id, plan_id);
COMMENT ON TABLE keeps.plan_correlations IS 'Derived from plans.correlation_ids: which plan waits for an event.';

CREATE TABLE keeps.task_contexts (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    task_id text NOT NULL CONSTRAINT task_contexts_id_length CHECK (char_length(task_id) BETWEEN 1 AND 255),
    plan_id text,
    agent_id text,
    event_type text NOT NULL,
    response_event text,
    response_topic text NOT NULL,
    data jsonb NOT NULL,
    sub_tasks jsonb NOT NULL,
    state jsonb NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, task_id),
    CONSTRAINT task_contexts_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX task_contexts_by_plan ON keeps.task_contexts (tenant_id, user_id, plan_id) WHERE plan_id IS NOT NULL;
COMMENT ON TABLE keeps.task_contexts IS 'One delegated piece of work, to be resumed when its results arrive.';

CREATE TABLE keeps.task_subtasks (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    sub_task_id text NOT NULL,
    task_id text NOT NULL,
    PRIMARY KEY (tenant_id, user_id, sub_task_id, task_id),
    CONSTRAINT task_subtasks_task_exists FOREIGN KEY (tenant_id, user_id, task_id) REFERENCES keeps.task_contexts
        ON DELETE CASCADE
);
CREATE INDEX task_subtasks_by_task ON keeps.task_subtasks (tenant_id, user_id, task_id);
COMMENT ON TABLE keeps.task_subtasks IS 'Derived from task_contexts.sub_tasks: which task waits for a sub-task.';

CREATE TABLE keeps.working_memory (
    tenant_id text NOT NULL,
    plan_id text NOT NULL CONSTRAINT working_memory_plan_length CHECK (char_length(plan_id) BETWEEN 1 AND 255),
    key text NOT NULL CONSTRAINT working_memory_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
    user_id text NOT NULL,
    value jsonb NOT NULL,
    version integer NOT NULL,
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, plan_id, key),
    CONSTRAINT working_memory_value_at_most_4_MiB CHECK (pg_column_size(value) <= 4194304),
    CONSTRAINT working_memory_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX working_memory_by_end ON keeps.working_memory (tenant_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX working_memory_by_user ON keeps.working_memory (tenant_id, user_id);
COMMENT ON TABLE keeps.working_memory IS
    'Key-value state of a plan, shared by the agents of the tenant; user_id wrote it last.';

CREATE TABLE keeps.api_keys (
    tenant_id text NOT NULL,
    key_id uuid NOT NULL,
    user_id text,
    agent_id text,
    name text NOT NULL,
    key_hash bytea NOT NULL CONSTRAINT api_keys_hash_length CHECK (octet_length(key_hash) = 32),
    hint text NOT NULL,
    roles text[] NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, key_id),
    CONSTRAINT api_keys_hash_unique UNIQUE (key_hash),
    CONSTRAINT api_keys_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.api_keys IS 'Keys of access; only their SHA-256 is kept (they are 256 random bits, so no slow hash is needed).';

CREATE TABLE keeps.idempotency_keys (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    idempotency_key text NOT NULL CONSTRAINT idempotency_keys_length CHECK (char_length(idempotency_key) BETWEEN 1
        AND 255),
    request_hash bytea NOT NULL,
    answer jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, user_id, idempotency_key),
    CONSTRAINT idempotency_keys_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX idempotency_keys_by_time ON keeps.idempotency_keys (tenant_id, user_id, created_at);
COMMENT ON TABLE keeps.idempotency_keys IS
    'What a request with an Idempotency-Key did, written with its effect; kept for 24 hours.';

-- What a JSON value is, for messages.
CREATE FUNCTION keeps.json_kind(item jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE jsonb_typeof(item) WHEN 'array' THEN 'a list' WHEN 'object' THEN 'an object' WHEN 'string' THEN 'text'
                WHEN 'number' THEN 'a number' WHEN 'boolean' THEN 'true or false' ELSE 'null' END;

-- Room for a value at a path into JSON: what is missing on the way becomes an object. Errors name the place (KT001).
CREATE FUNCTION keeps.json_room(document jsonb, path text[]) RETURNS jsonb
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

CREATE FUNCTION keeps.json_append(document jsonb, path text[], item jsonb) RETURNS jsonb
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

CREATE FUNCTION keeps.json_add(document jsonb, path text[], delta numeric) RETURNS jsonb
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

-- Arrays as rows, whoever changes them.
CREATE FUNCTION keeps.follow_plan() RETURNS trigger LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM plan_correlations WHERE tenant_id = NEW.tenant_id AND user_id = NEW.user_id AND plan_id = NEW.plan_id;
    INSERT INTO plan_correlations (tenant_id, user_id, correlation_id, plan_id)
    SELECT DISTINCT NEW.tenant_id, NEW.user_id, wanted, NEW.plan_id FROM unnest(NEW.correlation_ids) AS wanted;
    RETURN NULL;
END
$$;
CREATE TRIGGER plans_correlations_follow_insert AFTER INSERT ON keeps.plans FOR EACH ROW
    WHEN (NEW.correlation_ids <> '{}') EXECUTE FUNCTION keeps.follow_plan();
CREATE TRIGGER plans_correlations_follow_update AFTER UPDATE ON keeps.plans FOR EACH ROW
    WHEN (OLD.correlation_ids IS DISTINCT FROM NEW.correlation_ids) EXECUTE FUNCTION keeps.follow_plan();

CREATE FUNCTION keeps.follow_task() RETURNS trigger LANGUAGE plpgsql SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM task_subtasks WHERE tenant_id = NEW.tenant_id AND user_id = NEW.user_id AND task_id = NEW.task_id;
    INSERT INTO task_subtasks (tenant_id, user_id, sub_task_id, task_id)
    SELECT DISTINCT NEW.tenant_id, NEW.user_id, COALESCE(item ->> 'sub_task_id', item #>> '{}'), NEW.task_id
    FROM jsonb_array_elements(NEW.sub_tasks) AS item;
    RETURN NULL;
END
$$;
CREATE TRIGGER task_contexts_subtasks_follow_insert AFTER INSERT ON keeps.task_contexts FOR EACH ROW
    WHEN (NEW.sub_tasks <> '[]') EXECUTE FUNCTION keeps.follow_task();
CREATE TRIGGER task_contexts_subtasks_follow_update AFTER UPDATE ON keeps.task_contexts FOR EACH ROW
    WHEN (OLD.sub_tasks IS DISTINCT FROM NEW.sub_tasks) EXECUTE FUNCTION keeps.follow_task();

-- A plan takes its task contexts and working memory along, also when it goes with its parent or its user. As the owner,
-- bound to the current tenant by policy, since a cascade may run without the rights of the asking user.
CREATE FUNCTION keeps.clear_plan() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    DELETE FROM task_contexts WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND plan_id = OLD.plan_id;
    DELETE FROM working_memory WHERE tenant_id = OLD.tenant_id AND plan_id = OLD.plan_id;
    PERFORM redact_plan_events(OLD.plan_id, NULL);
    RETURN NULL;
END
$$;
CREATE TRIGGER plans_contents_follow AFTER DELETE ON keeps.plans FOR EACH ROW EXECUTE FUNCTION keeps.clear_plan();

-- Takes the values out of the events of a plan's working memory: of one key, or of all. Order and fact of them stay.
CREATE FUNCTION keeps.redact_plan_events(wanted_plan_id text, wanted_key text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE events SET data = jsonb_build_object('redacted', true, 'plan_id', wanted_plan_id)
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND subject = wanted_plan_id AND type LIKE 'plan.state.%'
      AND (wanted_key IS NULL OR data ->> 'key' = wanted_key) AND NOT data ? 'redacted';
    GET DIAGNOSTICS changed = ROW_COUNT;
    -- Answers kept for retries lose the value, not the fact: whoever tries again must not do it again.
    UPDATE idempotency_keys SET answer = answer || '{"value": null}'
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND answer ->> 'plan_id' = wanted_plan_id AND answer ? 'value' AND (wanted_key IS NULL
          OR answer ->> 'key' = wanted_key);
    RETURN changed;
END
$$;

-- The same for a task context, a plan or a session of the current user.
CREATE FUNCTION keeps.redact_own_events(wanted_subject text, wanted_types text[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE events SET data = jsonb_build_object('redacted', true)
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND user_id = NULLIF(current_setting('app.current_user', true), '')
      AND subject = wanted_subject AND type = ANY (wanted_types);
    GET DIAGNOSTICS changed = ROW_COUNT;
    UPDATE idempotency_keys
    SET answer = (SELECT jsonb_object_agg(part.key, CASE
        WHEN part.key IN ('goal_data', 'state', 'data', 'metadata') THEN '{}'::jsonb
                                                         WHEN part.key = 'sub_tasks' THEN '[]'
                                                         WHEN part.key IN ('name', 'current_state') THEN 'null'
                                                             ELSE part.value END)
                  FROM jsonb_each(answer) AS part)
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND user_id = NULLIF(current_setting('app.current_user', true), '')
      AND jsonb_typeof(answer) = 'object' AND NOT answer ? 'value'
      AND wanted_subject = COALESCE(answer ->> 'task_id', answer ->> 'plan_id', answer ->> 'session_id');
    RETURN changed;
END
$$;

-- Hard forgetting of a memory takes the answers that carry it, too.
CREATE OR REPLACE FUNCTION keeps.redact_memory_events(wanted_memory_id uuid, wanted_content text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE events SET data = jsonb_build_object('redacted', true, 'memory_id', wanted_memory_id), agent_id = NULL
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND user_id = NULLIF(current_setting('app.current_user', true), '')
      AND subject = wanted_memory_id::text
      AND (wanted_content IS NULL OR data -> 'memory' ->> 'content' = wanted_content);
    GET DIAGNOSTICS changed = ROW_COUNT;
    DELETE FROM idempotency_keys
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
      AND user_id = NULLIF(current_setting('app.current_user', true), '')
      AND position(wanted_memory_id::text IN answer::text) > 0;
    RETURN changed;
END
$$;

-- Erasure of the current user: the rows, the keys, and of every event what it said, whose it was and what it was about.
CREATE FUNCTION keeps.erase_user() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
    wanted text := NULLIF(current_setting('app.current_user', true), '');
    changed bigint;
BEGIN
    -- What they wrote into the working memory of plans goes from the log of whoever wrote after them, too.
    PERFORM redact_plan_events(plan_id, key) FROM working_memory WHERE tenant_id = tenant AND user_id = wanted;
    DELETE FROM api_keys WHERE tenant_id = tenant AND user_id = wanted;
    UPDATE api_keys SET created_by = '' WHERE tenant_id = tenant AND created_by = wanted;
    DELETE FROM users WHERE tenant_id = tenant AND user_id = wanted;
    UPDATE events SET data = jsonb_build_object('redacted', true), agent_id = NULL, user_id = '',
        visibility = 'private', traceparent = NULL,
        subject = CASE WHEN type LIKE 'memory.%' THEN subject ELSE '' END
    WHERE tenant_id = tenant AND user_id = wanted;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

-- Erasure of the current tenant: everything of it, its log included.
CREATE FUNCTION keeps.erase_tenant() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    DELETE FROM tenants WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
$$;

CREATE INDEX events_by_user ON keeps.events (tenant_id, user_id, sequence);

-- How many rows of each table the current tenant has, or one user of it: for receipts of erasure, counts only.
CREATE FUNCTION keeps.count_rows(wanted_user_id text) RETURNS TABLE (name text, held bigint)
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
END
$$;

-- The users of the current tenant: ids only, for its export.
CREATE FUNCTION keeps.users_of_tenant() RETURNS TABLE (user_id text, created_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT users.user_id, users.created_at FROM users
    WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '') ORDER BY users.user_id
$$;

-- All tenants, for the operator: ids, counts and quotas.
CREATE FUNCTION keeps.list_tenants(after_tenant_id text, at_most integer)
    RETURNS TABLE (tenant_id text, users bigint, memories bigint, bytes bigint, max_memories bigint, max_bytes bigint,
        created_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT tenants.tenant_id, (SELECT count(*) FROM users
        WHERE users.tenant_id = tenants.tenant_id), tenants.memory_count,
           tenants.memory_bytes, tenants.max_memories, tenants.max_bytes, tenants.created_at
    FROM tenants WHERE tenants.tenant_id > after_tenant_id ORDER BY tenants.tenant_id LIMIT at_most
$$;

-- Whose a key is: the one question that is asked before there is a tenant. Only who holds the key can ask it.
CREATE FUNCTION keeps.find_api_key(wanted_hash bytea)
    RETURNS TABLE (tenant_id text, key_id uuid, user_id text, agent_id text, roles text[], expires_at timestamptz,
        revoked_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE api_keys SET last_used_at = now()
    WHERE key_hash = wanted_hash AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');
    RETURN QUERY SELECT api_keys.tenant_id, api_keys.key_id, api_keys.user_id, api_keys.agent_id, api_keys.roles,
                        api_keys.expires_at, api_keys.revoked_at
                 FROM api_keys WHERE key_hash = wanted_hash;
END
$$;

-- What a memory weighs, for quotas.
CREATE FUNCTION keeps.memory_size(content text, value jsonb, metadata jsonb, tags text[],
    trigger_condition text) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN octet_length(content) + COALESCE(octet_length(value::text), 0) + octet_length(metadata::text)
           + octet_length(array_to_string(tags, '')) + COALESCE(octet_length(trigger_condition), 0);

UPDATE keeps.tenants SET memory_count = held.memories, memory_bytes = held.bytes
FROM (SELECT tenant_id, count(*) AS memories, sum(keeps.memory_size(content, value, metadata, tags,
    trigger_condition)) AS bytes
      FROM keeps.memories GROUP BY tenant_id) AS held
WHERE held.tenant_id = tenants.tenant_id;

CREATE FUNCTION keeps.count_memories() RETURNS trigger
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
    RETURNING memory_count, memory_bytes, max_memories, max_bytes INTO held;
    IF change.memories > 0 AND held.memory_count > held.max_memories THEN
        RAISE EXCEPTION USING ERRCODE = 'KQ001', MESSAGE = format('this tenant may hold %s memories',
            held.max_memories);
    ELSIF change.bytes > 0 AND held.memory_bytes > held.max_bytes THEN
        RAISE EXCEPTION USING ERRCODE = 'KQ001', MESSAGE = format('this tenant may hold %s bytes of memories',
            held.max_bytes);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER memories_count_insert AFTER INSERT ON keeps.memories REFERENCING NEW TABLE AS arrived
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_memories();
CREATE TRIGGER memories_count_update AFTER UPDATE
    ON keeps.memories REFERENCING OLD TABLE AS departed NEW TABLE AS arrived
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_memories();
CREATE TRIGGER memories_count_delete AFTER DELETE ON keeps.memories REFERENCING OLD TABLE AS departed
    FOR EACH STATEMENT EXECUTE FUNCTION keeps.count_memories();
REVOKE ALL ON FUNCTION keeps.follow_plan(), keeps.follow_task(), keeps.clear_plan(), keeps.redact_plan_events(text,
    text),
    keeps.redact_own_events(text, text[]), keeps.erase_user(), keeps.erase_tenant(), keeps.count_rows(text),
        keeps.users_of_tenant(), keeps.list_tenants(text, integer),
    keeps.find_api_key(bytea), keeps.count_memories() FROM PUBLIC;
