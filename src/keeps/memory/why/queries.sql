-- What a memory came from, and what changed it.

-- name: operations_of_memory
-- The jobs and decisions that changed one of one's own memories, the first one first.
SELECT operations.tenant_id, operations.operation_id, operations.job, operations.status, operations.counts,
    operations.error, operations.started_at, operations.finished_at, operations.undone_at, operations.undone_by
FROM keeps.operation_changes JOIN keeps.operations
  ON operations.tenant_id = $1 AND operations.operation_id = operation_changes.operation_id
WHERE operation_changes.tenant_id = $1 AND operation_changes.memory_id = $2 AND operation_changes.user_id = $3
ORDER BY operations.started_at, operations.operation_id
LIMIT 100

-- name: conversation_messages
-- The messages of a conversation that a summary of $4 may contain, the newest first.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND kind = 'episodic'
  AND content_type IN ('message', 'tool_result') AND deleted_at IS NULL AND created_at <= $4
  AND ($5::text IS NULL OR agent_id = $5)
ORDER BY valid_from DESC, memory_id DESC
LIMIT 50

-- name: older_versions
-- The rows that a memory superseded directly.
SELECT memory_id FROM keeps.memories
WHERE tenant_id = $1 AND superseded_by = $2
ORDER BY valid_from DESC, memory_id
LIMIT 50
