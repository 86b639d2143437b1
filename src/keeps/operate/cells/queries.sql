-- The directory of cells, and a tenant's move between two. All run as PostgreSQL's administrator, but those that say so.

-- name: left_over
-- As keeps_app, of any cell: tenants with rows there that are elsewhere.
SELECT tenant_id, cell, arriving FROM keeps.tenants_elsewhere()

-- name: cells
-- As keeps_app, of the first: which there are.
SELECT name, address, key_id, weight FROM keeps.list_cells()

-- name: about
-- As keeps_app, of any cell: what it holds.
SELECT (SELECT tenants FROM keeps.installation_counts()) AS tenants, pg_database_size(current_database()) AS bytes

-- name: tenants
-- As keeps_app, of any cell: those that are there.
SELECT tenant_id FROM keeps.list_tenants($1, 1000)

-- name: tenant_there
-- As keeps_app, of any cell: whether a tenant has rows there.
SELECT tenant_id FROM keeps.last_sequences(ARRAY[$1::text])

-- name: placements
-- The cells of tenants by the hash of their ids, also of those that were erased.
SELECT encode(tenant_hash, 'hex') AS key, cell FROM keeps_cells.placements

-- name: cell_put
INSERT INTO keeps_cells.cells (name, address, key_id, weight) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET address = COALESCE(EXCLUDED.address, cells.address),
    key_id = COALESCE(EXCLUDED.key_id, cells.key_id), weight = EXCLUDED.weight

-- name: cell_weight
UPDATE keeps_cells.cells SET weight = $2 WHERE name = $1 RETURNING name

-- name: cell_remove
-- With what the directory says of tenants that are not there any more.
WITH gone AS (DELETE FROM keeps_cells.placements WHERE cell = $1)
DELETE FROM keeps_cells.cells WHERE name = $1 RETURNING name

-- name: frozen_hashes
-- As keeps_app, of any cell: the frozen tenants that are there.
SELECT tenant_hash FROM keeps.list_frozen($1, 1000)

-- name: place_frozen
-- Frozen tenants are in another cell, unless the directory says otherwise.
INSERT INTO keeps_cells.placements (tenant_hash, cell) SELECT unnest($2::bytea[]), $1 ON CONFLICT DO NOTHING

-- name: placed
SELECT cell, arriving FROM keeps_cells.placements WHERE tenant_hash = keeps.tenant_hash($1)

-- name: place
-- The tenant is in another cell; `arriving`: a copy is on its way here.
INSERT INTO keeps_cells.placements (tenant_hash, cell, arriving) VALUES (keeps.tenant_hash($1), $2, $3)
ON CONFLICT (tenant_hash) DO UPDATE SET cell = EXCLUDED.cell, arriving = EXCLUDED.arriving

-- name: place_here
-- The tenant is here from now on. The first cell remembers that, so that it comes here again when it was erased.
WITH come AS (
    UPDATE keeps_cells.placements SET cell = 'main', arriving = false
    WHERE tenant_hash = keeps.tenant_hash($1) AND EXISTS (SELECT FROM keeps_cells.cells)
)
DELETE FROM keeps_cells.placements
WHERE tenant_hash = keeps.tenant_hash($1) AND NOT EXISTS (SELECT FROM keeps_cells.cells)

-- name: one_mover
-- One move of a tenant at a time, as long as the connection is there.
SELECT pg_try_advisory_lock(hashtextextended('keeps.move.' || $1, 0)) AS held

-- name: server
-- What a move needs of a server.
SELECT current_setting('server_version_num')::integer AS version, current_setting('wal_level') AS wal_level,
       current_setting('max_replication_slots')::integer - (SELECT count(*) FROM pg_replication_slots) AS free_slots,
       (SELECT version_num FROM keeps.alembic_version) AS revision

-- name: count_statement
-- How many rows of a tenant each table holds.
SELECT string_agg(format('SELECT %L AS name, count(*) AS held FROM keeps.%I WHERE tenant_id = %L', name, name, $1::text),
                  ' UNION ALL ') AS made
FROM keeps_cells.tenant_tables() AS name

-- name: erase_statement
-- All rows of a tenant, without triggers: what follows from a row is a row of the tenant, too.
SELECT string_agg(format('DELETE FROM keeps.%I WHERE tenant_id = %L', name, $1::text), '; ') AS made
FROM keeps_cells.tenant_tables() AS name

