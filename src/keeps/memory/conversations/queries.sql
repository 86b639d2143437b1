-- What consolidating a conversation needs besides its messages.

-- name: facts_known
-- One's own facts, the latest first.
SELECT value FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = $3 AND key IS NOT NULL AND deleted_at IS NULL
    AND superseded_by IS NULL
ORDER BY created_at DESC LIMIT $4
