-- Task contexts of the asking user.

-- name: task_get
-- reads: TaskContext without visibility
SELECT tenant_id, user_id, task_id, plan_id, agent_id, event_type, response_event, response_topic, data, sub_tasks,
    state, version,
       created_at, updated_at
FROM keeps.task_contexts
WHERE tenant_id = $1 AND user_id = $2 AND task_id = $3

-- name: task_by_subtask
-- reads: TaskContext without visibility
-- The task that waits for a sub-task: of several the newest.
SELECT held.tenant_id, held.user_id, held.task_id, held.plan_id, held.agent_id, held.event_type, held.response_event,
    held.response_topic,
       held.data, held.sub_tasks, held.state, held.version, held.created_at, held.updated_at
FROM keeps.task_subtasks AS waiting
JOIN keeps.task_contexts AS held ON held.tenant_id = $1 AND held.user_id = $2 AND held.task_id = waiting.task_id
WHERE waiting.tenant_id = $1 AND waiting.user_id = $2 AND waiting.sub_task_id = $3
ORDER BY held.created_at DESC, held.task_id DESC
LIMIT 1

-- name: task_put
-- $1: the row as JSON; one that is there is replaced.
INSERT INTO keeps.task_contexts (
    tenant_id, user_id, task_id, plan_id, agent_id, event_type, response_event, response_topic, data, sub_tasks, state,
        version,
    created_at, updated_at)
SELECT tenant_id, user_id, task_id, plan_id, agent_id, event_type, response_event, response_topic, data, sub_tasks,
    state, version,
       created_at, updated_at
FROM jsonb_populate_record(NULL::keeps.task_contexts, $1::jsonb)
ON CONFLICT (tenant_id, user_id, task_id) DO UPDATE
    SET plan_id = EXCLUDED.plan_id, agent_id = EXCLUDED.agent_id, event_type = EXCLUDED.event_type,
        response_event = EXCLUDED.response_event,
        response_topic = EXCLUDED.response_topic, data = EXCLUDED.data, sub_tasks = EXCLUDED.sub_tasks,
            state = EXCLUDED.state,
        version = EXCLUDED.version, updated_at = EXCLUDED.updated_at

-- name: task_delete
DELETE FROM keeps.task_contexts WHERE tenant_id = $1 AND user_id = $2 AND task_id = $3 RETURNING task_id

-- name: task_redact
SELECT keeps.redact_own_events($1, ARRAY['plan.task.written'])

-- name: export_task_contexts
SELECT created_at, task_id, to_jsonb(task_contexts) AS row FROM keeps.task_contexts
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, task_id) > ($3::timestamptz, $4::text)
ORDER BY created_at, task_id LIMIT 50
