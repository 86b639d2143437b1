-- Spaces and their members, in a transaction of the user or of the space.

-- name: space_make
-- Make a space with its owner and the current user as its first curator. $1: id · $2: title · $3: now
SELECT keeps.make_space($1, $2, $3) AS made

-- name: space_access
-- Whether the acting user may read, write and manage the space of this transaction.
SELECT keeps.acts_in_space('reader') AS reads, keeps.acts_in_space('writer') AS writes,
    keeps.acts_in_space('curator') AS manages

-- name: space_get
-- A space with the number of its members and the role of the acting user ($3) or the bound agent ($4).
SELECT spaces.space_id, spaces.tenant_id, spaces.title, spaces.created_at, spaces.archived_at,
    (SELECT count(*) FROM keeps.space_members AS held
     WHERE held.tenant_id = $1 AND held.space_id = spaces.space_id) AS members,
    (SELECT role FROM keeps.space_members AS held
     WHERE held.tenant_id = $1 AND held.space_id = spaces.space_id
       AND (member_type = 'user' AND member_id = $3 OR member_type = 'agent' AND member_id = $4)
       AND (expires_at IS NULL OR expires_at > now())
     ORDER BY array_position(ARRAY['curator', 'writer', 'reader'], role) LIMIT 1) AS role
FROM keeps.spaces WHERE tenant_id = $1 AND space_id = $2

-- name: space_page
-- The spaces of the acting user by id. $2: the last of the page before · $3: how many · $4, $5: as in space_get
SELECT spaces.space_id, spaces.tenant_id, spaces.title, spaces.created_at, spaces.archived_at,
    (SELECT count(*) FROM keeps.space_members AS held
     WHERE held.tenant_id = $1 AND held.space_id = spaces.space_id) AS members,
    (SELECT role FROM keeps.space_members AS held
     WHERE held.tenant_id = $1 AND held.space_id = spaces.space_id
       AND (member_type = 'user' AND member_id = $4 OR member_type = 'agent' AND member_id = $5)
       AND (expires_at IS NULL OR expires_at > now())
     ORDER BY array_position(ARRAY['curator', 'writer', 'reader'], role) LIMIT 1) AS role
FROM keeps.spaces WHERE tenant_id = $1 AND space_id > $2 ORDER BY space_id LIMIT $3

-- name: spaces_of_tenant
-- All spaces of the tenant by id. $1: the last of the page before · $2: how many
SELECT space_id, tenant_id, title, created_at, archived_at, members, NULL::text AS role
FROM keeps.list_spaces($1, $2)

-- name: space_change
-- Change the title and the time of archiving.
UPDATE keeps.spaces SET title = $3, archived_at = $4 WHERE tenant_id = $1 AND space_id = $2
RETURNING to_jsonb(spaces) AS image

-- name: space_image
SELECT to_jsonb(spaces) AS image FROM keeps.spaces WHERE tenant_id = $1 AND space_id = $2

-- name: members
SELECT member_id, member_type, role, added_at, expires_at FROM keeps.space_members
WHERE tenant_id = $1 AND space_id = $2 ORDER BY member_type DESC, member_id

-- name: member_image
SELECT to_jsonb(held) AS image FROM keeps.space_members AS held
WHERE tenant_id = $1 AND space_id = $2 AND member_type = $3 AND member_id = $4

-- name: member_set
INSERT INTO keeps.space_members (tenant_id, space_id, member_type, member_id, role, added_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, space_id, member_type, member_id)
    DO UPDATE SET role = EXCLUDED.role, expires_at = EXCLUDED.expires_at
RETURNING to_jsonb(space_members) AS image

-- name: member_remove
DELETE FROM keeps.space_members WHERE tenant_id = $1 AND space_id = $2 AND member_type = $3 AND member_id = $4
RETURNING role

-- name: other_curators
-- Whether a user manages the space who is not this member.
SELECT EXISTS (SELECT FROM keeps.space_members
               WHERE tenant_id = $1 AND space_id = $2 AND role = 'curator' AND expires_at IS NULL
                 AND (member_type, member_id) <> ($3, $4)) AS others

-- name: export_spaces
-- The space whose rows the user of the transaction owns. $3: position
SELECT space_id, to_jsonb(spaces) AS row FROM keeps.spaces
WHERE tenant_id = $1 AND user_id = $2 AND space_id > $3 ORDER BY space_id LIMIT 100

-- name: export_members
-- A page of its members after $3, $4, each with the user id of the space.
SELECT member_type, member_id, to_jsonb(held) || jsonb_build_object('user_id', $2::text) AS row
FROM keeps.space_members AS held
WHERE tenant_id = $1 AND '(space) ' || space_id = $2 AND (member_type, member_id) > ($3, $4)
ORDER BY member_type, member_id LIMIT 100

-- name: space_add
-- A space from an export.
INSERT INTO keeps.spaces (tenant_id, space_id, user_id, title, created_at, archived_at)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
RETURNING to_jsonb(spaces) AS image

-- name: member_add
-- A member from an export.
INSERT INTO keeps.space_members (tenant_id, space_id, member_type, member_id, role, added_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
RETURNING to_jsonb(space_members) AS image
