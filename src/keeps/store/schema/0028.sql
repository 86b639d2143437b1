-- Counters of each tenant. They count from now on; what is there already is added by the first check of the tenant,
-- which sets counted_at. Counting it here would lock the tables for as long as it takes.
ALTER TABLE keeps.tenants
    ADD COLUMN user_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN live_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN retired_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN text_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN counted_at timestamptz;
ALTER TABLE keeps.tenants ALTER COLUMN counted_at SET DEFAULT now();
COMMENT ON COLUMN keeps.tenants.user_count IS 'Number of users, with the owners of spaces.';
COMMENT ON COLUMN keeps.tenants.live_count IS 'Number of memories that are not deleted; memory_count has all of them.';
COMMENT ON COLUMN keeps.tenants.retired_count IS
    'Number of events that retention removed: last_sequence minus this is the number of events.';
COMMENT ON COLUMN keeps.tenants.text_count IS 'Number of items that are found by meaning, so that they need vectors.';
COMMENT ON COLUMN keeps.tenants.counted_at IS
    'When a check last corrected the counters, or the tenant was made. NULL: not counted since revision 28.';

CREATE TABLE keeps.vector_counts (
    tenant_id text NOT NULL CONSTRAINT vector_counts_tenant_exists REFERENCES keeps.tenants ON DELETE CASCADE,
    model text NOT NULL,
    vectors bigint NOT NULL DEFAULT 0,
    deleted bigint NOT NULL DEFAULT 0,
    items bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, model)
) WITH (fillfactor = 50);
COMMENT ON TABLE keeps.vector_counts IS
    'Number of vectors by model: of memories, of those of them that are deleted, and of items that have any.';
