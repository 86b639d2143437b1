-- Made by tools/make_schema.py; write a revision in src/keeps/store/schema instead.

CREATE TABLE keeps.alembic_version (
    version_num character varying(32) NOT NULL
);

ALTER TABLE ONLY keeps.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

CREATE TABLE keeps.api_keys (
    tenant_id text NOT NULL,
    key_id uuid NOT NULL,
    user_id text,
    agent_id text,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    hint text NOT NULL,
    roles text[] NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    limits jsonb,
    CONSTRAINT api_keys_hash_length CHECK ((octet_length(key_hash) = 32))
);

COMMENT ON TABLE keeps.api_keys IS 'Keys of access; only their SHA-256 is kept (they are 256 random bits, so no slow hash is needed).';

COMMENT ON COLUMN keeps.api_keys.limits IS 'What the key is limited to: access (read or append), spaces, namespaces, kinds. NULL: by its roles alone.';

ALTER TABLE ONLY keeps.api_keys
    ADD CONSTRAINT api_keys_hash_unique UNIQUE (key_hash);

ALTER TABLE ONLY keeps.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (tenant_id, key_id);

ALTER TABLE ONLY keeps.api_keys
    ADD CONSTRAINT api_keys_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.audience_words (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    memories integer NOT NULL,
    words bigint NOT NULL,
    next_place integer NOT NULL,
    folded_to integer NOT NULL,
    version bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE keeps.audience_words IS 'Counts of what an audience can find; places from folded_to on are in memory_words only, those before in postings.';

COMMENT ON COLUMN keeps.audience_words.version IS 'Random, and new after each change of a memory, its words or its vectors: what a process holds of the audience is current while it stays. Never repeated, not even after an erasure or a move.';

ALTER TABLE ONLY keeps.audience_words
    ADD CONSTRAINT audience_words_pkey PRIMARY KEY (tenant_id, audience, life);

ALTER TABLE ONLY keeps.audience_words
    ADD CONSTRAINT audience_words_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.budget_alerts (
    tenant_id text NOT NULL,
    budget text NOT NULL,
    starts_on date NOT NULL,
    level text NOT NULL,
    CONSTRAINT budget_alerts_level_known CHECK ((level = ANY (ARRAY['warned'::text, 'reached'::text])))
);

COMMENT ON TABLE keeps.budget_alerts IS 'Budgets of which the tenant was told, once in each period.';

ALTER TABLE ONLY keeps.budget_alerts
    ADD CONSTRAINT budget_alerts_pkey PRIMARY KEY (tenant_id, budget, starts_on, level);

ALTER TABLE ONLY keeps.budget_alerts
    ADD CONSTRAINT budget_alerts_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.databases (
    tenant_id text NOT NULL,
    database_id uuid NOT NULL,
    name text NOT NULL,
    dialect text NOT NULL,
    location text NOT NULL,
    credential bytea NOT NULL,
    key_id text NOT NULL,
    purpose text NOT NULL,
    asked_by text NOT NULL,
    allowed jsonb NOT NULL,
    samples jsonb NOT NULL,
    tables jsonb NOT NULL,
    warnings text[] NOT NULL,
    described_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version integer NOT NULL,
    CONSTRAINT databases_asked_by_known CHECK ((asked_by = ANY (ARRAY['reader'::text, 'writer'::text, 'admin'::text]))),
    CONSTRAINT databases_dialect_known CHECK ((dialect = ANY (ARRAY['postgresql'::text, 'sqlite'::text, 'mysql'::text]))),
    CONSTRAINT databases_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)))
);

COMMENT ON TABLE keeps.databases IS 'Which databases may be asked. credential: the URL, sealed for this row under the key key_id; allowed: what was listed; tables: what its server says of that.';

ALTER TABLE ONLY keeps.databases
    ADD CONSTRAINT databases_name_unique UNIQUE (tenant_id, name);

ALTER TABLE ONLY keeps.databases
    ADD CONSTRAINT databases_pkey PRIMARY KEY (tenant_id, database_id);

ALTER TABLE ONLY keeps.databases
    ADD CONSTRAINT databases_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

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
    page_breaks integer[],
    CONSTRAINT document_passages_order CHECK (((0 <= starts) AND (starts < ends)))
);

COMMENT ON TABLE keeps.document_passages IS 'Derived from events of documents: which memory stands where in which document. gap: the text before it that is no passage, such as headings.';

COMMENT ON COLUMN keeps.document_passages.page_breaks IS 'Offsets in the document''s text at which pages page + 1, page + 2, … begin inside the passage. NULL: none does, or the document was stored before revision 16.';

ALTER TABLE ONLY keeps.document_passages
    ADD CONSTRAINT document_passages_pkey PRIMARY KEY (tenant_id, document_id, "position");

CREATE INDEX document_passages_by_memory ON keeps.document_passages USING btree (tenant_id, memory_id);

ALTER TABLE ONLY keeps.document_passages
    ADD CONSTRAINT document_passages_document_exists FOREIGN KEY (tenant_id, document_id) REFERENCES keeps.documents(tenant_id, document_id) ON DELETE CASCADE;

ALTER TABLE ONLY keeps.document_passages
    ADD CONSTRAINT document_passages_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id) REFERENCES keeps.memories(tenant_id, memory_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.documents (
    tenant_id text NOT NULL,
    document_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    title text NOT NULL,
    source text,
    format text NOT NULL,
    file_hash bytea NOT NULL,
    metadata jsonb NOT NULL,
    tags text[] NOT NULL,
    visibility text NOT NULL,
    pages integer NOT NULL,
    pages_without_text integer NOT NULL,
    characters integer NOT NULL,
    tail text NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    passage_tokens integer,
    CONSTRAINT documents_title_length CHECK (((char_length(title) >= 1) AND (char_length(title) <= 500))),
    CONSTRAINT documents_visibility_known CHECK ((visibility = ANY (ARRAY['private'::text, 'tenant'::text])))
);

COMMENT ON TABLE keeps.documents IS 'What can be looked up. tail: the text after the last passage; the rest of the text is that of its passages.';

COMMENT ON COLUMN keeps.documents.passage_tokens IS 'How long a passage is at most, where that was chosen.';

ALTER TABLE ONLY keeps.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (tenant_id, document_id);

ALTER TABLE keeps.documents
    ADD CONSTRAINT documents_space_private CHECK (((visibility = 'private'::text) OR (NOT starts_with(user_id, '(space) '::text)))) NOT VALID;

CREATE INDEX documents_by_owner ON keeps.documents USING btree (tenant_id, user_id, created_at DESC, document_id DESC);

CREATE INDEX documents_shared ON keeps.documents USING btree (tenant_id, created_at DESC, document_id DESC) WHERE (visibility = 'tenant'::text);

CREATE UNIQUE INDEX documents_source_unique ON keeps.documents USING btree (tenant_id, user_id, source) WHERE ((source IS NOT NULL) AND (deleted_at IS NULL));

ALTER TABLE ONLY keeps.documents
    ADD CONSTRAINT documents_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.entities (
    tenant_id text NOT NULL,
    entity_id uuid NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    entity_type text NOT NULL,
    aliases text[] NOT NULL,
    properties jsonb NOT NULL,
    visibility text NOT NULL,
    source text NOT NULL,
    merged_into uuid,
    moved jsonb,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT entities_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 255))),
    CONSTRAINT entities_source_known CHECK ((source = ANY (ARRAY['user'::text, 'text'::text, 'llm'::text]))),
    CONSTRAINT entities_visibility_known CHECK ((visibility = ANY (ARRAY['private'::text, 'tenant'::text])))
);

