-- The fifth revision: memories that live. Sessions and their notes, decay and promotion, operations that can be undone,
-- the jobs of a tenant, and the queue that the worker takes them from. Runs as keeps_owner.
ALTER TABLE keeps.sessions ADD COLUMN ended_at timestamptz;

-- L1: what a conversation is about, kept until some time after its last exchange. Derived from its messages, so it is
-- not in the log and can be made again.
CREATE TABLE keeps.session_notes (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    -- Of an agent's own token, which sees only what it took part in; empty for the user, who sees all.
    agent_id text NOT NULL,
    notes jsonb NOT NULL,
    consolidate_at timestamptz,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, session_id, agent_id),
    CONSTRAINT session_notes_session_exists FOREIGN KEY (tenant_id, user_id, session_id) REFERENCES keeps.sessions
        ON DELETE CASCADE
);
CREATE INDEX session_notes_to_consolidate ON keeps.session_notes (tenant_id, user_id, consolidate_at)
    WHERE consolidate_at IS NOT NULL;
CREATE INDEX session_notes_expiring ON keeps.session_notes (tenant_id, user_id, expires_at);
COMMENT ON TABLE keeps.session_notes IS
    'Layer 1: summary, decisions and action items of a conversation, for as long as it is fresh.';

-- When a memory that nobody reads falls under the retention at which it is archived: keeps.memories.retention, in SQL.
-- Adding seconds to a time depends on no time zone, so this is immutable, as an index asks.
CREATE FUNCTION keeps.fades_at(importance double precision, access_count bigint,
    last_used_at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT last_used_at + make_interval(secs => 3600 * 10 * ln(1 / 0.3::double precision) * 14 * (0.5 + importance) * (1 + ln(1 + access_count::double precision)))';

-- The earliest that a short-term memory can fade: readings only put it off.
CREATE INDEX memories_fading ON keeps.memories (tenant_id, user_id, keeps.fades_at(importance, 0, updated_at))
    WHERE layer = 'short_term' AND archived_at IS NULL AND deleted_at IS NULL AND superseded_by IS NULL;

-- What may be worth keeping for long.
CREATE INDEX memories_promotable ON keeps.memories (tenant_id, user_id, importance)
    WHERE layer = 'short_term' AND deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX memories_expiring ON keeps.memories (tenant_id, user_id, expires_at) WHERE expires_at IS NOT NULL
    AND deleted_at IS NULL;

-- The last event that everybody of the tenant may see: for caches, which ask it each time.
CREATE INDEX events_shared ON keeps.events (tenant_id, sequence) WHERE visibility = 'tenant';

-- Memories whose vector is still to be made: found by time over all tenants, without looking at what is done.
CREATE TABLE keeps.memory_pending (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    noticed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_pending_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories
        ON DELETE CASCADE
);
CREATE INDEX memory_pending_by_time ON keeps.memory_pending (noticed_at);
CREATE INDEX memory_pending_by_owner ON keeps.memory_pending (tenant_id, user_id);
COMMENT ON TABLE keeps.memory_pending IS 'Derived: memories that wait for a vector.';
INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id)
SELECT memories.tenant_id, memories.memory_id, memories.user_id FROM keeps.memories
WHERE deleted_at IS NULL AND NOT EXISTS (SELECT FROM keeps.memory_vectors
    WHERE memory_vectors.tenant_id = memories.tenant_id AND memory_vectors.memory_id = memories.memory_id);

