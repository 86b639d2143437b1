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

-- Retention: what a subscriber and `as_of` can no longer reach.
ALTER TABLE keeps.tenants
    ADD COLUMN retired_sequence bigint NOT NULL DEFAULT 0,
    ADD COLUMN retired_until timestamptz;

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