COMMENT ON TABLE keeps.entities IS 'Nodes of the graph. merged_into names the entity that took this one in; moved holds what undoing needs.';

ALTER TABLE ONLY keeps.entities
    ADD CONSTRAINT entities_pkey PRIMARY KEY (tenant_id, entity_id);

ALTER TABLE keeps.entities
    ADD CONSTRAINT entities_space_private CHECK (((visibility = 'private'::text) OR (NOT starts_with(user_id, '(space) '::text)))) NOT VALID;

CREATE INDEX entities_by_owner ON keeps.entities USING btree (tenant_id, user_id, created_at DESC, entity_id DESC);

CREATE INDEX entities_by_survivor ON keeps.entities USING btree (tenant_id, merged_into) WHERE (merged_into IS NOT NULL);

CREATE UNIQUE INDEX entities_name_unique ON keeps.entities USING btree (tenant_id, user_id, entity_type, keeps.name_key(name)) WHERE ((deleted_at IS NULL) AND (merged_into IS NULL));

CREATE INDEX entities_shared ON keeps.entities USING btree (tenant_id, created_at DESC, entity_id DESC) WHERE (visibility = 'tenant'::text);

ALTER TABLE ONLY keeps.entities
    ADD CONSTRAINT entities_survivor_exists FOREIGN KEY (tenant_id, merged_into) REFERENCES keeps.entities(tenant_id, entity_id) ON DELETE SET NULL (merged_into) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY keeps.entities
    ADD CONSTRAINT entities_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.entity_names (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    name_key text NOT NULL,
    entity_id uuid NOT NULL,
    visibility text NOT NULL
);

COMMENT ON TABLE keeps.entity_names IS 'Derived from entities: names and aliases of those that are there, to find them by.';

ALTER TABLE ONLY keeps.entity_names
    ADD CONSTRAINT entity_names_pkey PRIMARY KEY (tenant_id, name_key, entity_id);

CREATE INDEX entity_names_by_entity ON keeps.entity_names USING btree (tenant_id, entity_id);

ALTER TABLE ONLY keeps.entity_names
    ADD CONSTRAINT entity_names_entity_exists FOREIGN KEY (tenant_id, entity_id) REFERENCES keeps.entities(tenant_id, entity_id) ON DELETE CASCADE;

CREATE TABLE keeps.events (
    tenant_id text CONSTRAINT events_tenant_id_not_null1 NOT NULL,
    sequence bigint CONSTRAINT events_sequence_not_null1 NOT NULL,
    event_id uuid CONSTRAINT events_event_id_not_null1 NOT NULL,
    type text CONSTRAINT events_type_not_null1 NOT NULL,
    source text CONSTRAINT events_source_not_null1 NOT NULL,
    subject text CONSTRAINT events_subject_not_null1 NOT NULL,
    "time" timestamp with time zone CONSTRAINT events_time_not_null1 NOT NULL,
    user_id text CONSTRAINT events_user_id_not_null1 NOT NULL,
    agent_id text,
    visibility text CONSTRAINT events_visibility_not_null1 NOT NULL,
    traceparent text DEFAULT NULLIF(current_setting('app.traceparent'::text, true), ''::text),
    data jsonb CONSTRAINT events_data_not_null1 NOT NULL,
    recorded_at timestamp with time zone DEFAULT now() NOT NULL,
    actor_id text DEFAULT 
CASE
    WHEN starts_with(current_setting('app.current_user'::text, true), '(space) '::text) THEN NULLIF(current_setting('app.acting_user'::text, true), current_setting('app.current_user'::text, true))
    ELSE NULL::text
END,
    salt bytea,
    contents_hash bytea,
    previous_hash bytea,
    redacted_by bigint,
    CONSTRAINT events_visibility_known CHECK ((visibility = ANY (ARRAY['private'::text, 'tenant'::text])))
)
PARTITION BY RANGE (recorded_at);

COMMENT ON TABLE keeps.events IS 'Everything that happened, append-only, a partition a month; all durable rows can be rebuilt from it.';

COMMENT ON COLUMN keeps.events.actor_id IS 'In a space: the user who acted; NULL for jobs.';

COMMENT ON COLUMN keeps.events.salt IS 'Random, hashed with the contents and removed with them, so that the hash of erased contents cannot be guessed.';

COMMENT ON COLUMN keeps.events.contents_hash IS 'SHA-256 of the contents as they were written (keeps.contents_hash). It stays when the contents are redacted.';

COMMENT ON COLUMN keeps.events.previous_hash IS 'SHA-256 of the tenant''s event before this one (keeps.event_hash). NULL: the event is older than the chain.';

COMMENT ON COLUMN keeps.events.redacted_by IS 'Sequence of the event log.redacted that records the removal of the contents.';

ALTER TABLE ONLY keeps.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (tenant_id, sequence, recorded_at);

CREATE INDEX events_by_subject ON ONLY keeps.events USING btree (tenant_id, subject, sequence);

CREATE INDEX events_by_user ON ONLY keeps.events USING btree (tenant_id, user_id, sequence);

CREATE INDEX events_shared ON ONLY keeps.events USING btree (tenant_id, sequence) WHERE (visibility = 'tenant'::text);

CREATE TABLE keeps.events_rest (
    tenant_id text CONSTRAINT events_tenant_id_not_null1 NOT NULL,
    sequence bigint CONSTRAINT events_sequence_not_null1 NOT NULL,
    event_id uuid CONSTRAINT events_event_id_not_null1 NOT NULL,
    type text CONSTRAINT events_type_not_null1 NOT NULL,
    source text CONSTRAINT events_source_not_null1 NOT NULL,
    subject text CONSTRAINT events_subject_not_null1 NOT NULL,
    "time" timestamp with time zone CONSTRAINT events_time_not_null1 NOT NULL,
    user_id text CONSTRAINT events_user_id_not_null1 NOT NULL,
    agent_id text,
    visibility text CONSTRAINT events_visibility_not_null1 NOT NULL,
    traceparent text DEFAULT NULLIF(current_setting('app.traceparent'::text, true), ''::text),
    data jsonb CONSTRAINT events_data_not_null1 NOT NULL,
    recorded_at timestamp with time zone DEFAULT now() CONSTRAINT events_recorded_at_not_null NOT NULL,
    actor_id text DEFAULT 
CASE
    WHEN starts_with(current_setting('app.current_user'::text, true), '(space) '::text) THEN NULLIF(current_setting('app.acting_user'::text, true), current_setting('app.current_user'::text, true))
    ELSE NULL::text
END,
    salt bytea,
    contents_hash bytea,
    previous_hash bytea,
    redacted_by bigint,
    CONSTRAINT events_visibility_known CHECK ((visibility = ANY (ARRAY['private'::text, 'tenant'::text])))
);

ALTER TABLE ONLY keeps.events_rest
    ADD CONSTRAINT events_rest_pkey PRIMARY KEY (tenant_id, sequence, recorded_at);

CREATE INDEX events_rest_tenant_id_sequence_idx ON keeps.events_rest USING btree (tenant_id, sequence) WHERE (visibility = 'tenant'::text);

CREATE INDEX events_rest_tenant_id_subject_sequence_idx ON keeps.events_rest USING btree (tenant_id, subject, sequence);

CREATE INDEX events_rest_tenant_id_user_id_sequence_idx ON keeps.events_rest USING btree (tenant_id, user_id, sequence);

CREATE TABLE keeps.idempotency_keys (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    idempotency_key text NOT NULL,
    request_hash bytea NOT NULL,
    answer jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    about text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT idempotency_keys_length CHECK (((char_length(idempotency_key) >= 1) AND (char_length(idempotency_key) <= 255)))
);

