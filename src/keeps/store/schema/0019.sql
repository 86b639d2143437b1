-- How often each job of a tenant is due. Runs as keeps_owner.
CREATE TABLE keeps_jobs.periods (
    job text PRIMARY KEY CONSTRAINT periods_job_is_a_name CHECK (job ~ '^[a-z][a-z_]{0,39}$'),
    period interval NOT NULL CONSTRAINT periods_bounded CHECK (period BETWEEN interval '1 minute' AND interval '1 year')
);
COMMENT ON TABLE keeps_jobs.periods IS 'The jobs that the engine declares when it opens, and how often each is due.';
