-- The ninth revision: what frameworks keep. Transcripts: conversations word for word, with the state beside them. Items:
-- JSON values under a namespace and a key. Each row is the subject of its own events, by row_id. Runs as keeps_owner.
CREATE TABLE keeps.transcripts (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    entry_count integer NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, app, transcript_id),
    CONSTRAINT transcripts_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX transcripts_by_time ON keeps.transcripts (tenant_id, user_id, app, updated_at, transcript_id);
CREATE INDEX transcripts_by_app ON keeps.transcripts (tenant_id, app, user_id);
COMMENT ON TABLE keeps.transcripts IS 'Conversations word for word. updated_at: the time of the last entry.';

CREATE TABLE keeps.transcript_entries (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    "position" integer NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    entry_id text NOT NULL,
    at timestamptz NOT NULL,
    entry jsonb,
    bytes integer NOT NULL,
    PRIMARY KEY (tenant_id, user_id, app, transcript_id, "position"),
    CONSTRAINT transcript_entries_transcript_exists FOREIGN KEY (tenant_id, user_id, app, transcript_id)
        REFERENCES keeps.transcripts ON DELETE CASCADE
);
CREATE INDEX transcript_entries_by_id ON keeps.transcript_entries (tenant_id, user_id, app, transcript_id, entry_id);
COMMENT ON TABLE keeps.transcript_entries IS 'What was said and done, in order. bytes: of the entry as JSON. JSON''s null is NULL.';

CREATE TABLE keeps.transcript_values (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    key text NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    value jsonb,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, app, transcript_id, key),
    CONSTRAINT transcript_values_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
COMMENT ON TABLE keeps.transcript_values IS
    'State of a transcript, key by key; where transcript_id is empty, of the user in all transcripts of the app. JSON''s null is NULL.';

CREATE TABLE keeps.items (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    row_id uuid NOT NULL,
    value jsonb NOT NULL,
    texts jsonb,
    ttl_minutes double precision,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, namespace, key),
    CONSTRAINT items_row_unique UNIQUE (tenant_id, row_id),
    CONSTRAINT items_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX items_by_time ON keeps.items (tenant_id, user_id, updated_at DESC);
CREATE INDEX items_ending ON keeps.items (tenant_id, user_id, updated_at) WHERE ttl_minutes IS NOT NULL;
COMMENT ON TABLE keeps.items IS
    'Values of stores. namespace: its labels, a period after each, so that what is below one is a range. texts: by what it is found, name → text, {} for the whole value, NULL for not at all.';

CREATE TABLE keeps.item_refreshes (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    row_id uuid NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, row_id),
    CONSTRAINT item_refreshes_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
);
CREATE INDEX item_refreshes_by_user ON keeps.item_refreshes (tenant_id, user_id);
COMMENT ON TABLE keeps.item_refreshes IS
    'When items end whose time to live a reading began anew; apart, so that reading never rewrites an item.';

-- Derived from items: a vector for each text.
CREATE TABLE keeps.item_vectors (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    row_id uuid NOT NULL,
    field text NOT NULL,
    model text NOT NULL,
    embedding halfvec NOT NULL,
    bits bit varying NOT NULL,
    PRIMARY KEY (tenant_id, row_id, model, field),
    CONSTRAINT item_vectors_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items (tenant_id, row_id)
        ON DELETE CASCADE
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_vacuum_insert_threshold = 2000);
ALTER TABLE keeps.item_vectors ALTER COLUMN embedding SET STORAGE PLAIN;

-- All a first pass needs, read index-only, what is below a namespace together.
CREATE INDEX item_vectors_by_place ON keeps.item_vectors (tenant_id, user_id, model, namespace) INCLUDE (row_id, field,
    bits);