-- Long work and its receipts.
CREATE TABLE keeps.operations (
    tenant_id text NOT NULL,
    operation_id uuid NOT NULL,
    job text NOT NULL,
    status text NOT NULL CONSTRAINT operations_status_known CHECK (status IN ('running', 'completed', 'failed',
        'undone')),
    counts jsonb NOT NULL,
    error text,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    undone_at timestamptz,
    undone_by text,
    PRIMARY KEY (tenant_id, operation_id),
    CONSTRAINT operations_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
CREATE INDEX operations_by_time ON keeps.operations (tenant_id, started_at DESC, operation_id DESC);
COMMENT ON TABLE keeps.operations IS
    'What jobs did to a tenant: how much, when, and whether it was undone. No content.';

-- How each changed memory was before: the changed fields only, so no content; NULL where the operation made it.
CREATE TABLE keeps.operation_changes (
    tenant_id text NOT NULL,
    operation_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    before jsonb,
    after jsonb,
    PRIMARY KEY (tenant_id, operation_id, memory_id),
    CONSTRAINT operation_changes_operation_exists FOREIGN KEY (tenant_id, operation_id) REFERENCES keeps.operations
        ON DELETE CASCADE,
    CONSTRAINT operation_changes_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories
        ON DELETE CASCADE
);
CREATE INDEX operation_changes_by_memory ON keeps.operation_changes (tenant_id, memory_id);
COMMENT ON TABLE keeps.operation_changes IS 'What undoing an operation needs, until its window closes.';

-- When each job of a tenant is next due. The worker finds work by this index, whatever the number of tenants.
CREATE TABLE keeps.tenant_jobs (
    tenant_id text NOT NULL,
    job text NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, job),
    CONSTRAINT tenant_jobs_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
CREATE INDEX tenant_jobs_due ON keeps.tenant_jobs (due_at, tenant_id, job);
COMMENT ON TABLE keeps.tenant_jobs IS 'The schedule: which job of a tenant is due when.';
INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at)
SELECT tenant_id, job, now() + random() * interval '1 hour'
FROM keeps.tenants CROSS JOIN unnest(ARRAY['sessions', 'promotion', 'decay', 'expiry', 'storage',
    'consolidation']) AS job;

