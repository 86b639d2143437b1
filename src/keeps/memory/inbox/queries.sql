-- Memories that wait in the inbox of their user. They are hidden like forgotten ones, and found by the same index.

-- name: inbox_page
-- Newest first. $3, $4: the last of the page before, or null · $5: for one reason, or null · $6: how many
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NOT NULL AND held_for <> 'trusted_source'
  AND ($3::timestamptz IS NULL OR (created_at, memory_id) < ($3, $4::uuid))
  AND ($5::text IS NULL OR held_for = $5)
ORDER BY created_at DESC, memory_id DESC
LIMIT $6

-- name: inbox_count
-- Of how many memories each reason is; at most $3 are counted.
SELECT held_for, count(*) AS memories
FROM (SELECT held_for FROM keeps.memories
      WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NOT NULL AND held_for <> 'trusted_source'
      LIMIT $3) AS waiting
GROUP BY held_for ORDER BY held_for

-- name: inbox_lock
-- Some of those that wait, or with $3 null the first of all after $4; and whose locks are waited for.
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NOT NULL AND held_for <> 'trusted_source'
  AND ($3::uuid[] IS NULL OR memory_id = ANY ($3)) AND memory_id > $4
ORDER BY memory_id
LIMIT $5
FOR UPDATE

-- name: inbox_sources
-- The sources whose memories do not wait, by name. $3: one of them, or null
SELECT /*:memory*/
FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NOT NULL AND held_for = 'trusted_source'
  AND ($3::text IS NULL OR key = $3)
ORDER BY key, memory_id
LIMIT 1000

-- name: inbox_without_document
-- Of these passages, those that no document has which is there.
SELECT wanted.memory_id FROM unnest($2::uuid[]) AS wanted(memory_id)
WHERE NOT EXISTS (SELECT FROM keeps.document_passages AS passage JOIN keeps.documents USING (tenant_id, document_id)
                  WHERE passage.tenant_id = $1 AND passage.memory_id = wanted.memory_id
                    AND documents.deleted_at IS NULL)
ORDER BY wanted.memory_id