-- name: publish_statement
-- $2: the name of the publication.
SELECT format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish_via_partition_root = true)', $2::text,
              string_agg(format('keeps.%I WHERE (tenant_id = %L)', name, $1::text), ', ')) AS made
FROM keeps_cells.tenant_tables() AS name

-- name: subscribe_statement
-- $1: its name, and that of the publication and the slot · $2: the other server · $3: both are of one version, 16 or
-- newer, so that values go as they are. Rows are applied by whoever subscribes, not by the owner of the tables, who is
-- bound by row security.
SELECT format('CREATE SUBSCRIPTION %I CONNECTION %L PUBLICATION %I WITH (create_slot = false, slot_name = %L,'
              ' disable_on_error = true, synchronous_commit = ''on'', binary = %s%s)', $1::text, $2::text, $1::text, $1::text,
              $3::boolean::text, CASE WHEN current_setting('server_version_num')::integer >= 160000
                                THEN ', run_as_owner = true' ELSE '' END) AS made

-- name: quiet
-- For the rest of the session one kind of statements is not logged. $1: the setting, $2: its value
SELECT set_config($1, $2, false)

-- name: loud
-- Whether the log of the server shows statements of this session that succeed.
SELECT current_setting('log_statement') <> 'none' OR current_setting('log_min_duration_statement') <> '-1' AS loud

-- name: role
SELECT quote_ident(current_user) AS role

-- name: sees_rows
-- Whether this role reads all rows of a table that has row security.
SELECT NOT row_security_active('keeps.tenants') AS allowed

-- name: sees_sessions
-- Whether this role sees since when transactions of keeps_app run; others look as if they did not run.
SELECT pg_has_role('pg_read_all_stats', 'USAGE') OR pg_has_role('keeps_app', 'USAGE') AS allowed

-- name: try_slots
-- Refused to a role that may not replicate; else there is no such slot.
SELECT pg_drop_replication_slot('keeps_tries_whether_it_may_drop_slots')

-- name: try_publication
CREATE PUBLICATION keeps_try FOR TABLE keeps.tenants

-- name: try_subscription
CREATE SUBSCRIPTION keeps_try CONNECTION 'password=none' PUBLICATION keeps_try WITH (connect = false)

-- name: unpublish_statement
SELECT format('DROP PUBLICATION IF EXISTS %I', $1::text) AS made

-- name: pause_statement
SELECT format('ALTER SUBSCRIPTION %I DISABLE', subname) AS made FROM pg_subscription
WHERE subname = $1::text AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: stop_statements
-- Without asking the other server, which may be away.
SELECT unnest(ARRAY[format('ALTER SUBSCRIPTION %I DISABLE', subname), format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)',
    subname)]) AS made
FROM pg_subscription WHERE subname = $1::text AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: unsubscribe_statement
SELECT format('DROP SUBSCRIPTION %I', subname) AS made
FROM pg_subscription WHERE subname = $1::text AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: slot_make
SELECT pg_create_logical_replication_slot($1, 'pgoutput')

-- name: longest
-- The transaction that a new slot waits for longest.
SELECT pid, COALESCE(usename, backend_type)::text AS who, COALESCE(datname, 'all databases')::text AS place
FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1

-- name: slots_of
-- The slot of a move, and those of its tables that were being copied ($2: how their names begin and end).
SELECT slot_name::text AS name, active_pid FROM pg_replication_slots
WHERE database = current_database() AND (slot_name = $1
    OR ($2 <> '' AND starts_with(slot_name, split_part($2, ' ', 1)) AND right(slot_name, -length(split_part($2, ' ', 1)))
        LIKE '%\_' || split_part($2, ' ', 2)))

-- name: slot_end
SELECT pg_terminate_backend($1)

-- name: slot_drop
SELECT pg_drop_replication_slot($1)

-- name: copied
-- How many tables there are, how many are copied, and whether something went wrong.
SELECT (SELECT count(*) FROM pg_subscription_rel WHERE srsubid = pg_subscription.oid) AS tables,
       (SELECT count(*) FROM pg_subscription_rel WHERE srsubid = pg_subscription.oid AND srsubstate = 'r') AS ready,
       subenabled AS runs, 'pg_' || oid || '_sync_ ' || (SELECT system_identifier FROM pg_control_system()) AS slots,
       EXISTS (SELECT FROM pg_stat_subscription WHERE subid = pg_subscription.oid AND pid IS NOT NULL) AS works
FROM pg_subscription WHERE subname = $1::text AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: position
SELECT pg_current_wal_insert_lsn()::text AS lsn

