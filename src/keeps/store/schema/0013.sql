-- Cells: the tenants of one Keeps on several PostgreSQLs. Runs as keeps_owner.
--
-- A cell knows which tenants are NOT here, and where they are. So whoever asks at the wrong one is told in the same
-- statement that says who asks, and nothing that a process remembers can be wrong for long. In the first cell, `main`,
-- this is the directory of all tenants that are elsewhere; in the others, what moved away, or is about to arrive.
-- Tenants stand there by the SHA-256 of their ids: an erased tenant leaves no name.
CREATE TABLE keeps_cells.placements (
    tenant_hash bytea PRIMARY KEY CONSTRAINT placements_hash_length CHECK (octet_length(tenant_hash) = 32),
    cell text NOT NULL,
    -- A copy is on its way here, and counts from the moment this row is gone.
    arriving boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE keeps_cells.placements IS 'Which tenants are elsewhere, and where; by the hash of their ids.';

-- In `main` only. The address is sealed under KEEPS_SECRET_KEYS; main has none.
CREATE TABLE keeps_cells.cells (
    name text PRIMARY KEY CONSTRAINT cells_name_shape CHECK (name ~ '^[a-z][a-z0-9_-]{0,39}$'),
    address bytea,
    key_id text,
    -- How many of ten new tenants come here, so to say; with 0 none do.
    weight integer NOT NULL DEFAULT 1 CONSTRAINT cells_weight_range CHECK (weight BETWEEN 0 AND 1000),
    added_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE keeps_cells.cells IS 'The PostgreSQLs of this Keeps, where there are several.';
ALTER TABLE keeps_cells.placements ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps_cells.placements FORCE ROW LEVEL SECURITY;
ALTER TABLE keeps_cells.cells ENABLE ROW LEVEL SECURITY;
ALTER TABLE keeps_cells.cells FORCE ROW LEVEL SECURITY;
CREATE POLICY placements_asked ON keeps_cells.placements TO keeps_owner USING (true);
CREATE POLICY cells_asked ON keeps_cells.cells TO keeps_owner USING (true);
