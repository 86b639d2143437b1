-- Keys of working memory in a space no longer meet keys of the same plan outside of it. Runs as keeps_owner.
-- contract: no statement uses the name of the check. Ids of plans in spaces are longer as stored
ALTER TABLE keeps.working_memory DROP CONSTRAINT working_memory_plan_length;
-- Rows of spaces alone: the owner sees and changes rows of a tenant that is named.
DO $$
DECLARE
    space record;
BEGIN
    FOR space IN SELECT tenant_id, user_id FROM keeps.users WHERE starts_with(user_id, '(space) ') LOOP
        PERFORM set_config('app.current_tenant', space.tenant_id, true);
        UPDATE keeps.working_memory SET plan_id = user_id || chr(31) || plan_id
        WHERE tenant_id = space.tenant_id AND user_id = space.user_id;
    END LOOP;
    PERFORM set_config('app.current_tenant', '', true);
END
$$;
ALTER TABLE keeps.working_memory ADD CONSTRAINT working_memory_plan_length CHECK (char_length(plan_id) BETWEEN 1
    AND 255 + CASE WHEN starts_with(user_id, '(space) ') THEN char_length(user_id) + 1 ELSE 0 END) NOT VALID;
ALTER TABLE keeps.working_memory ADD CONSTRAINT working_memory_plan_of_owner
    CHECK (starts_with(plan_id, '(space) ') = starts_with(user_id, '(space) ')) NOT VALID;
COMMENT ON COLUMN keeps.working_memory.plan_id IS
    'In a space: the owner of the space, chr(31) and the id of the plan, so that keys are unique by space.';
