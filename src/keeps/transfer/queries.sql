-- What goes out, a page at a time; each as the user whose rows they are. And erasure.

-- name: export_users
SELECT user_id FROM keeps.users_of_tenant()

-- name: export_memories
-- A page after the memory that $3, $4 name: up to 500 and about 4 MiB. Current truths first, since older ones name them.
SELECT older, memory_id, row FROM (
    SELECT part.*, sum(octet_length(row::text)) OVER (ORDER BY older, memory_id) - octet_length(row::text) AS before
    FROM (SELECT superseded_by IS NOT NULL AS older, memory_id, to_jsonb(memories) AS row FROM keeps.memories
          WHERE tenant_id = $1 AND user_id = $2 AND (superseded_by IS NOT NULL, memory_id) > ($3::boolean, $4::uuid)
          ORDER BY superseded_by IS NOT NULL, memory_id LIMIT 500) AS part) AS bounded
WHERE before < 4194304 ORDER BY older, memory_id

-- name: export_sessions
-- A page after the session that $3, $4 name; so are the other lists.
SELECT created_at, session_id, to_jsonb(sessions) AS row FROM keeps.sessions
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, session_id) > ($3::timestamptz, $4::text)
ORDER BY created_at, session_id LIMIT 50

-- name: export_plans
-- Oldest first: a parent is older than its sub-plans.
SELECT created_at, plan_id, to_jsonb(plans) AS row FROM keeps.plans
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, plan_id) > ($3::timestamptz, $4::text)
ORDER BY created_at, plan_id LIMIT 50

-- name: export_task_contexts
SELECT created_at, task_id, to_jsonb(task_contexts) AS row FROM keeps.task_contexts
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, task_id) > ($3::timestamptz, $4::text)
ORDER BY created_at, task_id LIMIT 50

-- name: export_working_memory
SELECT plan_id, key, to_jsonb(working_memory) AS row FROM keeps.working_memory
WHERE tenant_id = $1 AND user_id = $2 AND (expires_at IS NULL OR expires_at > now()) AND (plan_id, key) > ($3::text, $4::text)
ORDER BY plan_id, key LIMIT 50

-- name: export_entities
-- Those that took others in come first.
WITH RECURSIVE ordered(entity_id, depth) AS (
    SELECT entity_id, 0 FROM keeps.entities WHERE tenant_id = $1 AND user_id = $2 AND merged_into IS NULL
    UNION ALL
    SELECT entities.entity_id, ordered.depth + 1 FROM ordered JOIN keeps.entities ON entities.tenant_id = $1
        AND entities.merged_into = ordered.entity_id
)
SELECT ordered.depth, entities.created_at, entities.entity_id, to_jsonb(entities) AS row
FROM ordered JOIN keeps.entities ON entities.tenant_id = $1 AND entities.entity_id = ordered.entity_id
WHERE entities.user_id = $2
    AND (ordered.depth, entities.created_at, entities.entity_id) > ($3::integer, $4::timestamptz, $5::uuid)
ORDER BY ordered.depth, entities.created_at, entities.entity_id LIMIT 200

-- name: export_relations
SELECT created_at, relation_id, to_jsonb(relations) AS row FROM keeps.relations
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, relation_id) > ($3::timestamptz, $4::uuid)
ORDER BY created_at, relation_id LIMIT 50

-- name: export_mentions
-- What users said; what reading found is found again.
SELECT memory_id, entity_id, to_jsonb(mentions) AS row FROM keeps.mentions
WHERE tenant_id = $1 AND user_id = $2 AND source = 'user' AND (memory_id, entity_id) > ($3::uuid, $4::uuid)
ORDER BY memory_id, entity_id LIMIT 500

-- name: export_documents
-- With where their passages stand, which are memories.
SELECT created_at, document_id, to_jsonb(documents) || jsonb_build_object('passages', COALESCE((
    SELECT jsonb_agg(to_jsonb(passage) - '{tenant_id,document_id,position,user_id,visibility}'::text[]
                     ORDER BY passage."position")
    FROM keeps.document_passages AS passage
    WHERE passage.tenant_id = $1 AND passage.document_id = documents.document_id), '[]')) AS row
