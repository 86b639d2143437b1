-- Plans of the asking user. A row is also the plan's context: its state machine and what it waits for.

-- name: plan_get
-- reads: Plan without visibility
SELECT held.tenant_id, held.user_id, held.plan_id, held.session_id, held.parent_plan_id, held.agent_id, held.goal_event,
    held.goal_data,
       held.response_event, held.status, held.state, held.current_state, held.correlation_ids, held.version,
           held.created_at, held.updated_at,
       ARRAY(SELECT child.plan_id FROM keeps.plans AS child
             WHERE child.tenant_id = $1 AND child.user_id = $2 AND child.parent_plan_id = held.plan_id
             ORDER BY child.created_at, child.plan_id) AS sub_plan_ids
FROM keeps.plans AS held
WHERE held.tenant_id = $1 AND held.user_id = $2 AND held.plan_id = $3

-- name: plan_by_correlation
-- reads: Plan without visibility
-- The plan that waits for an event: of several one that is not over, and of those the newest.
SELECT held.tenant_id, held.user_id, held.plan_id, held.session_id, held.parent_plan_id, held.agent_id, held.goal_event,
    held.goal_data,
       held.response_event, held.status, held.state, held.current_state, held.correlation_ids, held.version,
           held.created_at, held.updated_at,
       ARRAY(SELECT child.plan_id FROM keeps.plans AS child
             WHERE child.tenant_id = $1 AND child.user_id = $2 AND child.parent_plan_id = held.plan_id
             ORDER BY child.created_at, child.plan_id) AS sub_plan_ids
FROM keeps.plan_correlations AS waiting
JOIN keeps.plans AS held ON held.tenant_id = $1 AND held.user_id = $2 AND held.plan_id = waiting.plan_id
WHERE waiting.tenant_id = $1 AND waiting.user_id = $2 AND waiting.correlation_id = $3
ORDER BY held.status IN ('completed', 'failed', 'cancelled'), held.created_at DESC, held.plan_id DESC
LIMIT 1

-- name: plan_list
-- reads: Plan without visibility
-- One keyset page, newest first. $3: statuses or null · $4 session · $5 parent · $6, $7: the last row of the page
-- before · $8: how many
SELECT held.tenant_id, held.user_id, held.plan_id, held.session_id, held.parent_plan_id, held.agent_id, held.goal_event,
    held.goal_data,
       held.response_event, held.status, held.state, held.current_state, held.correlation_ids, held.version,
           held.created_at, held.updated_at,
       ARRAY(SELECT child.plan_id FROM keeps.plans AS child
             WHERE child.tenant_id = $1 AND child.user_id = $2 AND child.parent_plan_id = held.plan_id
             ORDER BY child.created_at, child.plan_id) AS sub_plan_ids
FROM keeps.plans AS held
WHERE held.tenant_id = $1 AND held.user_id = $2
  AND ($3::text[] IS NULL OR held.status = ANY ($3)) AND ($4::text IS NULL OR held.session_id = $4)
  AND ($5::text IS NULL OR held.parent_plan_id = $5)
  AND ($6::timestamptz IS NULL OR (held.created_at, held.plan_id) < ($6, $7::text))
ORDER BY held.created_at DESC, held.plan_id DESC
LIMIT $8

-- name: plan_insert
-- $1: the row as JSON. No row comes back where the plan is there already.
INSERT INTO keeps.plans (
    tenant_id, user_id, plan_id, session_id, parent_plan_id, agent_id, goal_event, goal_data, response_event, status,
        state,
    current_state, correlation_ids, version, created_at, updated_at)
SELECT tenant_id, user_id, plan_id, session_id, parent_plan_id, agent_id, goal_event, goal_data, response_event, status,
    state,
       current_state, correlation_ids, version, created_at, updated_at
FROM jsonb_populate_record(NULL::keeps.plans, $1::jsonb)
ON CONFLICT DO NOTHING
RETURNING plan_id

-- name: plan_replace
-- $1: the row as JSON.
UPDATE keeps.plans
SET session_id = item.session_id, goal_event = item.goal_event, goal_data = item.goal_data,
    response_event = item.response_event,
    status = item.status, state = item.state, current_state = item.current_state,
        correlation_ids = item.correlation_ids,
    version = item.version, updated_at = item.updated_at
FROM jsonb_populate_record(NULL::keeps.plans, $1::jsonb) AS item
WHERE plans.tenant_id = item.tenant_id AND plans.user_id = item.user_id AND plans.plan_id = item.plan_id

-- name: plan_tree
-- A plan and all plans under it.
WITH RECURSIVE tree AS (
    SELECT plan_id FROM keeps.plans WHERE tenant_id = $1 AND user_id = $2 AND plan_id = $3
    UNION
    SELECT plans.plan_id FROM tree JOIN keeps.plans
      ON plans.tenant_id = $1 AND plans.user_id = $2 AND plans.parent_plan_id = tree.plan_id
)
SELECT plan_id FROM tree

-- name: plan_tasks
-- The task contexts of some plans, which go with them.
SELECT task_id FROM keeps.task_contexts WHERE tenant_id = $1 AND user_id = $2 AND plan_id = ANY ($3::text[])

-- name: plan_delete
-- Its sub-plans go with it by foreign key; task contexts and working memory by trigger.
DELETE FROM keeps.plans WHERE tenant_id = $1 AND user_id = $2 AND plan_id = $3

-- name: plan_redact
SELECT keeps.redact_own_events($1, ARRAY['plan.created', 'plan.updated'])

-- name: task_redact
SELECT keeps.redact_own_events($1, ARRAY['plan.task.written'])

-- name: export_plans
-- Oldest first: a parent is older than its sub-plans.
SELECT created_at, plan_id, to_jsonb(plans) AS row FROM keeps.plans
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, plan_id) > ($3::timestamptz, $4::text)
ORDER BY created_at, plan_id LIMIT 50
