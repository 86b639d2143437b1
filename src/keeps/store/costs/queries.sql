-- What models cost.

-- name: usage_add
-- Add what a tenant's requests used; nothing of a tenant that is not there. llm_usage is what servers of an earlier
-- release read. $2 to $10, side by side: days, jobs, models, kinds, calls, failed calls, tokens sent, tokens answered,
-- seconds
WITH item AS (
    SELECT item.* FROM unnest($2::date[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::float8[]) AS item(day, job, model, kind, calls, failed, prompt_tokens, completion_tokens,
        seconds)
    WHERE EXISTS (SELECT FROM keeps.tenants WHERE tenant_id = $1)
), summed AS (
    INSERT INTO keeps.llm_usage (tenant_id, day, job, tokens)
    SELECT $1, day, job, sum(prompt_tokens + completion_tokens) FROM item WHERE kind = 'llm'
    GROUP BY day, job HAVING sum(prompt_tokens + completion_tokens) > 0 ORDER BY day, job
    ON CONFLICT (tenant_id, day, job) DO UPDATE SET tokens = llm_usage.tokens + EXCLUDED.tokens
)
INSERT INTO keeps.model_usage (tenant_id, day, job, model, kind, calls, failed, prompt_tokens, completion_tokens,
    seconds)
SELECT $1, day, job, model, kind, calls, failed, prompt_tokens, completion_tokens, seconds FROM item
ORDER BY day, job, model
ON CONFLICT (tenant_id, day, job, model) DO UPDATE SET calls = model_usage.calls + EXCLUDED.calls,
    failed = model_usage.failed + EXCLUDED.failed,
    prompt_tokens = model_usage.prompt_tokens + EXCLUDED.prompt_tokens,
    completion_tokens = model_usage.completion_tokens + EXCLUDED.completion_tokens,
    seconds = model_usage.seconds + EXCLUDED.seconds

-- name: usage_of_days
-- Tokens of the tenant by day, kind and model, for its budgets. $1: from this day on · $2: to this one
SELECT day, kind, model, sum(prompt_tokens)::bigint AS prompt_tokens, sum(completion_tokens)::bigint AS completion_tokens
FROM keeps.usage_rows($1, $2) GROUP BY day, kind, model

-- name: usage_of_tenant
-- Sums of the tenant. $1, $2: the first and the last day · $3: day, job or model
SELECT CASE $3::text WHEN 'day' THEN day::text WHEN 'job' THEN job WHEN 'tenant' THEN tenant_id ELSE model END AS name,
    kind, model, sum(calls)::bigint AS calls, sum(failed)::bigint AS failed, sum(prompt_tokens)::bigint AS prompt_tokens,
    sum(completion_tokens)::bigint AS completion_tokens, sum(seconds) AS seconds
FROM keeps.usage_rows($1, $2) GROUP BY 1, 2, 3

-- name: usage_of_all
-- Sums of all tenants of a cell.
SELECT name, kind, model, calls, failed, prompt_tokens, completion_tokens, seconds FROM keeps.usage_of_all($1, $2, $3)

-- name: alert_add
-- Note that the tenant is told of a budget. No row if it was before, or of more.
INSERT INTO keeps.budget_alerts (tenant_id, budget, starts_on, level)
SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT FROM keeps.tenants WHERE tenant_id = $1)
    AND NOT EXISTS (SELECT FROM keeps.budget_alerts WHERE tenant_id = $1 AND budget = $2 AND starts_on = $3
        AND level = 'reached')
ON CONFLICT (tenant_id, budget, starts_on, level) DO NOTHING
RETURNING level
