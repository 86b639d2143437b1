-- The first revision: identity, memories, what is derived from them, and the log. Runs as keeps_owner.
-- Every tenant table: tenant_id leads the primary key; foreign keys are composite, indexed and cascade from tenants.
CREATE TABLE keeps.tenants (
    tenant_id text PRIMARY KEY CONSTRAINT tenants_id_length CHECK (char_length(tenant_id) BETWEEN 1 AND 64),
    name text,
    last_sequence bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE keeps.tenants IS 'Local replica of the identity service. last_sequence numbers the events of the tenant.';

CREATE TABLE keeps.users (
    tenant_id text NOT NULL,
    user_id text NOT NULL CONSTRAINT users_id_length CHECK (char_length(user_id) BETWEEN 1 AND 255),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT users_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.users IS 'Local replica: humans and autonomous agents that own memories.';

CREATE TABLE keeps.memories (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    session_id text,
    kind text NOT NULL CONSTRAINT memories_kind_known CHECK (kind IN ('semantic', 'episodic', 'procedural')),
    layer text NOT NULL CONSTRAINT memories_layer_known CHECK (layer IN ('short_term', 'long_term', 'knowledge')),
    namespace text,
    key text,
    content text NOT NULL CONSTRAINT memories_content_length CHECK (char_length(content) BETWEEN 1 AND 50000),
    value jsonb,
    content_type text NOT NULL,
    role text CONSTRAINT memories_role_known CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    trigger_condition text,
    procedure_type text CONSTRAINT memories_procedure_type_known
        CHECK (procedure_type IN ('system_prompt', 'few_shot_example')),
    metadata jsonb NOT NULL,
    tags text[] NOT NULL,
    source text,
    importance double precision NOT NULL CONSTRAINT memories_importance_range CHECK (importance BETWEEN 0 AND 1),
    visibility text NOT NULL CONSTRAINT memories_visibility_known CHECK (visibility IN ('private', 'tenant')),
    content_hash bytea NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    superseded_by uuid,
    expires_at timestamptz,
    archived_at timestamptz,
    deleted_at timestamptz,
    document_id uuid,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    -- For foreign keys that name the owner, too: what derives from a memory, or is superseded by it, has its owner.
    CONSTRAINT memories_owner_unique UNIQUE (tenant_id, memory_id, user_id),
    CONSTRAINT memories_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE,
    CONSTRAINT memories_successor_exists FOREIGN KEY (tenant_id, superseded_by, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE,
    CONSTRAINT memories_key_has_namespace CHECK (key IS NULL OR namespace IS NOT NULL),
    CONSTRAINT memories_validity_order CHECK (valid_to IS NULL OR valid_to >= valid_from)
);

-- One current truth for a key of an owner; a forgotten or superseded one does not count, so the key can be used again.
CREATE UNIQUE INDEX memories_key_unique ON keeps.memories (tenant_id, user_id, namespace, key)
    WHERE key IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL;

-- The same content of one owner is stored once.
CREATE UNIQUE INDEX memories_content_unique ON keeps.memories (tenant_id, user_id, content_hash)
    WHERE key IS NULL AND deleted_at IS NULL AND superseded_by IS NULL;

-- Pages, newest first; and the cascade from users.
CREATE INDEX memories_by_owner ON keeps.memories (tenant_id, user_id, created_at DESC, memory_id DESC);

-- What others of the tenant made visible to all.
CREATE INDEX memories_shared ON keeps.memories (tenant_id, created_at DESC, memory_id DESC) WHERE visibility = 'tenant';

-- The turns of a conversation in order: the neighbours of a hit.
CREATE INDEX memories_by_session ON keeps.memories (tenant_id, session_id, valid_from, memory_id) INCLUDE (user_id,
    visibility)
    WHERE session_id IS NOT NULL;

-- What can still be restored, and what is due to be removed.
CREATE INDEX memories_forgotten ON keeps.memories (tenant_id, user_id, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memories_by_successor ON keeps.memories (tenant_id, superseded_by, user_id)
    WHERE superseded_by IS NOT NULL;
COMMENT ON TABLE keeps.memories IS 'Every durable memory of every kind and layer.';

CREATE TABLE keeps.memory_access (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    access_count bigint NOT NULL CONSTRAINT memory_access_count_positive CHECK (access_count > 0),
    last_accessed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_access_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories
        ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE keeps.memory_access IS
    'How often and when last a memory was recalled; apart, so that reading never rewrites a memory.';

-- Derived from memories, in the same transaction: the words of each memory. Recall asks by term, so only by app.terms.
CREATE TABLE keeps.memory_terms (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    session_id text,
    term_count integer NOT NULL,
    terms integer[] NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_terms_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE
);
CREATE INDEX memory_terms_by_term ON keeps.memory_terms USING gin (terms) WITH (fastupdate = off);
ALTER TABLE keeps.memory_terms ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE keeps.memory_terms IS
    'Text search: terms are hashes salted with their audience, packed holds hash and frequency.';

-- Derived from memories, now or later: the vectors. One row a model, so that two models can live side by side.
CREATE TABLE keeps.memory_vectors (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    model text NOT NULL,
    user_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    embedding halfvec NOT NULL,
    bits bit varying NOT NULL,
    tokens bytea,
    PRIMARY KEY (tenant_id, memory_id, model),
    CONSTRAINT memory_vectors_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_vacuum_insert_threshold = 2000);
ALTER TABLE keeps.memory_vectors ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE keeps.memory_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;

-- All a first pass needs, read index-only, one owner's rows together: exact search inside a scope.
CREATE INDEX memory_vectors_by_audience
    ON keeps.memory_vectors (tenant_id, audience, life, model) INCLUDE (memory_id, bits);
COMMENT ON TABLE keeps.memory_vectors IS
    'Vector search: one sentence vector, its sign bits, and the reduced token vectors of the second stage.';

CREATE TABLE keeps.events (
    tenant_id text NOT NULL,
    sequence bigint NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    source text NOT NULL,
    subject text NOT NULL,
    time timestamptz NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    visibility text NOT NULL CONSTRAINT events_visibility_known CHECK (visibility IN ('private', 'tenant')),
    traceparent text,
    data jsonb NOT NULL,
    PRIMARY KEY (tenant_id, sequence),
    CONSTRAINT events_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
CREATE INDEX events_by_subject ON keeps.events (tenant_id, subject, sequence);
COMMENT ON TABLE keeps.events IS 'Everything that happened, append-only; memories can be rebuilt from it.';