COMMENT ON TABLE keeps.idempotency_keys IS 'What a request with an Idempotency-Key did, written with its effect; kept for 24 hours.';

ALTER TABLE ONLY keeps.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant_id, user_id, idempotency_key);

CREATE INDEX idempotency_keys_by_time ON keeps.idempotency_keys USING btree (tenant_id, user_id, created_at);

ALTER TABLE ONLY keeps.idempotency_keys
    ADD CONSTRAINT idempotency_keys_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.item_pending (
    tenant_id text NOT NULL,
    row_id uuid NOT NULL,
    user_id text NOT NULL,
    noticed_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE keeps.item_pending IS 'Derived: items that wait for their vectors.';

ALTER TABLE ONLY keeps.item_pending
    ADD CONSTRAINT item_pending_pkey PRIMARY KEY (tenant_id, row_id);

CREATE INDEX item_pending_by_owner ON keeps.item_pending USING btree (tenant_id, user_id);

CREATE INDEX item_pending_by_time ON keeps.item_pending USING btree (noticed_at);

ALTER TABLE ONLY keeps.item_pending
    ADD CONSTRAINT item_pending_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items(tenant_id, row_id) ON DELETE CASCADE;

CREATE TABLE keeps.item_refreshes (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    row_id uuid NOT NULL,
    ends_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.item_refreshes IS 'When items end whose time to live a reading began anew; apart, so that reading never rewrites an item.';

ALTER TABLE ONLY keeps.item_refreshes
    ADD CONSTRAINT item_refreshes_pkey PRIMARY KEY (tenant_id, row_id);

CREATE INDEX item_refreshes_by_user ON keeps.item_refreshes USING btree (tenant_id, user_id);

ALTER TABLE ONLY keeps.item_refreshes
    ADD CONSTRAINT item_refreshes_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items(tenant_id, row_id) ON DELETE CASCADE;

CREATE TABLE keeps.item_vectors (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    namespace text NOT NULL COLLATE pg_catalog."C",
    row_id uuid NOT NULL,
    field text NOT NULL,
    model text NOT NULL,
    embedding public.halfvec NOT NULL,
    bits bit varying NOT NULL
)
WITH (toast_tuple_target='8160', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_vacuum_insert_threshold='2000');

ALTER TABLE ONLY keeps.item_vectors
    ADD CONSTRAINT item_vectors_pkey PRIMARY KEY (tenant_id, row_id, model, field);

CREATE INDEX item_vectors_by_place ON keeps.item_vectors USING btree (tenant_id, user_id, model, namespace) INCLUDE (row_id, field, bits);

ALTER TABLE ONLY keeps.item_vectors
    ADD CONSTRAINT item_vectors_item_exists FOREIGN KEY (tenant_id, row_id) REFERENCES keeps.items(tenant_id, row_id) ON DELETE CASCADE;

CREATE TABLE keeps.items (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    namespace text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    row_id uuid NOT NULL,
    value jsonb NOT NULL,
    texts jsonb,
    ttl_minutes double precision,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.items IS 'Values of stores. namespace: its labels, a period after each, so that what is below one is a range. texts: by what it is found, name → text, {} for the whole value, NULL for not at all.';

ALTER TABLE ONLY keeps.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (tenant_id, user_id, namespace, key);

ALTER TABLE ONLY keeps.items
    ADD CONSTRAINT items_row_unique UNIQUE (tenant_id, row_id);

CREATE INDEX items_by_time ON keeps.items USING btree (tenant_id, user_id, updated_at DESC);

CREATE INDEX items_ending ON keeps.items USING btree (tenant_id, user_id, updated_at) WHERE (ttl_minutes IS NOT NULL);

ALTER TABLE ONLY keeps.items
    ADD CONSTRAINT items_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.llm_usage (
    tenant_id text NOT NULL,
    day date NOT NULL,
    tokens bigint NOT NULL,
    job text DEFAULT 'sessions'::text NOT NULL
);

COMMENT ON TABLE keeps.llm_usage IS 'Tokens that a tenant spent on an LLM, a row a day and job.';

ALTER TABLE ONLY keeps.llm_usage
    ADD CONSTRAINT llm_usage_pkey PRIMARY KEY (tenant_id, day, job);

ALTER TABLE ONLY keeps.llm_usage
    ADD CONSTRAINT llm_usage_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.memories (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    session_id text,
    kind text NOT NULL,
    layer text NOT NULL,
    namespace text,
    key text,
    content text NOT NULL,
    value jsonb,
    content_type text NOT NULL,
    role text,
    trigger_condition text,
    procedure_type text,
    metadata jsonb NOT NULL,
    tags text[] NOT NULL,
    source text,
    importance double precision NOT NULL,
    visibility text NOT NULL,
    content_hash bytea NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    superseded_by uuid,
    expires_at timestamp with time zone,
    archived_at timestamp with time zone,
    deleted_at timestamp with time zone,
    document_id uuid,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    held_for text,
    CONSTRAINT memories_content_length CHECK (((char_length(content) >= 1) AND (char_length(content) <= 50000))),
    CONSTRAINT memories_importance_range CHECK (((importance >= (0)::double precision) AND (importance <= (1)::double precision))),
    CONSTRAINT memories_key_has_namespace CHECK (((key IS NULL) OR (namespace IS NOT NULL))),
    CONSTRAINT memories_kind_known CHECK ((kind = ANY (ARRAY['semantic'::text, 'episodic'::text, 'procedural'::text]))),
    CONSTRAINT memories_layer_known CHECK ((layer = ANY (ARRAY['short_term'::text, 'long_term'::text, 'knowledge'::text]))),
    CONSTRAINT memories_procedure_type_known CHECK ((procedure_type = ANY (ARRAY['system_prompt'::text, 'few_shot_example'::text]))),
    CONSTRAINT memories_role_known CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'system'::text, 'tool'::text]))),
    CONSTRAINT memories_validity_order CHECK (((valid_to IS NULL) OR (valid_to >= valid_from))),
    CONSTRAINT memories_visibility_known CHECK ((visibility = ANY (ARRAY['private'::text, 'tenant'::text])))
);

COMMENT ON TABLE keeps.memories IS 'Every durable memory of every kind and layer.';

COMMENT ON COLUMN keeps.memories.held_for IS 'Why the memory waits in the inbox, hidden like a forgotten one; trusted_source: a source whose memories do not.';

ALTER TABLE keeps.memories
    ADD CONSTRAINT memories_held_for_known CHECK ((held_for = ANY (ARRAY['instructions'::text, 'hidden_text'::text, 'flood'::text, 'contradiction'::text, 'trusted_source'::text]))) NOT VALID;

ALTER TABLE keeps.memories
    ADD CONSTRAINT memories_held_is_hidden CHECK (((held_for IS NULL) OR (NOT (deleted_at IS NULL)))) NOT VALID;

ALTER TABLE ONLY keeps.memories
    ADD CONSTRAINT memories_owner_unique UNIQUE (tenant_id, memory_id, user_id);

ALTER TABLE ONLY keeps.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (tenant_id, memory_id);

ALTER TABLE keeps.memories
    ADD CONSTRAINT memories_space_private CHECK (((visibility = 'private'::text) OR (NOT starts_with(user_id, '(space) '::text)))) NOT VALID;

CREATE INDEX memories_by_owner ON keeps.memories USING btree (tenant_id, user_id, created_at DESC, memory_id DESC);

CREATE INDEX memories_by_session ON keeps.memories USING btree (tenant_id, session_id, valid_from, memory_id) INCLUDE (user_id, visibility) WHERE (session_id IS NOT NULL);

