-- What models cost. Runs as keeps_owner.
CREATE TABLE keeps.model_usage (
    tenant_id text NOT NULL,
    day date NOT NULL,
    job text NOT NULL,
    model text NOT NULL,
    kind text NOT NULL CONSTRAINT model_usage_kind_known CHECK (kind IN ('llm', 'embedding')),
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    seconds double precision NOT NULL,
    PRIMARY KEY (tenant_id, day, job, model),
    CONSTRAINT model_usage_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
CREATE INDEX model_usage_by_day ON keeps.model_usage (day);
COMMENT ON TABLE keeps.model_usage IS
    'Requests of a tenant to models over the network, a row a day, job and model. llm_usage has the sum of their tokens.';

CREATE TABLE keeps.budget_alerts (
    tenant_id text NOT NULL,
    budget text NOT NULL,
    starts_on date NOT NULL,
    level text NOT NULL CONSTRAINT budget_alerts_level_known CHECK (level IN ('warned', 'reached')),
    PRIMARY KEY (tenant_id, budget, starts_on, level),
    CONSTRAINT budget_alerts_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.budget_alerts IS 'Budgets of which the tenant was told, once in each period.';
