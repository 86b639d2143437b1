-- What an LLM cost, by the job that asked it.
ALTER TABLE keeps.llm_usage ADD COLUMN job text NOT NULL DEFAULT 'sessions';
ALTER TABLE keeps.llm_usage DROP CONSTRAINT llm_usage_pkey;
ALTER TABLE keeps.llm_usage ADD PRIMARY KEY (tenant_id, day, job);
COMMENT ON TABLE keeps.llm_usage IS 'Tokens that a tenant spent on an LLM, a row a day and job.';
