-- Spaces: memory that several users or agents share. Runs as keeps_owner.
CREATE TABLE keeps.spaces (
    tenant_id text NOT NULL,
    space_id text NOT NULL CONSTRAINT spaces_id_length CHECK (char_length(space_id) BETWEEN 1 AND 64),
    user_id text NOT NULL,
    title text,
    created_at timestamptz NOT NULL,
    archived_at timestamptz,
    PRIMARY KEY (tenant_id, space_id),
    CONSTRAINT spaces_owner_named CHECK (user_id = '(space) ' || space_id),
    CONSTRAINT spaces_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES keeps.users ON DELETE CASCADE
);
CREATE INDEX spaces_by_owner ON keeps.spaces (tenant_id, user_id);
COMMENT ON TABLE keeps.spaces IS
    'Shared memory with members. user_id: the owner of all rows of the space; nobody can authenticate as it.';

CREATE TABLE keeps.space_members (
    tenant_id text NOT NULL,
    space_id text NOT NULL,
    member_type text NOT NULL CONSTRAINT space_members_type_known CHECK (member_type IN ('user', 'agent')),
    member_id text NOT NULL,
    role text NOT NULL CONSTRAINT space_members_role_known CHECK (role IN ('reader', 'writer', 'curator')),
    added_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, space_id, member_type, member_id),
    CONSTRAINT space_members_space_exists FOREIGN KEY (tenant_id, space_id) REFERENCES keeps.spaces ON DELETE CASCADE
);
CREATE INDEX space_members_by_member ON keeps.space_members (tenant_id, member_type, member_id);
COMMENT ON TABLE keeps.space_members IS
    'Who may use a space. An agent is a member by a key or token that is bound to it. expires_at: the membership ends.';

ALTER TABLE keeps.memories ADD CONSTRAINT memories_space_private
    CHECK (visibility = 'private' OR NOT starts_with(user_id, '(space) ')) NOT VALID;
ALTER TABLE keeps.documents ADD CONSTRAINT documents_space_private
    CHECK (visibility = 'private' OR NOT starts_with(user_id, '(space) ')) NOT VALID;
ALTER TABLE keeps.entities ADD CONSTRAINT entities_space_private
    CHECK (visibility = 'private' OR NOT starts_with(user_id, '(space) ')) NOT VALID;
ALTER TABLE keeps.relations ADD CONSTRAINT relations_space_private
    CHECK (visibility = 'private' OR NOT starts_with(user_id, '(space) ')) NOT VALID;

ALTER TABLE keeps.api_keys ADD COLUMN limits jsonb;
COMMENT ON COLUMN keeps.api_keys.limits IS
    'What the key is limited to: access (read or append), spaces, namespaces, kinds. NULL: by its roles alone.';

ALTER TABLE keeps.events ADD COLUMN actor_id text DEFAULT
    CASE WHEN starts_with(current_setting('app.current_user', true), '(space) ')
         THEN NULLIF(current_setting('app.acting_user', true), current_setting('app.current_user', true)) END;
COMMENT ON COLUMN keeps.events.actor_id IS 'In a space: the user who acted; NULL for jobs.';
