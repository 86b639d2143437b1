-- How often each job of a tenant is due. Runs as keeps_owner.
CREATE TABLE keeps_jobs.periods (
    job text PRIMARY KEY,
    period interval NOT NULL CONSTRAINT periods_positive CHECK (period > interval '0')
);
COMMENT ON TABLE keeps_jobs.periods IS 'The jobs that the engine declares when it opens, and how often each is due.';