CREATE INDEX memories_by_successor ON keeps.memories USING btree (tenant_id, superseded_by, user_id) WHERE (superseded_by IS NOT NULL);

CREATE UNIQUE INDEX memories_content_unique ON keeps.memories USING btree (tenant_id, user_id, content_hash) WHERE ((key IS NULL) AND (deleted_at IS NULL) AND (superseded_by IS NULL));

CREATE INDEX memories_expiring ON keeps.memories USING btree (tenant_id, user_id, expires_at) WHERE ((expires_at IS NOT NULL) AND (deleted_at IS NULL));

CREATE INDEX memories_fading ON keeps.memories USING btree (tenant_id, user_id, keeps.fades_at(importance, (0)::bigint, updated_at)) WHERE ((layer = 'short_term'::text) AND (archived_at IS NULL) AND (deleted_at IS NULL) AND (superseded_by IS NULL));

CREATE INDEX memories_forgotten ON keeps.memories USING btree (tenant_id, user_id, deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE UNIQUE INDEX memories_key_unique ON keeps.memories USING btree (tenant_id, user_id, namespace, key) WHERE ((key IS NOT NULL) AND (deleted_at IS NULL) AND (superseded_by IS NULL));

CREATE INDEX memories_promotable ON keeps.memories USING btree (tenant_id, user_id, importance) WHERE ((layer = 'short_term'::text) AND (deleted_at IS NULL) AND (superseded_by IS NULL));

CREATE INDEX memories_shared ON keeps.memories USING btree (tenant_id, created_at DESC, memory_id DESC) WHERE (visibility = 'tenant'::text);

CREATE INDEX memories_standing ON keeps.memories USING btree (tenant_id, user_id, kind, importance DESC, created_at, memory_id) WHERE (((importance >= (0.7)::double precision) OR (kind = 'procedural'::text)) AND (deleted_at IS NULL) AND (superseded_by IS NULL) AND (archived_at IS NULL) AND (expires_at IS NULL) AND (valid_to IS NULL));

ALTER TABLE ONLY keeps.memories
    ADD CONSTRAINT memories_successor_exists FOREIGN KEY (tenant_id, superseded_by, user_id) REFERENCES keeps.memories(tenant_id, memory_id, user_id) ON DELETE CASCADE DEFERRABLE;

ALTER TABLE ONLY keeps.memories
    ADD CONSTRAINT memories_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.memory_access (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    access_count bigint NOT NULL,
    last_accessed_at timestamp with time zone NOT NULL,
    CONSTRAINT memory_access_count_positive CHECK ((access_count > 0))
)
WITH (fillfactor='70');

COMMENT ON TABLE keeps.memory_access IS 'How often and when last a memory was recalled; apart, so that reading never rewrites a memory.';

ALTER TABLE ONLY keeps.memory_access
    ADD CONSTRAINT memory_access_pkey PRIMARY KEY (tenant_id, memory_id);

ALTER TABLE ONLY keeps.memory_access
    ADD CONSTRAINT memory_access_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories(tenant_id, memory_id) ON DELETE CASCADE;

CREATE TABLE keeps.memory_pending (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    noticed_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE keeps.memory_pending IS 'Derived: memories that wait for a vector.';

ALTER TABLE ONLY keeps.memory_pending
    ADD CONSTRAINT memory_pending_pkey PRIMARY KEY (tenant_id, memory_id);

CREATE INDEX memory_pending_by_owner ON keeps.memory_pending USING btree (tenant_id, user_id);

CREATE INDEX memory_pending_by_time ON keeps.memory_pending USING btree (noticed_at);

ALTER TABLE ONLY keeps.memory_pending
    ADD CONSTRAINT memory_pending_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories(tenant_id, memory_id) ON DELETE CASCADE;

CREATE TABLE keeps.memory_readings (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    version integer NOT NULL
);

COMMENT ON TABLE keeps.memory_readings IS 'Derived: which memories the entity finder has read, and in which version.';

ALTER TABLE ONLY keeps.memory_readings
    ADD CONSTRAINT memory_readings_pkey PRIMARY KEY (tenant_id, memory_id);

CREATE INDEX memory_readings_by_owner ON keeps.memory_readings USING btree (tenant_id, user_id);

ALTER TABLE ONLY keeps.memory_readings
    ADD CONSTRAINT memory_readings_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories(tenant_id, memory_id) ON DELETE CASCADE;

CREATE TABLE keeps.memory_vectors (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    model text NOT NULL,
    user_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    embedding public.halfvec NOT NULL,
    tokens bytea
)
WITH (toast_tuple_target='8160', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_vacuum_insert_threshold='2000');

COMMENT ON TABLE keeps.memory_vectors IS 'Vector search: one sentence vector, its sign bits, and the reduced token vectors of the second stage.';

ALTER TABLE ONLY keeps.memory_vectors
    ADD CONSTRAINT memory_vectors_pkey PRIMARY KEY (tenant_id, memory_id, model);

CREATE INDEX memory_vectors_by_audience ON keeps.memory_vectors USING btree (tenant_id, audience, life, model);

ALTER TABLE ONLY keeps.memory_vectors
    ADD CONSTRAINT memory_vectors_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id) REFERENCES keeps.memories(tenant_id, memory_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.memory_words (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    agent text NOT NULL,
    place integer NOT NULL,
    session integer NOT NULL,
    word_count integer NOT NULL,
    words text NOT NULL,
    counts bytea NOT NULL
);

COMMENT ON TABLE keeps.memory_words IS 'Text search: the words of each memory, and its place among those of its audience.';

ALTER TABLE ONLY keeps.memory_words
    ADD CONSTRAINT memory_words_pkey PRIMARY KEY (tenant_id, memory_id);

CREATE INDEX memory_words_by_place ON keeps.memory_words USING btree (tenant_id, audience, life, place);

ALTER TABLE ONLY keeps.memory_words
    ADD CONSTRAINT memory_words_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id) REFERENCES keeps.memories(tenant_id, memory_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.mentions (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    user_id text NOT NULL,
    source text NOT NULL,
    rejected boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT mentions_source_known CHECK ((source = ANY (ARRAY['user'::text, 'text'::text, 'llm'::text])))
);

COMMENT ON TABLE keeps.mentions IS 'Which memory speaks of which entity: found in its text (derived, made again at will), or said by a user (in the log, and stays).';

ALTER TABLE ONLY keeps.mentions
    ADD CONSTRAINT mentions_pkey PRIMARY KEY (tenant_id, memory_id, entity_id);

CREATE INDEX mentions_by_entity ON keeps.mentions USING btree (tenant_id, entity_id);

ALTER TABLE ONLY keeps.mentions
    ADD CONSTRAINT mentions_entity_exists FOREIGN KEY (tenant_id, entity_id) REFERENCES keeps.entities(tenant_id, entity_id) ON DELETE CASCADE;

ALTER TABLE ONLY keeps.mentions
    ADD CONSTRAINT mentions_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories(tenant_id, memory_id) ON DELETE CASCADE;

CREATE TABLE keeps.model_usage (
    tenant_id text NOT NULL,
    day date NOT NULL,
    job text NOT NULL,
    model text NOT NULL,
    kind text NOT NULL,
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    seconds double precision NOT NULL,
    CONSTRAINT model_usage_kind_known CHECK ((kind = ANY (ARRAY['llm'::text, 'embedding'::text])))
);

COMMENT ON TABLE keeps.model_usage IS 'Requests of a tenant to models over the network, a row a day, job and model. llm_usage has the sum of their tokens.';

ALTER TABLE ONLY keeps.model_usage
    ADD CONSTRAINT model_usage_pkey PRIMARY KEY (tenant_id, day, job, model);

CREATE INDEX model_usage_by_day ON keeps.model_usage USING btree (day);

ALTER TABLE ONLY keeps.model_usage
    ADD CONSTRAINT model_usage_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.operation_changes (
    tenant_id text NOT NULL,
    operation_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    before jsonb,
    after jsonb
);

COMMENT ON TABLE keeps.operation_changes IS 'What undoing an operation needs, until its window closes.';

ALTER TABLE ONLY keeps.operation_changes
    ADD CONSTRAINT operation_changes_pkey PRIMARY KEY (tenant_id, operation_id, memory_id);

CREATE INDEX operation_changes_by_memory ON keeps.operation_changes USING btree (tenant_id, memory_id);

ALTER TABLE ONLY keeps.operation_changes
    ADD CONSTRAINT operation_changes_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories(tenant_id, memory_id) ON DELETE CASCADE;

ALTER TABLE ONLY keeps.operation_changes
    ADD CONSTRAINT operation_changes_operation_exists FOREIGN KEY (tenant_id, operation_id) REFERENCES keeps.operations(tenant_id, operation_id) ON DELETE CASCADE;

CREATE TABLE keeps.operations (
    tenant_id text NOT NULL,
    operation_id uuid NOT NULL,
    job text NOT NULL,
    status text NOT NULL,
    counts jsonb NOT NULL,
    error text,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    undone_at timestamp with time zone,
    undone_by text,
    CONSTRAINT operations_status_known CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'undone'::text])))
);

