-- An item is stored while the model is away, as a memory is, and gets its vectors when it is back. Many memories leave
-- the lists of the index together. Runs as keeps_owner.
CREATE TABLE keeps.item_pending (
    tenant_id text NOT NULL,
    row_id uuid NOT NULL,
    user_id text NOT NULL,
    noticed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, row_id),
    CONSTRAINT item_pending_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
);
CREATE INDEX item_pending_by_time ON keeps.item_pending (noticed_at);
CREATE INDEX item_pending_by_owner ON keeps.item_pending (tenant_id, user_id);
COMMENT ON TABLE keeps.item_pending IS 'Derived: items that wait for their vectors.';
