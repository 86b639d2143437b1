-- A chain of hashes over the log of each tenant. Events from before this revision stay outside it. Runs as keeps_owner.
ALTER TABLE keeps.events
    ADD COLUMN salt bytea,
    ADD COLUMN contents_hash bytea,
    ADD COLUMN previous_hash bytea,
    ADD COLUMN redacted_by bigint;
COMMENT ON COLUMN keeps.events.salt IS 'Random, hashed with the contents and removed with them, so that the hash of erased contents cannot be guessed.';
COMMENT ON COLUMN keeps.events.contents_hash IS 'SHA-256 of the contents as they were written (keeps.contents_hash). It stays when the contents are redacted.';
COMMENT ON COLUMN keeps.events.previous_hash IS 'SHA-256 of the tenant''s event before this one (keeps.event_hash). NULL: the event is older than the chain.';
COMMENT ON COLUMN keeps.events.redacted_by IS 'Sequence of the event log.redacted that records the removal of the contents.';
ALTER TABLE keeps.tenants ADD COLUMN chain_hash bytea;
COMMENT ON COLUMN keeps.tenants.chain_hash IS 'SHA-256 of the newest event, which is the head of the chain. NULL: no event since the chain exists.';
-- contract: no statement of any release names it. Each that appends events has counted up the tenant's row, so a check
-- of each event only costs; a trigger (keeps.drop_log) removes the events of a removed tenant.
ALTER TABLE keeps.events DROP CONSTRAINT events_tenant_exists;
