-- The log of recalls and contexts. Runs as keeps_owner.
CREATE TABLE keeps.requests (
    tenant_id text NOT NULL,
    request_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    session_id text,
    kind text NOT NULL CONSTRAINT requests_kind_known CHECK (kind IN ('recall', 'context')),
    door text NOT NULL CONSTRAINT requests_door_known CHECK (door IN ('library', 'http', 'mcp', 'cli')),
    query text NOT NULL,
    arguments jsonb NOT NULL,
    asked_at timestamptz NOT NULL,
    took_ms real NOT NULL,
    hits integer NOT NULL,
    left_out integer NOT NULL,
    found_nothing boolean NOT NULL,
    answer jsonb NOT NULL,
    omitted jsonb NOT NULL,
    PRIMARY KEY (tenant_id, request_id),
    CONSTRAINT requests_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX requests_by_user ON keeps.requests (tenant_id, user_id, request_id);
CREATE INDEX requests_found_nothing ON keeps.requests (tenant_id, request_id) WHERE found_nothing;
COMMENT ON TABLE keeps.requests IS
    'Recalls and contexts for KEEPS_REQUEST_LOG_DAYS. answer, omitted: ids of memories, never their text. request_id: UUIDv7, so it orders by time.';
