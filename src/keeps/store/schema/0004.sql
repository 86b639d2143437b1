-- The fourth revision: the graph. Entities, typed and time-bounded edges between them, and which memory speaks of which
-- entity. Runs as keeps_owner.

-- What makes two names the same: case, width of characters and runs of white space do not tell them apart.
CREATE FUNCTION keeps.name_key(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(btrim(regexp_replace(normalize(name, NFKC), '\s+', ' ', 'g')));

CREATE TABLE keeps.entities (
    tenant_id text NOT NULL,
    entity_id uuid NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL CONSTRAINT entities_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
    entity_type text NOT NULL,
    aliases text[] NOT NULL,
    properties jsonb NOT NULL,
    visibility text NOT NULL CONSTRAINT entities_visibility_known CHECK (visibility IN ('private', 'tenant')),
    source text NOT NULL CONSTRAINT entities_source_known CHECK (source IN ('user', 'text', 'llm')),
    merged_into uuid,
    moved jsonb,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, entity_id),
    CONSTRAINT entities_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE,
    CONSTRAINT entities_survivor_exists FOREIGN KEY (tenant_id, merged_into) REFERENCES keeps.entities ON DELETE
        SET NULL (merged_into)
        DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX entities_by_owner ON keeps.entities (tenant_id, user_id, created_at DESC, entity_id DESC);
CREATE INDEX entities_shared ON keeps.entities (tenant_id, created_at DESC, entity_id DESC) WHERE visibility = 'tenant';
CREATE INDEX entities_by_survivor ON keeps.entities (tenant_id, merged_into) WHERE merged_into IS NOT NULL;

-- One entity of a type and name for each owner; a deleted or merged one does not count.
CREATE UNIQUE INDEX entities_name_unique ON keeps.entities (tenant_id, user_id, entity_type, keeps.name_key(name))
    WHERE deleted_at IS NULL AND merged_into IS NULL;
COMMENT ON TABLE keeps.entities IS 'Nodes of the graph. merged_into names the entity that took this one in; moved holds what undoing needs.';

CREATE TABLE keeps.entity_names (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    name_key text NOT NULL,
    entity_id uuid NOT NULL,
    visibility text NOT NULL,
    PRIMARY KEY (tenant_id, name_key, entity_id),
    CONSTRAINT entity_names_entity_exists FOREIGN KEY (tenant_id, entity_id) REFERENCES keeps.entities ON DELETE CASCADE
);
CREATE INDEX entity_names_by_entity ON keeps.entity_names (tenant_id, entity_id);
COMMENT ON TABLE keeps.entity_names IS
    'Derived from entities: names and aliases of those that are there, to find them by.';

CREATE TABLE keeps.relations (
    tenant_id text NOT NULL,
    relation_id uuid NOT NULL,
    user_id text NOT NULL,
    source_id uuid NOT NULL,
    target_id uuid NOT NULL,
    relation_type text NOT NULL,
    properties jsonb NOT NULL,
    weight double precision NOT NULL,
    visibility text NOT NULL CONSTRAINT relations_visibility_known CHECK (visibility IN ('private', 'tenant')),
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    memory_id uuid,
    event_id uuid NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, relation_id),
    CONSTRAINT relations_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE,
    CONSTRAINT relations_source_exists FOREIGN KEY (tenant_id, source_id) REFERENCES keeps.entities ON DELETE CASCADE,
    CONSTRAINT relations_target_exists FOREIGN KEY (tenant_id, target_id) REFERENCES keeps.entities ON DELETE CASCADE,
    CONSTRAINT relations_validity_order CHECK (valid_to IS NULL OR valid_to >= valid_from)
);
CREATE INDEX relations_by_source ON keeps.relations (tenant_id, source_id, relation_type);
CREATE INDEX relations_by_target ON keeps.relations (tenant_id, target_id, relation_type);
CREATE INDEX relations_by_owner ON keeps.relations (tenant_id, user_id);
COMMENT ON TABLE keeps.relations IS
    'Edges of the graph: typed, directed, true for a time. memory_id and event_id say where one comes from.';

CREATE TABLE keeps.mentions (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    user_id text NOT NULL,
    source text NOT NULL CONSTRAINT mentions_source_known CHECK (source IN ('user', 'text', 'llm')),
    rejected boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, entity_id),
    CONSTRAINT mentions_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories ON DELETE CASCADE,
    CONSTRAINT mentions_entity_exists FOREIGN KEY (tenant_id, entity_id) REFERENCES keeps.entities ON DELETE CASCADE
);
CREATE INDEX mentions_by_entity ON keeps.mentions (tenant_id, entity_id);
COMMENT ON TABLE keeps.mentions IS 'Which memory speaks of which entity: found in its text (derived, made again at will), or said by a user (in the log, and stays).';

-- Which version of a memory's text was searched for entities.
CREATE TABLE keeps.memory_readings (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    user_id text NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_readings_memory_exists FOREIGN KEY (tenant_id, memory_id) REFERENCES keeps.memories
        ON DELETE CASCADE
);
CREATE INDEX memory_readings_by_owner ON keeps.memory_readings (tenant_id, user_id);
COMMENT ON TABLE keeps.memory_readings IS 'Derived: which memories the entity finder has read, and in which version.';

-- Which memory providers a tenant has met: a projection of memory.provider.registered, by the last event of each.
CREATE TABLE keeps.providers (
    tenant_id text NOT NULL,
    provider_id text NOT NULL CONSTRAINT providers_id_length CHECK (char_length(provider_id) BETWEEN 1 AND 100),
    tier text NOT NULL CONSTRAINT providers_tier_known CHECK (tier IN ('working', 'persistent', 'indexed')),
    capabilities jsonb NOT NULL,
    registered_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider_id),
    CONSTRAINT providers_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
);
COMMENT ON TABLE keeps.providers IS 'What each memory provider said it can do when this tenant last met it.';
