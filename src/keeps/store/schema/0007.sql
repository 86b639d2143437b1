-- The seventh revision: documents. What an organisation has written down, cut into passages. A passage is a memory of
-- the layer `knowledge`; where it stands in which document is said here. Runs as keeps_owner.
CREATE TABLE keeps.documents (
    tenant_id text NOT NULL,
    document_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    title text NOT NULL CONSTRAINT documents_title_length CHECK (char_length(title) BETWEEN 1 AND 500),
    source text,
    format text NOT NULL,
    file_hash bytea NOT NULL,
    metadata jsonb NOT NULL,
    tags text[] NOT NULL,
    visibility text NOT NULL CONSTRAINT documents_visibility_known CHECK (visibility IN ('private', 'tenant')),
    pages integer NOT NULL,
    pages_without_text integer NOT NULL,
    characters integer NOT NULL,
    tail text NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, document_id),
    CONSTRAINT documents_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX documents_by_owner ON keeps.documents (tenant_id, user_id, created_at DESC, document_id DESC);
CREATE INDEX documents_shared ON keeps.documents (tenant_id, created_at DESC, document_id DESC)
    WHERE visibility = 'tenant';

-- A source is one document of its owner: sent again, it is a new version of it.
CREATE UNIQUE INDEX documents_source_unique ON keeps.documents (tenant_id, user_id, source)
    WHERE source IS NOT NULL AND deleted_at IS NULL;
COMMENT ON TABLE keeps.documents IS
    'What can be looked up. tail: the text after the last passage; the rest of the text is that of its passages.';

CREATE TABLE keeps.document_passages (
    tenant_id text NOT NULL,
    document_id uuid NOT NULL,
    "position" integer NOT NULL,
    user_id text NOT NULL,
    visibility text NOT NULL,
    memory_id uuid NOT NULL,
    starts integer NOT NULL,
    ends integer NOT NULL,
    page integer,
    headings text[] NOT NULL,
    gap text NOT NULL,
    PRIMARY KEY (tenant_id, document_id, "position"),
    CONSTRAINT document_passages_document_exists FOREIGN KEY (tenant_id, document_id) REFERENCES keeps.documents
        ON DELETE CASCADE,
    CONSTRAINT document_passages_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE,
    CONSTRAINT document_passages_order CHECK (0 <= starts AND starts < ends)
);
CREATE INDEX document_passages_by_memory ON keeps.document_passages (tenant_id, memory_id);
COMMENT ON TABLE keeps.document_passages IS 'Derived from events of documents: which memory stands where in which document. gap: the text before it that is no passage, such as headings.';
