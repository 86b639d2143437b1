-- The eighth revision: databases that may be asked, and what was asked of them. Runs as keeps_owner.
CREATE TABLE keeps.databases (
    tenant_id text NOT NULL,
    database_id uuid NOT NULL,
    name text NOT NULL CONSTRAINT databases_name_length CHECK (char_length(name) BETWEEN 1 AND 100),
    dialect text NOT NULL CONSTRAINT databases_dialect_known CHECK (dialect IN ('postgresql', 'sqlite', 'mysql')),
    location text NOT NULL,
    credential bytea NOT NULL,
    key_id text NOT NULL,
    purpose text NOT NULL,
    asked_by text NOT NULL CONSTRAINT databases_asked_by_known CHECK (asked_by IN ('reader', 'writer', 'admin')),
    allowed jsonb NOT NULL,
    samples jsonb NOT NULL,
    tables jsonb NOT NULL,
    warnings text[] NOT NULL,
    described_at timestamptz NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (tenant_id, database_id),
    CONSTRAINT databases_name_unique UNIQUE (tenant_id, name),
    CONSTRAINT databases_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.databases IS
    'Which databases may be asked. credential: the URL, sealed for this row under the key key_id; allowed: what was listed; tables: what its server says of that.';

CREATE TABLE keeps.query_audit (
    tenant_id text NOT NULL,
    audit_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    database_name text NOT NULL,
    question text,
    sql text,
    outcome text NOT NULL CONSTRAINT query_audit_outcome_known CHECK (outcome IN ('allowed', 'refused', 'failed')),
    rule text,
    tables text[] NOT NULL,
    row_count integer NOT NULL,
    took_ms integer NOT NULL,
    asked_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, audit_id),
    CONSTRAINT query_audit_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX query_audit_by_user ON keeps.query_audit (tenant_id, user_id, asked_at DESC, audit_id DESC);
COMMENT ON TABLE keeps.query_audit IS 'What was asked of databases, allowed or not; kept for 90 days.';
ALTER TABLE keeps.documents ADD COLUMN passage_tokens integer;
COMMENT ON COLUMN keeps.documents.passage_tokens IS 'How long a passage is at most, where that was chosen.';

-- What a context tells whatever is asked.
CREATE INDEX memories_standing ON keeps.memories (tenant_id, user_id, kind, importance DESC, created_at, memory_id)
    WHERE (importance >= 0.7 OR kind = 'procedural') AND deleted_at IS NULL AND superseded_by IS NULL
      AND archived_at IS NULL AND expires_at IS NULL AND valid_to IS NULL;
