-- The sixth revision: shared state in one statement each, answers kept without what they say, and what is erased goes
-- from all that tells of it. Runs as keeps_owner.

-- Answers kept for retries name what they are about, and say nothing of it; those of before, with their contents, go.
DELETE FROM keeps.idempotency_keys;
ALTER TABLE keeps.idempotency_keys ADD COLUMN about text[] NOT NULL DEFAULT '{}';

-- What a tenant stores beside memories counts for its quota of bytes, too: state of agents and the graph.
ALTER TABLE keeps.tenants ADD COLUMN state_bytes bigint NOT NULL DEFAULT 0;

-- What is there already counts.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['working_memory', 'plans', 'task_contexts', 'sessions', 'entities', 'relations'] LOOP
        EXECUTE format('UPDATE keeps.tenants SET state_bytes = state_bytes + held.bytes FROM (SELECT tenant_id,'
            ' sum(octet_length(row_to_json(each)::text)) AS bytes FROM keeps.%I AS each GROUP BY tenant_id) AS held'
            ' WHERE held.tenant_id = tenants.tenant_id', name);
    END LOOP;
END
$$;