COMMENT ON TABLE keeps.operations IS 'What jobs did to a tenant: how much, when, and whether it was undone. No content.';

ALTER TABLE ONLY keeps.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (tenant_id, operation_id);

CREATE INDEX operations_by_time ON keeps.operations USING btree (tenant_id, started_at DESC, operation_id DESC);

ALTER TABLE ONLY keeps.operations
    ADD CONSTRAINT operations_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.plan_correlations (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    correlation_id text NOT NULL,
    plan_id text NOT NULL
);

COMMENT ON TABLE keeps.plan_correlations IS 'Derived from plans.correlation_ids: which plan waits for an event.';

ALTER TABLE ONLY keeps.plan_correlations
    ADD CONSTRAINT plan_correlations_pkey PRIMARY KEY (tenant_id, user_id, correlation_id, plan_id);

CREATE INDEX plan_correlations_by_plan ON keeps.plan_correlations USING btree (tenant_id, user_id, plan_id);

ALTER TABLE ONLY keeps.plan_correlations
    ADD CONSTRAINT plan_correlations_plan_exists FOREIGN KEY (tenant_id, user_id, plan_id) REFERENCES keeps.plans(tenant_id, user_id, plan_id) ON DELETE CASCADE;

CREATE TABLE keeps.plans (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    plan_id text NOT NULL,
    session_id text,
    parent_plan_id text,
    agent_id text,
    goal_event text NOT NULL,
    goal_data jsonb NOT NULL,
    response_event text,
    status text NOT NULL,
    state jsonb NOT NULL,
    current_state text,
    correlation_ids text[] NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT plans_id_length CHECK (((char_length(plan_id) >= 1) AND (char_length(plan_id) <= 255))),
    CONSTRAINT plans_parent_is_another CHECK ((parent_plan_id <> plan_id)),
    CONSTRAINT plans_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'paused'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (fillfactor='70');

COMMENT ON TABLE keeps.plans IS 'One goal''s execution, with its plan context: the state machine and what it waits for.';

ALTER TABLE ONLY keeps.plans
    ADD CONSTRAINT plans_pkey PRIMARY KEY (tenant_id, user_id, plan_id);

CREATE INDEX plans_by_parent ON keeps.plans USING btree (tenant_id, user_id, parent_plan_id) WHERE (parent_plan_id IS NOT NULL);

CREATE INDEX plans_by_session ON keeps.plans USING btree (tenant_id, user_id, session_id) WHERE (session_id IS NOT NULL);

CREATE INDEX plans_by_time ON keeps.plans USING btree (tenant_id, user_id, created_at DESC, plan_id DESC);

ALTER TABLE ONLY keeps.plans
    ADD CONSTRAINT plans_parent_exists FOREIGN KEY (tenant_id, user_id, parent_plan_id) REFERENCES keeps.plans(tenant_id, user_id, plan_id) ON DELETE CASCADE DEFERRABLE;

ALTER TABLE ONLY keeps.plans
    ADD CONSTRAINT plans_session_exists FOREIGN KEY (tenant_id, user_id, session_id) REFERENCES keeps.sessions(tenant_id, user_id, session_id) ON DELETE SET NULL (session_id);

ALTER TABLE ONLY keeps.plans
    ADD CONSTRAINT plans_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.postings (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    word text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL,
    first integer NOT NULL,
    packed bytea NOT NULL
)
WITH (toast_tuple_target='8160');

COMMENT ON TABLE keeps.postings IS 'Text search: for each word of an audience the memories that hold it.';

ALTER TABLE ONLY keeps.postings
    ADD CONSTRAINT postings_pkey PRIMARY KEY (tenant_id, audience, life, word, agent, first);

CREATE TABLE keeps.providers (
    tenant_id text NOT NULL,
    provider_id text NOT NULL,
    tier text NOT NULL,
    capabilities jsonb NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    CONSTRAINT providers_id_length CHECK (((char_length(provider_id) >= 1) AND (char_length(provider_id) <= 100))),
    CONSTRAINT providers_tier_known CHECK ((tier = ANY (ARRAY['working'::text, 'persistent'::text, 'indexed'::text])))
);

COMMENT ON TABLE keeps.providers IS 'What each memory provider said it can do when this tenant last met it.';

ALTER TABLE ONLY keeps.providers
    ADD CONSTRAINT providers_pkey PRIMARY KEY (tenant_id, provider_id);

ALTER TABLE ONLY keeps.providers
    ADD CONSTRAINT providers_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.query_audit (
    tenant_id text NOT NULL,
    audit_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    database_name text NOT NULL,
    question text,
    sql text,
    outcome text NOT NULL,
    rule text,
    tables text[] NOT NULL,
    row_count integer NOT NULL,
    took_ms integer NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    CONSTRAINT query_audit_outcome_known CHECK ((outcome = ANY (ARRAY['allowed'::text, 'refused'::text, 'failed'::text])))
);

COMMENT ON TABLE keeps.query_audit IS 'What was asked of databases, allowed or not; kept for 90 days.';

ALTER TABLE ONLY keeps.query_audit
    ADD CONSTRAINT query_audit_pkey PRIMARY KEY (tenant_id, audit_id);

CREATE INDEX query_audit_by_user ON keeps.query_audit USING btree (tenant_id, user_id, asked_at DESC, audit_id DESC);

ALTER TABLE ONLY keeps.query_audit
    ADD CONSTRAINT query_audit_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.relations (
    tenant_id text NOT NULL,
    relation_id uuid NOT NULL,
    user_id text NOT NULL,
    source_id uuid NOT NULL,
    target_id uuid NOT NULL,
    relation_type text NOT NULL,
    properties jsonb NOT NULL,
    weight double precision NOT NULL,
    visibility text NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    memory_id uuid,
    event_id uuid NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT relations_validity_order CHECK (((valid_to IS NULL) OR (valid_to >= valid_from))),
    CONSTRAINT relations_visibility_known CHECK ((visibility = ANY (ARRAY['private'::text, 'tenant'::text])))
);

COMMENT ON TABLE keeps.relations IS 'Edges of the graph: typed, directed, true for a time. memory_id and event_id say where one comes from.';

ALTER TABLE ONLY keeps.relations
    ADD CONSTRAINT relations_pkey PRIMARY KEY (tenant_id, relation_id);

ALTER TABLE keeps.relations
    ADD CONSTRAINT relations_space_private CHECK (((visibility = 'private'::text) OR (NOT starts_with(user_id, '(space) '::text)))) NOT VALID;

CREATE INDEX relations_by_owner ON keeps.relations USING btree (tenant_id, user_id);

CREATE INDEX relations_by_source ON keeps.relations USING btree (tenant_id, source_id, relation_type);

CREATE INDEX relations_by_target ON keeps.relations USING btree (tenant_id, target_id, relation_type);

ALTER TABLE ONLY keeps.relations
    ADD CONSTRAINT relations_source_exists FOREIGN KEY (tenant_id, source_id) REFERENCES keeps.entities(tenant_id, entity_id) ON DELETE CASCADE;

ALTER TABLE ONLY keeps.relations
    ADD CONSTRAINT relations_target_exists FOREIGN KEY (tenant_id, target_id) REFERENCES keeps.entities(tenant_id, entity_id) ON DELETE CASCADE;

ALTER TABLE ONLY keeps.relations
    ADD CONSTRAINT relations_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.requests (
    tenant_id text NOT NULL,
    request_id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    session_id text,
    kind text NOT NULL,
    door text NOT NULL,
    query text NOT NULL,
    arguments jsonb NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    took_ms real NOT NULL,
    hits integer NOT NULL,
    left_out integer NOT NULL,
    found_nothing boolean NOT NULL,
    answer jsonb NOT NULL,
    omitted jsonb NOT NULL,
    CONSTRAINT requests_door_known CHECK ((door = ANY (ARRAY['library'::text, 'http'::text, 'mcp'::text, 'cli'::text]))),
    CONSTRAINT requests_kind_known CHECK ((kind = ANY (ARRAY['recall'::text, 'context'::text])))
);

COMMENT ON TABLE keeps.requests IS 'Recalls and contexts for KEEPS_REQUEST_LOG_DAYS. answer, omitted: ids of memories, never their text. request_id: UUIDv7, so it orders by time.';

ALTER TABLE ONLY keeps.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (tenant_id, request_id);

CREATE INDEX requests_by_user ON keeps.requests USING btree (tenant_id, user_id, request_id);

CREATE INDEX requests_found_nothing ON keeps.requests USING btree (tenant_id, request_id) WHERE found_nothing;

ALTER TABLE ONLY keeps.requests
    ADD CONSTRAINT requests_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.session_notes (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    agent_id text NOT NULL,
    notes jsonb NOT NULL,
    consolidate_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.session_notes IS 'Layer 1: summary, decisions and action items of a conversation, for as long as it is fresh.';

ALTER TABLE ONLY keeps.session_notes
    ADD CONSTRAINT session_notes_pkey PRIMARY KEY (tenant_id, user_id, session_id, agent_id);

CREATE INDEX session_notes_expiring ON keeps.session_notes USING btree (tenant_id, user_id, expires_at);

CREATE INDEX session_notes_to_consolidate ON keeps.session_notes USING btree (tenant_id, user_id, consolidate_at) WHERE (consolidate_at IS NOT NULL);

ALTER TABLE ONLY keeps.session_notes
    ADD CONSTRAINT session_notes_session_exists FOREIGN KEY (tenant_id, user_id, session_id) REFERENCES keeps.sessions(tenant_id, user_id, session_id) ON DELETE CASCADE;

CREATE TABLE keeps.sessions (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    name text,
    agent_id text,
    metadata jsonb NOT NULL,
    version integer NOT NULL,
    last_interaction timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT sessions_id_length CHECK (((char_length(session_id) >= 1) AND (char_length(session_id) <= 255)))
);

COMMENT ON TABLE keeps.sessions IS 'Conversations of a user; each groups plans.';

ALTER TABLE ONLY keeps.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, user_id, session_id);

CREATE INDEX sessions_by_time ON keeps.sessions USING btree (tenant_id, user_id, created_at DESC, session_id DESC);

ALTER TABLE ONLY keeps.sessions
    ADD CONSTRAINT sessions_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.space_members (
    tenant_id text NOT NULL,
    space_id text NOT NULL,
    member_type text NOT NULL,
    member_id text NOT NULL,
    role text NOT NULL,
    added_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT space_members_role_known CHECK ((role = ANY (ARRAY['reader'::text, 'writer'::text, 'curator'::text]))),
    CONSTRAINT space_members_type_known CHECK ((member_type = ANY (ARRAY['user'::text, 'agent'::text])))
);

COMMENT ON TABLE keeps.space_members IS 'Who may use a space. An agent is a member by a key or token that is bound to it. expires_at: the membership ends.';

ALTER TABLE ONLY keeps.space_members
    ADD CONSTRAINT space_members_pkey PRIMARY KEY (tenant_id, space_id, member_type, member_id);

CREATE INDEX space_members_by_member ON keeps.space_members USING btree (tenant_id, member_type, member_id);

ALTER TABLE ONLY keeps.space_members
    ADD CONSTRAINT space_members_space_exists FOREIGN KEY (tenant_id, space_id) REFERENCES keeps.spaces(tenant_id, space_id) ON DELETE CASCADE;

CREATE TABLE keeps.spaces (
    tenant_id text NOT NULL,
    space_id text NOT NULL,
    user_id text NOT NULL,
    title text,
    created_at timestamp with time zone NOT NULL,
    archived_at timestamp with time zone,
    CONSTRAINT spaces_id_length CHECK (((char_length(space_id) >= 1) AND (char_length(space_id) <= 64))),
    CONSTRAINT spaces_owner_named CHECK ((user_id = ('(space) '::text || space_id)))
);

COMMENT ON TABLE keeps.spaces IS 'Shared memory with members. user_id: the owner of all rows of the space; nobody can authenticate as it.';

ALTER TABLE ONLY keeps.spaces
    ADD CONSTRAINT spaces_pkey PRIMARY KEY (tenant_id, space_id);

CREATE INDEX spaces_by_owner ON keeps.spaces USING btree (tenant_id, user_id);

ALTER TABLE ONLY keeps.spaces
    ADD CONSTRAINT spaces_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.storage_samples (
    tenant_id text NOT NULL,
    day date NOT NULL,
    memories bigint NOT NULL,
    bytes bigint NOT NULL,
    events bigint NOT NULL
);

COMMENT ON TABLE keeps.storage_samples IS 'Memories, bytes and events of a tenant at the end of each day.';

ALTER TABLE ONLY keeps.storage_samples
    ADD CONSTRAINT storage_samples_pkey PRIMARY KEY (tenant_id, day);

ALTER TABLE ONLY keeps.storage_samples
    ADD CONSTRAINT storage_samples_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.task_contexts (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    task_id text NOT NULL,
    plan_id text,
    agent_id text,
    event_type text NOT NULL,
    response_event text,
    response_topic text NOT NULL,
    data jsonb NOT NULL,
    sub_tasks jsonb NOT NULL,
    state jsonb NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT task_contexts_id_length CHECK (((char_length(task_id) >= 1) AND (char_length(task_id) <= 255)))
)
WITH (fillfactor='70');

COMMENT ON TABLE keeps.task_contexts IS 'One delegated piece of work, to be resumed when its results arrive.';

ALTER TABLE ONLY keeps.task_contexts
    ADD CONSTRAINT task_contexts_pkey PRIMARY KEY (tenant_id, user_id, task_id);

CREATE INDEX task_contexts_by_plan ON keeps.task_contexts USING btree (tenant_id, user_id, plan_id) WHERE (plan_id IS NOT NULL);

ALTER TABLE ONLY keeps.task_contexts
    ADD CONSTRAINT task_contexts_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.task_subtasks (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    sub_task_id text NOT NULL,
    task_id text NOT NULL
);

COMMENT ON TABLE keeps.task_subtasks IS 'Derived from task_contexts.sub_tasks: which task waits for a sub-task.';

ALTER TABLE ONLY keeps.task_subtasks
    ADD CONSTRAINT task_subtasks_pkey PRIMARY KEY (tenant_id, user_id, sub_task_id, task_id);

CREATE INDEX task_subtasks_by_task ON keeps.task_subtasks USING btree (tenant_id, user_id, task_id);

ALTER TABLE ONLY keeps.task_subtasks
    ADD CONSTRAINT task_subtasks_task_exists FOREIGN KEY (tenant_id, user_id, task_id) REFERENCES keeps.task_contexts(tenant_id, user_id, task_id) ON DELETE CASCADE;

CREATE TABLE keeps.tenant_jobs (
    tenant_id text NOT NULL,
    job text NOT NULL,
    due_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.tenant_jobs IS 'The schedule: which job of a tenant is due when.';

ALTER TABLE ONLY keeps.tenant_jobs
    ADD CONSTRAINT tenant_jobs_pkey PRIMARY KEY (tenant_id, job);

CREATE INDEX tenant_jobs_due ON keeps.tenant_jobs USING btree (due_at, tenant_id, job);

ALTER TABLE ONLY keeps.tenant_jobs
    ADD CONSTRAINT tenant_jobs_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.tenants (
    tenant_id text NOT NULL,
    name text,
    last_sequence bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    memory_count bigint DEFAULT 0 NOT NULL,
    memory_bytes bigint DEFAULT 0 NOT NULL,
    max_memories bigint,
    max_bytes bigint,
    retired_sequence bigint DEFAULT 0 NOT NULL,
    retired_until timestamp with time zone,
    state_bytes bigint DEFAULT 0 NOT NULL,
    chain_hash bytea,
    user_count bigint DEFAULT 0 NOT NULL,
    live_count bigint DEFAULT 0 NOT NULL,
    retired_count bigint DEFAULT 0 NOT NULL,
    text_count bigint DEFAULT 0 NOT NULL,
    counted_at timestamp with time zone DEFAULT now(),
    used_on date,
    jobs_rest boolean DEFAULT false NOT NULL,
    CONSTRAINT tenants_id_length CHECK (((char_length(tenant_id) >= 1) AND (char_length(tenant_id) <= 64))),
    CONSTRAINT tenants_max_bytes_positive CHECK ((max_bytes >= 0)),
    CONSTRAINT tenants_max_memories_positive CHECK ((max_memories >= 0))
)
WITH (fillfactor='50');

COMMENT ON TABLE keeps.tenants IS 'Local replica of the identity service. last_sequence numbers the events of the tenant.';

COMMENT ON COLUMN keeps.tenants.chain_hash IS 'SHA-256 of the newest event, which is the head of the chain. NULL: no event since the chain exists.';

COMMENT ON COLUMN keeps.tenants.user_count IS 'Number of users, with the owners of spaces.';

COMMENT ON COLUMN keeps.tenants.live_count IS 'Number of memories that are not deleted; memory_count has all of them.';

COMMENT ON COLUMN keeps.tenants.retired_count IS 'Number of events that retention removed: last_sequence minus this is the number of events.';

COMMENT ON COLUMN keeps.tenants.text_count IS 'Number of items that are found by meaning, so that they need vectors.';

COMMENT ON COLUMN keeps.tenants.counted_at IS 'When a check last corrected the counters, or the tenant was made. NULL: not counted since revision 28.';

COMMENT ON COLUMN keeps.tenants.used_on IS 'Day of the last call of the tenant, noted where tenants can be frozen. NULL: not noted yet.';

COMMENT ON COLUMN keeps.tenants.jobs_rest IS 'Jobs of the tenant are due later than their period says, since it has no work for them. Its next write wakes them.';

ALTER TABLE ONLY keeps.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id);

CREATE TABLE keeps.transcript_entries (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    "position" integer NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    entry_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    entry jsonb,
    bytes integer NOT NULL
);

COMMENT ON TABLE keeps.transcript_entries IS 'What was said and done, in order. bytes: of the entry as JSON. JSON''s null is NULL.';

ALTER TABLE ONLY keeps.transcript_entries
    ADD CONSTRAINT transcript_entries_pkey PRIMARY KEY (tenant_id, user_id, app, transcript_id, "position");

CREATE INDEX transcript_entries_by_id ON keeps.transcript_entries USING btree (tenant_id, user_id, app, transcript_id, entry_id);

ALTER TABLE ONLY keeps.transcript_entries
    ADD CONSTRAINT transcript_entries_transcript_exists FOREIGN KEY (tenant_id, user_id, app, transcript_id) REFERENCES keeps.transcripts(tenant_id, user_id, app, transcript_id) ON DELETE CASCADE;

CREATE TABLE keeps.transcript_values (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    key text NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    value jsonb,
    updated_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.transcript_values IS 'State of a transcript, key by key; where transcript_id is empty, of the user in all transcripts of the app. JSON''s null is NULL.';

ALTER TABLE ONLY keeps.transcript_values
    ADD CONSTRAINT transcript_values_pkey PRIMARY KEY (tenant_id, user_id, app, transcript_id, key);

ALTER TABLE ONLY keeps.transcript_values
    ADD CONSTRAINT transcript_values_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.transcripts (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    app text NOT NULL,
    transcript_id text NOT NULL,
    row_id uuid NOT NULL,
    agent_id text,
    entry_count integer NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.transcripts IS 'Conversations word for word. updated_at: the time of the last entry.';

ALTER TABLE ONLY keeps.transcripts
    ADD CONSTRAINT transcripts_pkey PRIMARY KEY (tenant_id, user_id, app, transcript_id);

CREATE INDEX transcripts_by_app ON keeps.transcripts USING btree (tenant_id, app, user_id);

CREATE INDEX transcripts_by_time ON keeps.transcripts USING btree (tenant_id, user_id, app, updated_at, transcript_id);

ALTER TABLE ONLY keeps.transcripts
    ADD CONSTRAINT transcripts_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps.users (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT users_id_length CHECK (((char_length(user_id) >= 1) AND (char_length(user_id) <= 255)))
);

COMMENT ON TABLE keeps.users IS 'Local replica: humans and autonomous agents that own memories.';

ALTER TABLE ONLY keeps.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (tenant_id, user_id);

ALTER TABLE ONLY keeps.users
    ADD CONSTRAINT users_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.vector_bits (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    folded boolean NOT NULL,
    first integer NOT NULL,
    model text NOT NULL,
    size smallint NOT NULL,
    packed bytea NOT NULL
)
WITH (toast_tuple_target='8160');

COMMENT ON TABLE keeps.vector_bits IS 'Vector search, first pass: the signs of all vectors of an audience, by place.';

ALTER TABLE ONLY keeps.vector_bits
    ADD CONSTRAINT vector_bits_pkey PRIMARY KEY (tenant_id, audience, life, folded, first, model);

CREATE TABLE keeps.vector_counts (
    tenant_id text NOT NULL,
    model text NOT NULL,
    vectors bigint DEFAULT 0 NOT NULL,
    deleted bigint DEFAULT 0 NOT NULL,
    items bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE keeps.vector_counts IS 'Number of vectors by model: of memories, of those of them that are deleted, and of items that have any.';

ALTER TABLE ONLY keeps.vector_counts
    ADD CONSTRAINT vector_counts_pkey PRIMARY KEY (tenant_id, model);

ALTER TABLE ONLY keeps.vector_counts
    ADD CONSTRAINT vector_counts_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.webhook_failures (
    tenant_id text NOT NULL,
    webhook_id uuid NOT NULL,
    sequence bigint NOT NULL,
    attempts integer NOT NULL,
    error text NOT NULL,
    failed_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.webhook_failures IS 'Dead letters: events that a webhook was not given after all attempts. The event itself stays in the log.';

ALTER TABLE ONLY keeps.webhook_failures
    ADD CONSTRAINT webhook_failures_pkey PRIMARY KEY (tenant_id, webhook_id, sequence);

ALTER TABLE ONLY keeps.webhook_failures
    ADD CONSTRAINT webhook_failures_webhook_exists FOREIGN KEY (tenant_id, webhook_id) REFERENCES keeps.webhooks(tenant_id, webhook_id) ON DELETE CASCADE;

CREATE TABLE keeps.webhooks (
    tenant_id text NOT NULL,
    webhook_id uuid NOT NULL,
    url text NOT NULL,
    types text[] NOT NULL,
    secret text NOT NULL,
    active boolean NOT NULL,
    "position" bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone,
    last_error text,
    last_delivered_at timestamp with time zone,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE keeps.webhooks IS 'Where events of a tenant are sent, how far, and when to try again.';

ALTER TABLE ONLY keeps.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (tenant_id, webhook_id);

CREATE INDEX webhooks_due ON keeps.webhooks USING btree (next_attempt_at) WHERE active;

ALTER TABLE ONLY keeps.webhooks
    ADD CONSTRAINT webhooks_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants(tenant_id) ON DELETE CASCADE;

CREATE TABLE keeps.working_memory (
    tenant_id text NOT NULL,
    plan_id text NOT NULL,
    key text NOT NULL,
    user_id text NOT NULL,
    value jsonb NOT NULL,
    version integer NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    workflow boolean DEFAULT false NOT NULL,
    CONSTRAINT working_memory_key_length CHECK (((char_length(key) >= 1) AND (char_length(key) <= 255))),
    CONSTRAINT working_memory_value_at_most_4_mib CHECK ((pg_column_size(value) <= 4194304))
)
WITH (fillfactor='70');

COMMENT ON TABLE keeps.working_memory IS 'Key-value state of a plan, shared by the agents of the tenant; user_id wrote it last.';

COMMENT ON COLUMN keeps.working_memory.plan_id IS 'In a space: the owner of the space, chr(31) and the id of the plan, so that keys are unique by space.';

COMMENT ON COLUMN keeps.working_memory.workflow IS 'Whether a workflow made the key, so that clearing the workflow removes it.';

ALTER TABLE ONLY keeps.working_memory
    ADD CONSTRAINT working_memory_pkey PRIMARY KEY (tenant_id, plan_id, key);

ALTER TABLE keeps.working_memory
    ADD CONSTRAINT working_memory_plan_length CHECK (((char_length(plan_id) >= 1) AND (char_length(plan_id) <= (255 +
CASE
    WHEN starts_with(user_id, '(space) '::text) THEN (char_length(user_id) + 1)
    ELSE 0
END)))) NOT VALID;

ALTER TABLE keeps.working_memory
    ADD CONSTRAINT working_memory_plan_of_owner CHECK ((starts_with(plan_id, '(space) '::text) = starts_with(user_id, '(space) '::text))) NOT VALID;

CREATE INDEX working_memory_by_end ON keeps.working_memory USING btree (tenant_id, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX working_memory_by_user ON keeps.working_memory USING btree (tenant_id, user_id);

ALTER TABLE ONLY keeps.working_memory
    ADD CONSTRAINT working_memory_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users(tenant_id, user_id) ON DELETE CASCADE;

CREATE TABLE keeps_cells.cells (
    name text NOT NULL,
    address bytea,
    key_id text,
    weight integer DEFAULT 1 NOT NULL,
    added_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT cells_name_shape CHECK ((name ~ '^[a-z][a-z0-9_-]{0,39}$'::text)),
    CONSTRAINT cells_weight_range CHECK (((weight >= 0) AND (weight <= 1000)))
);

COMMENT ON TABLE keeps_cells.cells IS 'The PostgreSQLs of this Keeps, where there are several.';

ALTER TABLE ONLY keeps_cells.cells
    ADD CONSTRAINT cells_pkey PRIMARY KEY (name);

CREATE TABLE keeps_cells.frozen (
    tenant_hash bytea NOT NULL,
    state text NOT NULL,
    bundle text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    frozen_at timestamp with time zone,
    revision text,
    held bigint,
    bytes bigint,
    digest bytea,
    loaded_digest bytea,
    retire_before timestamp with time zone,
    key_hashes bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    sealed bytea NOT NULL,
    sealed_keys bytea,
    key_id text NOT NULL,
    CONSTRAINT frozen_hash_length CHECK ((octet_length(tenant_hash) = 32)),
    CONSTRAINT frozen_state_known CHECK ((state = ANY (ARRAY['freezing'::text, 'frozen'::text, 'loaded'::text, 'thawed'::text])))
);

COMMENT ON TABLE keeps_cells.frozen IS 'Tenants whose rows are in a bundle outside the database; by the hash of their ids.';

COMMENT ON COLUMN keeps_cells.frozen.state IS 'freezing: the rows are here, and a bundle may exist. frozen: they are in the bundle. loaded: they are here again, and nobody reads them yet. thawed: the bundle has yet to be removed.';

COMMENT ON COLUMN keeps_cells.frozen.digest IS 'SHA-256 over the batches of rows, in their order.';

COMMENT ON COLUMN keeps_cells.frozen.retire_before IS 'Events recorded before were removed of the other tenants meanwhile, and are removed of this one at its thaw.';

COMMENT ON COLUMN keeps_cells.frozen.sealed IS 'The id of the tenant, the key of the bundle and counts, sealed under KEEPS_SECRET_KEYS.';

COMMENT ON COLUMN keeps_cells.frozen.sealed_keys IS 'The API keys of the tenant without their secrets, sealed.';

ALTER TABLE ONLY keeps_cells.frozen
    ADD CONSTRAINT frozen_pkey PRIMARY KEY (tenant_hash);

CREATE INDEX frozen_by_key ON keeps_cells.frozen USING gin (key_hashes);

CREATE TABLE keeps_cells.placements (
    tenant_hash bytea NOT NULL,
    cell text NOT NULL,
    arriving boolean DEFAULT false NOT NULL,
    CONSTRAINT placements_hash_length CHECK ((octet_length(tenant_hash) = 32))
);

COMMENT ON TABLE keeps_cells.placements IS 'Which tenants are elsewhere, and where; by the hash of their ids.';

ALTER TABLE ONLY keeps_cells.placements
    ADD CONSTRAINT placements_pkey PRIMARY KEY (tenant_hash);

CREATE TABLE keeps_jobs.periods (
    job text NOT NULL,
    period interval NOT NULL,
    CONSTRAINT periods_bounded CHECK (((period >= '00:01:00'::interval) AND (period <= '1 year'::interval))),
    CONSTRAINT periods_job_is_a_name CHECK ((job ~ '^[a-z][a-z_]{0,39}$'::text))
);

COMMENT ON TABLE keeps_jobs.periods IS 'The jobs that the engine declares when it opens, and how often each is due.';

ALTER TABLE ONLY keeps_jobs.periods
    ADD CONSTRAINT periods_pkey PRIMARY KEY (job);