FROM keeps.documents
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, document_id) > ($3::timestamptz, $4::uuid)
ORDER BY created_at, document_id LIMIT 5

-- name: export_transcripts
SELECT app, transcript_id, to_jsonb(transcripts) AS row FROM keeps.transcripts
WHERE tenant_id = $1 AND user_id = $2 AND (app, transcript_id) > ($3::text, $4::text)
ORDER BY app, transcript_id LIMIT 50

-- name: export_transcript_entries
-- A page: after the entry that $3, $4, $5 name, up to 500 and about 4 MiB.
SELECT app, transcript_id, "position", row FROM (
    SELECT part.app, part.transcript_id, part."position", to_jsonb(part) AS row,
           sum(bytes) OVER (ORDER BY app, transcript_id, "position") - bytes AS before
    FROM (SELECT * FROM keeps.transcript_entries WHERE tenant_id = $1 AND user_id = $2
            AND (app, transcript_id, "position") > ($3::text, $4::text, $5::integer)
          ORDER BY app, transcript_id, "position" LIMIT 500) AS part) AS bounded
WHERE before < 4194304 ORDER BY app, transcript_id, "position"

-- name: export_transcript_values
-- A page: after the key that $3, $4, $5 name.
SELECT app, transcript_id, key, to_jsonb(transcript_values) AS row FROM keeps.transcript_values
WHERE tenant_id = $1 AND user_id = $2 AND (app, transcript_id, key) > ($3::text, $4::text, $5::text)
ORDER BY app, transcript_id, key LIMIT 50

-- name: export_items
-- A page: after the item that $3, $4 name.
SELECT namespace, key, to_jsonb(items) AS row FROM keeps.items
WHERE tenant_id = $1 AND user_id = $2 AND (namespace, key) > ($3::text, $4::text)
ORDER BY namespace, key LIMIT 50

-- name: export_databases
-- Of whoever added them, without their credentials.
SELECT name, to_jsonb(databases) - '{credential,key_id}'::text[]
    || jsonb_build_object('user_id', created_by, 'credential', 'left out') AS row
FROM keeps.databases WHERE tenant_id = $1 AND created_by = $2 AND name > $3::text ORDER BY name LIMIT 50

-- name: export_queries
SELECT asked_at, audit_id, to_jsonb(query_audit) AS row FROM keeps.query_audit
WHERE tenant_id = $1 AND user_id = $2 AND (asked_at, audit_id) > ($3::timestamptz, $4::uuid)
ORDER BY asked_at, audit_id LIMIT 50

-- name: count_rows
SELECT name, held FROM keeps.count_rows($1)

-- name: left_over
-- Cells in which a move has left rows of a tenant, which is elsewhere.
SELECT cell AS is_in FROM keeps.tenants_elsewhere() WHERE tenant_id = $1 AND NOT arriving

-- name: leave_shared_state
-- Before counting what erasure removes: keys that others wrote, too, become theirs.
SELECT keeps.leave_shared_state()

-- name: erase_user
SELECT keeps.erase_user() AS redacted

-- name: erase_tenant
SELECT keeps.erase_tenant()

-- name: tenants_list
-- reads: TenantInfo without cell
SELECT tenant_id, users, memories, bytes, max_memories, max_bytes, created_at FROM keeps.list_tenants($1, $2)

-- name: tenant_quota
-- $2, $3: the limits · $4, $5: whether each is given; what is not stays.
UPDATE keeps.tenants SET max_memories = CASE WHEN $4 THEN $2 ELSE max_memories END, max_bytes = CASE WHEN $5
    THEN $3 ELSE max_bytes END
WHERE tenant_id = $1
RETURNING tenant_id, memory_count AS memories, memory_bytes + state_bytes AS bytes, max_memories, max_bytes, created_at
