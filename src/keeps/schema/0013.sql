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

-- Every table that holds rows of tenants: what a move takes along. For administrators.
CREATE FUNCTION keeps_cells.tenant_tables() RETURNS SETOF text
    LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT relname::text FROM pg_class
    WHERE relnamespace = 'keeps'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant_id')
    ORDER BY relname
$$;
REVOKE ALL ON FUNCTION keeps_cells.tenant_tables() FROM PUBLIC;

CREATE FUNCTION keeps.tenant_hash(wanted text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(convert_to(wanted, 'UTF8'));

-- The cell in which this tenant is, where it is not this one. In `main`, which alone has a list of cells, a tenant may
-- stand as being there: one that came back. So it comes to the same cell again after it was erased.
CREATE FUNCTION keeps.elsewhere(wanted text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
BEGIN
    RETURN (SELECT cell FROM placements WHERE tenant_hash = sha256(convert_to(wanted, 'UTF8'))
            AND NOT (cell = 'main' AND EXISTS (SELECT FROM cells)));
END
$$;

-- A writer's turn among those of its tenant, until commit; then the same question. Volatile, so that what was committed
-- while it waited is seen: a tenant moves inside such a turn.
CREATE FUNCTION keeps.take_turn(wanted text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('keeps.write.' || wanted, 0));
    RETURN (SELECT cell FROM placements WHERE tenant_hash = sha256(convert_to(wanted, 'UTF8'))
            AND NOT (cell = 'main' AND EXISTS (SELECT FROM cells)));
END
$$;

-- Where a tenant is or, if it is new, shall be: null for here. Asked in `main`, before a tenant is made.
CREATE FUNCTION keeps.place_tenant(wanted text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
DECLARE
    found text;
BEGIN
    -- One that is known is not waited for.
    IF NOT EXISTS (SELECT FROM cells) OR EXISTS (SELECT FROM tenants WHERE tenant_id = wanted)
        OR EXISTS (SELECT FROM placements WHERE tenant_hash = tenant_hash(wanted)) THEN
        RETURN elsewhere(wanted);
    END IF;
    PERFORM take_turn(wanted);
    IF EXISTS (SELECT FROM tenants WHERE tenant_id = wanted)
        OR EXISTS (SELECT FROM placements WHERE tenant_hash = tenant_hash(wanted)) THEN
        RETURN (SELECT cell FROM placements WHERE tenant_hash = tenant_hash(wanted) AND cell <> 'main');
    END IF;
    SELECT name INTO found FROM cells WHERE weight > 0 ORDER BY -ln(1 - random()) / weight LIMIT 1 FOR SHARE;
    IF found IS NULL OR found = 'main' THEN
        RETURN NULL;
    END IF;
    INSERT INTO placements (tenant_hash, cell) VALUES (tenant_hash(wanted), found);
    RETURN found;
END
$$;

-- Whether this database says of tenants that they are elsewhere: one that has been a cell.
CREATE FUNCTION keeps.has_placements() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
    SELECT EXISTS (SELECT FROM placements)
$$;

CREATE FUNCTION keeps.list_cells() RETURNS TABLE (name text, address bytea, key_id text, weight integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps_cells, pg_temp AS $$
    SELECT cells.name, cells.address, cells.key_id, cells.weight FROM cells ORDER BY added_at, cells.name
$$;

-- Tenants that have rows here, but are elsewhere: left behind by a move, or a copy that is on its way.
CREATE FUNCTION keeps.tenants_elsewhere() RETURNS TABLE (tenant_id text, cell text, arriving boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps_cells, keeps, pg_temp AS $$
    SELECT tenants.tenant_id, placements.cell, placements.arriving
    FROM tenants JOIN placements ON placements.tenant_hash = tenant_hash(tenants.tenant_id)
    WHERE NOT (placements.cell = 'main' AND EXISTS (SELECT FROM cells))
    ORDER BY tenants.tenant_id
$$;

-- As in the sixth revision; without tenants that are elsewhere.
CREATE OR REPLACE FUNCTION keeps.list_tenants(after_tenant_id text, at_most integer)
    RETURNS TABLE (tenant_id text, users bigint, memories bigint, bytes bigint, max_memories bigint, max_bytes bigint,
        created_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT tenants.tenant_id, (SELECT count(*) FROM users
        WHERE users.tenant_id = tenants.tenant_id), tenants.memory_count,
           tenants.memory_bytes + tenants.state_bytes, tenants.max_memories, tenants.max_bytes, tenants.created_at
    FROM tenants WHERE tenants.tenant_id > after_tenant_id AND elsewhere(tenants.tenant_id) IS NULL
    ORDER BY tenants.tenant_id LIMIT at_most
$$;

-- As in the second revision; a key of a tenant that is elsewhere is there.
CREATE OR REPLACE FUNCTION keeps.find_api_key(wanted_hash bytea)
    RETURNS TABLE (tenant_id text, key_id uuid, user_id text, agent_id text, roles text[], expires_at timestamptz,
        revoked_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE api_keys SET last_used_at = now()
    WHERE key_hash = wanted_hash AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
      AND elsewhere(tenant_id) IS NULL;
    RETURN QUERY SELECT api_keys.tenant_id, api_keys.key_id, api_keys.user_id, api_keys.agent_id, api_keys.roles,
                        api_keys.expires_at, api_keys.revoked_at
                 FROM api_keys WHERE key_hash = wanted_hash AND elsewhere(api_keys.tenant_id) IS NULL;
END
$$;

-- As in the sixth revision; those of tenants that are elsewhere are due there.
CREATE OR REPLACE FUNCTION keeps.webhooks_due(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    webhook_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
    SELECT due.tenant_id, due.webhook_id
    FROM (SELECT webhooks.tenant_id, webhooks.webhook_id, webhooks.next_attempt_at,
                 row_number() OVER (PARTITION BY webhooks.tenant_id
                     ORDER BY webhooks.next_attempt_at, webhooks.webhook_id) AS place
          FROM webhooks JOIN tenants USING (tenant_id)
          WHERE webhooks.active AND webhooks.next_attempt_at <= moment AND webhooks.position < tenants.last_sequence
            AND (webhooks.leased_until IS NULL OR webhooks.leased_until < moment)
            AND elsewhere(webhooks.tenant_id) IS NULL) AS due
    WHERE due.place <= 4
    ORDER BY due.place, due.next_attempt_at LIMIT at_most
$$;

-- How far a tenant has come: its last event, what it holds, which erasing changes without an event, and when it was made:
-- one that was erased and comes again begins at nothing. For standbys, which answer only where they have come as far.
CREATE FUNCTION keeps.reached(wanted text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, pg_temp AS $$
BEGIN
    RETURN (SELECT ARRAY[last_sequence, memory_count, memory_bytes, state_bytes,
                         (extract(epoch FROM created_at) * 1000000)::bigint]
            FROM tenants WHERE tenant_id = wanted);
END
$$;

-- The oldest release that may serve on this schema, by its newest revision: a later revision that the release before
-- can live with leaves it as it is, one that it cannot changes it.
CREATE FUNCTION keeps.serves_from() RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN '0013';

REVOKE ALL ON FUNCTION keeps.elsewhere(text), keeps.take_turn(text), keeps.place_tenant(text), keeps.list_cells(),
    keeps.tenants_elsewhere(), keeps.reached(text), keeps.has_placements() FROM PUBLIC;
