-- Tenants whose jobs rest. Runs as keeps_owner.
ALTER TABLE keeps.tenants ADD COLUMN jobs_rest boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN keeps.tenants.jobs_rest IS
    'Jobs of the tenant are due later than their period says, since it has no work for them. Its next write wakes them.';
