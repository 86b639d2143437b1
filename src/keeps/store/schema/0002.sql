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
CREATE INDEX events_by_user ON keeps.events (tenant_id, user_id, sequence);

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
