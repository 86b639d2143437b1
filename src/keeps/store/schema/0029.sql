-- Frozen tenants: their rows are in a sealed bundle outside the database. Runs as keeps_owner.
--
-- One row for each, by the SHA-256 of the tenant's id. keeps_cells.placements says '(frozen)' in place of a cell, so the
-- first statement of a transaction finds it without another look-up. The row stays until its bundle is removed, so that
-- every bundle that may exist is named here.
CREATE TABLE keeps_cells.frozen (
    tenant_hash bytea PRIMARY KEY CONSTRAINT frozen_hash_length CHECK (octet_length(tenant_hash) = 32),
    state text NOT NULL CONSTRAINT frozen_state_known CHECK (state IN ('freezing', 'frozen', 'loaded', 'thawed')),
    bundle text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    frozen_at timestamptz,
    revision text,
    held bigint,
    bytes bigint,
    digest bytea,
    loaded_digest bytea,
    retire_before timestamptz,
    key_hashes bytea[] NOT NULL DEFAULT '{}',
    sealed bytea NOT NULL,
    sealed_keys bytea,
    key_id text NOT NULL
);
CREATE INDEX frozen_by_key ON keeps_cells.frozen USING gin (key_hashes);
COMMENT ON TABLE keeps_cells.frozen IS 'Tenants whose rows are in a bundle outside the database; by the hash of their ids.';
COMMENT ON COLUMN keeps_cells.frozen.state IS
    'freezing: the rows are here, and a bundle may exist. frozen: they are in the bundle. loaded: they are here again, and nobody reads them yet. thawed: the bundle has yet to be removed.';
COMMENT ON COLUMN keeps_cells.frozen.retire_before IS
    'Events recorded before were removed of the other tenants meanwhile, and are removed of this one at its thaw.';
COMMENT ON COLUMN keeps_cells.frozen.digest IS 'SHA-256 over the batches of rows, in their order.';
COMMENT ON COLUMN keeps_cells.frozen.sealed IS
    'The id of the tenant, the key of the bundle and counts, sealed under KEEPS_SECRET_KEYS.';
COMMENT ON COLUMN keeps_cells.frozen.sealed_keys IS 'The API keys of the tenant without their secrets, sealed.';
ALTER TABLE keeps_cells.frozen ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps_cells.frozen FORCE ROW LEVEL SECURITY;
CREATE POLICY frozen_asked ON keeps_cells.frozen TO keeps_owner USING (true);

ALTER TABLE keeps.tenants ADD COLUMN used_on date;
COMMENT ON COLUMN keeps.tenants.used_on IS
    'Day of the last call of the tenant, noted where tenants can be frozen. NULL: not noted yet.';

-- A thaw inserts rows in batches, and a row may come before the row that it refers to.
ALTER TABLE keeps.memories ALTER CONSTRAINT memories_successor_exists DEFERRABLE INITIALLY IMMEDIATE;
ALTER TABLE keeps.plans ALTER CONSTRAINT plans_parent_exists DEFERRABLE INITIALLY IMMEDIATE;
