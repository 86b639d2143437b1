-- The state that a plan's agents share stays when one of them is erased, and knows which keys a workflow made. Runs as
-- keeps_owner.
ALTER TABLE keeps.working_memory ADD COLUMN workflow boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN keeps.working_memory.workflow IS
    'Whether a workflow made the key, so that clearing the workflow removes it.';