-- What a tenant holds, day by day: growth, and the bill.
CREATE TABLE keeps.storage_samples (
    tenant_id text NOT NULL,
    day date NOT NULL,
    memories bigint NOT NULL,
    bytes bigint NOT NULL,
    events bigint NOT NULL,
    PRIMARY KEY (tenant_id, day),
    CONSTRAINT storage_samples_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.storage_samples IS 'Memories, bytes and events of a tenant at the end of each day.';

-- Tokens that jobs of a tenant spent on an LLM, a row a day.
CREATE TABLE keeps.llm_usage (
    tenant_id text NOT NULL,
    day date NOT NULL,
    tokens bigint NOT NULL,
    PRIMARY KEY (tenant_id, day),
    CONSTRAINT llm_usage_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.llm_usage IS 'What background jobs spent on an LLM, for the budget of the day.';

-- The queue of the worker, as PgQueuer 1.6 declares it (docs/adr/0016). Rows name jobs and tenants; no content.
CREATE TYPE keeps_jobs.pgqueuer_status AS ENUM ('queued', 'picked', 'successful', 'exception', 'canceled', 'deleted',
    'failed');

CREATE TABLE keeps_jobs.pgqueuer (
    id bigserial NOT NULL PRIMARY KEY,
    priority integer NOT NULL,
    queue_manager_id uuid,
    created timestamp with time zone NOT NULL DEFAULT now(),
    updated timestamp with time zone NOT NULL DEFAULT now(),
    heartbeat timestamp with time zone NOT NULL DEFAULT now(),
    execute_after timestamp with time zone NOT NULL DEFAULT now(),
    status keeps_jobs.pgqueuer_status NOT NULL,
    entrypoint text NOT NULL,
    dedupe_key text,
    payload bytea,
    headers jsonb,
    attempts integer NOT NULL DEFAULT 0,
    slot bigint
);

CREATE TABLE keeps_jobs.pgqueuer_log (
    id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL PRIMARY KEY,
    created timestamp with time zone NOT NULL DEFAULT now(),
    job_id bigint NOT NULL,
    status keeps_jobs.pgqueuer_status NOT NULL,
    priority integer NOT NULL,
    entrypoint text NOT NULL,
    traceback jsonb,
    aggregated boolean DEFAULT false
);

CREATE TABLE keeps_jobs.pgqueuer_schedules (
    id bigserial NOT NULL PRIMARY KEY,
    expression text NOT NULL,
    entrypoint text NOT NULL,
    heartbeat timestamp with time zone NOT NULL DEFAULT now(),
    created timestamp with time zone NOT NULL DEFAULT now(),
    updated timestamp with time zone NOT NULL DEFAULT now(),
    next_run timestamp with time zone NOT NULL DEFAULT now(),
    last_run timestamp with time zone,
    status keeps_jobs.pgqueuer_status DEFAULT 'queued'::keeps_jobs.pgqueuer_status,
    UNIQUE (expression, entrypoint)
);

CREATE TABLE keeps_jobs.pgqueuer_statistics (
    id bigserial NOT NULL PRIMARY KEY,
    created timestamp with time zone NOT NULL DEFAULT date_trunc('sec'::text, now()),
    count bigint NOT NULL,
    priority integer NOT NULL,
    status keeps_jobs.pgqueuer_status NOT NULL,
    entrypoint text NOT NULL
);
CREATE INDEX pgqueuer_ep_ea_idx ON keeps_jobs.pgqueuer USING btree (entrypoint, execute_after)
    WHERE (status = 'queued'::keeps_jobs.pgqueuer_status);
CREATE INDEX pgqueuer_ep_prio_id_idx ON keeps_jobs.pgqueuer USING btree (entrypoint, priority DESC, id)
    WHERE (status = 'queued'::keeps_jobs.pgqueuer_status);
CREATE INDEX pgqueuer_log_created ON keeps_jobs.pgqueuer_log USING btree (created);
CREATE INDEX pgqueuer_log_job_id_status ON keeps_jobs.pgqueuer_log USING btree (job_id, created DESC);
CREATE INDEX pgqueuer_log_not_aggregated ON keeps_jobs.pgqueuer_log USING btree ((1)) WHERE (NOT aggregated);
CREATE INDEX pgqueuer_log_status ON keeps_jobs.pgqueuer_log USING btree (status);
CREATE INDEX pgqueuer_picked_heartbeat_idx ON keeps_jobs.pgqueuer USING btree (heartbeat)
    WHERE (status = 'picked'::keeps_jobs.pgqueuer_status);
CREATE UNIQUE INDEX pgqueuer_picked_slot_idx ON keeps_jobs.pgqueuer USING btree (entrypoint, slot)
    WHERE ((status = 'picked'::keeps_jobs.pgqueuer_status) AND (slot IS NOT NULL));
CREATE INDEX pgqueuer_priority_id_id1_idx ON keeps_jobs.pgqueuer USING btree (priority, id DESC) INCLUDE (id)
    WHERE (status = 'queued'::keeps_jobs.pgqueuer_status);
CREATE INDEX pgqueuer_queue_manager_id_idx ON keeps_jobs.pgqueuer USING btree (queue_manager_id)
    WHERE (queue_manager_id IS NOT NULL);
CREATE UNIQUE INDEX pgqueuer_statistics_unique_count ON keeps_jobs.pgqueuer_statistics
    USING btree (priority, date_trunc('sec'::text, timezone('UTC'::text, created)), status, entrypoint);
CREATE UNIQUE INDEX pgqueuer_unique_dedupe_key ON keeps_jobs.pgqueuer USING btree (dedupe_key)
    WHERE ((status = ANY (ARRAY['queued'::keeps_jobs.pgqueuer_status, 'picked'::keeps_jobs.pgqueuer_status]))
    AND (dedupe_key IS NOT NULL));
CREATE INDEX pgqueuer_updated_id_id1_idx ON keeps_jobs.pgqueuer USING btree (updated, id DESC) INCLUDE (id)
    WHERE (status = 'picked'::keeps_jobs.pgqueuer_status);
CREATE FUNCTION keeps_jobs.fn_pgqueuer_changed() RETURNS TRIGGER AS $$
DECLARE
    to_emit BOOLEAN := false;  -- Flag to decide whether to emit a notification
BEGIN
    -- Check operation type and set the emit flag accordingly
    IF TG_OP = 'UPDATE' AND OLD IS DISTINCT FROM NEW THEN
        to_emit := true;
    ELSIF TG_OP = 'DELETE' THEN
        to_emit := true;
    ELSIF TG_OP = 'INSERT' THEN
        to_emit := true;
    ELSIF TG_OP = 'TRUNCATE' THEN
        to_emit := true;
    END IF;

    -- Perform notification if the emit flag is set
    IF to_emit THEN
        PERFORM pg_notify(
            'ch_pgqueuer',
            json_build_object(
                'channel', 'ch_pgqueuer',
                'operation', lower(TG_OP),
                'sent_at', NOW(),
                'table', TG_TABLE_NAME,
                'type', 'table_changed_event'
            )::text
        );
    END IF;

    -- Return appropriate value based on the operation
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSE
        RETURN NULL; -- For TRUNCATE and other non-row-specific contexts
    END IF;

END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER tg_pgqueuer_changed
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON keeps_jobs.pgqueuer
EXECUTE FUNCTION keeps_jobs.fn_pgqueuer_changed();