-- name: behind
-- How many bytes the other server has yet to confirm, up to $2 or to now; nothing where log that it needs is gone.
SELECT pg_wal_lsn_diff(COALESCE($2::text::pg_lsn, pg_current_wal_lsn()), confirmed_flush_lsn)::bigint AS bytes
FROM pg_replication_slots WHERE slot_name = $1 AND wal_status <> 'lost'

-- name: reached
-- How far a tenant has come.
SELECT keeps.reached($1) AS reached

-- name: has_placements
-- As keeps_app, of any cell: whether it has been a cell.
SELECT keeps.has_placements() AS has

-- name: roles_there
-- Whether Keeps' roles are on this server, which others may use.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'keeps_app') AS there

-- name: cell_locked
-- For the rest of the transaction nobody is placed there.
SELECT weight FROM keeps_cells.cells WHERE name = $1 FOR UPDATE

-- name: placed_in
SELECT count(*) AS tenants FROM keeps_cells.placements WHERE cell = $1

-- name: forwarded
-- Which tenants have left this cell, and for where.
SELECT tenant_hash, cell FROM keeps_cells.placements WHERE NOT arriving

-- name: forward
-- What the directory says of tenants that went on from a cell.
UPDATE keeps_cells.placements SET cell = gone.cell
FROM unnest($2::bytea[], $3::text[]) AS gone(tenant_hash, cell)
WHERE placements.tenant_hash = gone.tenant_hash AND placements.cell = $1

-- name: write_lock
SELECT pg_advisory_xact_lock(hashtextextended('keeps.write.' || $1, 0))

-- name: patience
-- $1: milliseconds to wait for a lock, in this transaction. A mover that stands still lets go of it.
SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', '15s', true)

-- name: without_triggers
SELECT set_config('session_replication_role', 'replica', true)

-- name: older
-- Transactions of those who serve that began before a moment: they may still read what moved.
SELECT count(*) AS held FROM pg_stat_activity
WHERE datname = current_database() AND usename = 'keeps_app' AND xact_start < $1

-- name: identity
-- As keeps_app: two addresses may lead to one database.
SELECT pg_postmaster_start_time()::text || ' ' || current_database() AS database

-- name: now
SELECT clock_timestamp() AS now

-- name: sizes
-- What the tenants of a cell hold, by counters of their rows. events: those that the log still has.
SELECT tenant_id, memory_count AS memories, memory_bytes + state_bytes AS bytes,
       last_sequence - retired_sequence AS events
FROM keeps.tenants WHERE tenant_id > $1 AND keeps.elsewhere(tenant_id) IS NULL ORDER BY tenant_id LIMIT $2

-- name: loads
-- What the tenants of a cell did since $3. writes: events, by the sample of that day · reads: recalls and contexts in
-- the log of requests, which is empty where it is off. Its ids are UUIDv7, so they begin with the time.
SELECT page.tenant_id, page.last_sequence - COALESCE(
           (SELECT events FROM keeps.storage_samples WHERE storage_samples.tenant_id = page.tenant_id
            AND day <= $3::timestamptz::date ORDER BY day DESC LIMIT 1), 0) AS writes,
       (SELECT count(*) FROM keeps.requests WHERE requests.tenant_id = page.tenant_id AND request_id >=
           (lpad(to_hex((extract(epoch FROM $3::timestamptz) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid) AS reads
FROM (SELECT tenant_id, last_sequence FROM keeps.tenants
      WHERE tenant_id > $1 AND keeps.elsewhere(tenant_id) IS NULL ORDER BY tenant_id LIMIT $2) AS page
ORDER BY page.tenant_id

-- name: arriving
-- Tenants of which a copy is on its way to this cell.
SELECT encode(tenant_hash, 'hex') AS tenant_hash FROM keeps_cells.placements WHERE arriving

-- name: busy
-- How much a server has to do: statements of clients at work, and bytes of log that the slowest standby has yet to
-- replay. Copies of moves are no standbys.
SELECT count(*) AS active,
       (SELECT COALESCE(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint FROM pg_stat_replication
        WHERE NOT starts_with(application_name, 'keeps_move_') AND application_name !~ '^pg_[0-9]+_sync_') AS behind
FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND wait_event_type IS DISTINCT FROM 'Client'

-- name: one_rebalance
-- One rebalance at a time, as long as the connection is there. In the first cell.
SELECT pg_try_advisory_lock(hashtextextended('keeps.rebalance', 0)) AS held
