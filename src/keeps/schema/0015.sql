-- An item is stored while the model is away, as a memory is, and gets its vectors when it is back. Runs as keeps_owner.

CREATE TABLE keeps.item_pending (
    tenant_id text NOT NULL,
    row_id uuid NOT NULL,
    user_id text NOT NULL,
    noticed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, row_id),
    CONSTRAINT item_pending_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
);
CREATE INDEX item_pending_by_time ON keeps.item_pending (noticed_at);
CREATE INDEX item_pending_by_owner ON keeps.item_pending (tenant_id, user_id);
COMMENT ON TABLE keeps.item_pending IS 'Derived: items that wait for their vectors.';

-- As in the revisions before, and items.
CREATE OR REPLACE FUNCTION keeps.index_waiting() RETURNS TABLE (waiting bigint, since timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT count(*), min(noticed_at) FROM (
        SELECT noticed_at FROM memory_pending UNION ALL SELECT noticed_at FROM item_pending) AS either;
END
$$;

CREATE OR REPLACE FUNCTION keeps.take_due_jobs(moment timestamptz, at_most integer) RETURNS TABLE (tenant_id text,
    job text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY WITH due AS (
        SELECT held.tenant_id, held.job FROM tenant_jobs AS held WHERE held.due_at <= moment
        ORDER BY held.due_at LIMIT at_most FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE tenant_jobs SET due_at = LEAST(moment, now()) + interval '10 minutes' FROM due
        WHERE tenant_jobs.tenant_id = due.tenant_id AND tenant_jobs.job = due.job
        RETURNING tenant_jobs.tenant_id, tenant_jobs.job
    )
    SELECT taken.tenant_id, taken.job FROM taken
    UNION ALL
    SELECT DISTINCT waiting.tenant_id, 'index'
    FROM ((SELECT memory_pending.tenant_id FROM memory_pending
           WHERE memory_pending.noticed_at <= now() - interval '1 minute'
           ORDER BY memory_pending.noticed_at LIMIT 10 * at_most)
          UNION ALL
          (SELECT item_pending.tenant_id FROM item_pending
           WHERE item_pending.noticed_at <= now() - interval '1 minute'
           ORDER BY item_pending.noticed_at LIMIT 10 * at_most)) AS waiting;
END
$$;

CREATE OR REPLACE FUNCTION keeps.users_due(wanted_job text, moment timestamptz, after text,
    at_most integer) RETURNS TABLE (user_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tenant text := NULLIF(current_setting('app.current_tenant', true), '');
BEGIN
    RETURN QUERY SELECT users.user_id FROM users
    WHERE users.tenant_id = tenant AND users.user_id > after
      AND CASE wanted_job
          WHEN 'decay' THEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
              AND memories.user_id = users.user_id AND layer = 'short_term'
              AND archived_at IS NULL AND deleted_at IS NULL AND superseded_by IS NULL
              AND fades_at(importance, 0, updated_at) <= moment)
          WHEN 'promotion' THEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
              AND memories.user_id = users.user_id
              AND layer = 'short_term' AND deleted_at IS NULL AND superseded_by IS NULL)
          WHEN 'expiry' THEN EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant
              AND memories.user_id = users.user_id
              AND expires_at IS NOT NULL AND deleted_at IS NULL AND expires_at <= moment)
              OR EXISTS (SELECT FROM memories WHERE memories.tenant_id = tenant AND memories.user_id = users.user_id
                  AND deleted_at IS NOT NULL AND deleted_at < moment - interval '30 days')
              OR EXISTS (SELECT FROM session_notes WHERE session_notes.tenant_id = tenant
                  AND session_notes.user_id = users.user_id
                  AND session_notes.expires_at <= moment AND consolidate_at IS NULL)
              OR EXISTS (SELECT FROM items WHERE items.tenant_id = tenant AND items.user_id = users.user_id
                  AND ttl_minutes IS NOT NULL AND updated_at + ttl_minutes * interval '1 minute' <= moment)
          WHEN 'sessions' THEN EXISTS (SELECT FROM session_notes WHERE session_notes.tenant_id = tenant
              AND session_notes.user_id = users.user_id
              AND consolidate_at IS NOT NULL AND consolidate_at <= moment)
          WHEN 'index' THEN EXISTS (SELECT FROM memory_pending WHERE memory_pending.tenant_id = tenant
              AND memory_pending.user_id = users.user_id)
              OR EXISTS (SELECT FROM item_pending WHERE item_pending.tenant_id = tenant
                  AND item_pending.user_id = users.user_id)
          ELSE true END
    ORDER BY users.user_id LIMIT at_most;
END
$$;
