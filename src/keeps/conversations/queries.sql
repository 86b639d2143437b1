-- What consolidating a conversation needs besides its messages.

-- name: facts_known
-- One's own facts, the latest first.
SELECT value FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND namespace = $3 AND key IS NOT NULL AND deleted_at IS NULL
    AND superseded_by IS NULL
ORDER BY created_at DESC LIMIT $4

-- name: llm_spent
-- What the tenant's jobs have spent on an LLM today.
SELECT tokens FROM keeps.llm_usage WHERE tenant_id = $1 AND day = $2

-- name: llm_spend
INSERT INTO keeps.llm_usage (tenant_id, day, tokens) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, day) DO UPDATE SET tokens = llm_usage.tokens + EXCLUDED.tokens
