-- Documents, and where their passages stand.

-- name: document_lock
-- One's own document, to change it.
SELECT * FROM keeps.documents WHERE tenant_id = $1 AND user_id = $2 AND document_id = $3 FOR UPDATE

-- name: document_like
-- One's own document that is there, of a source, else of the one it had before ($5); without one, of the same bytes.
SELECT * FROM keeps.documents
WHERE tenant_id = $1 AND user_id = $2 AND deleted_at IS NULL
  AND (source = ANY (ARRAY[$3, $5::text]) OR ($3::text IS NULL AND source IS NULL AND file_hash = $4))
ORDER BY source IS DISTINCT FROM $3, created_at, document_id
LIMIT 1

-- name: document_get
-- One that is there.
SELECT documents.*, (SELECT count(*) FROM keeps.document_passages AS passage
                     WHERE passage.tenant_id = $1 AND passage.document_id = documents.document_id) AS passages
FROM keeps.documents
WHERE tenant_id = $1 AND document_id = $2 AND deleted_at IS NULL

-- name: documents_page
-- Newest first: one's own and shared ones that are there. $2, $3: the place after which; $5: how their source begins;
-- $6: whose alone.
SELECT documents.*, (SELECT count(*) FROM keeps.document_passages AS passage
                     WHERE passage.tenant_id = $1 AND passage.document_id = documents.document_id) AS passages
FROM keeps.documents
WHERE tenant_id = $1 AND deleted_at IS NULL
  AND ($2::timestamptz IS NULL OR (created_at, document_id) < ($2, $3::uuid))
  AND ($5::text IS NULL OR starts_with(source, $5)) AND ($6::text IS NULL OR user_id = $6)
ORDER BY created_at DESC, document_id DESC
LIMIT $4

-- name: documents_metadata
SELECT document_id, metadata FROM keeps.documents WHERE tenant_id = $1 AND document_id = ANY ($2::uuid[])

-- name: passages_known
-- One's own current passages of these texts.
SELECT memory_id, content_hash FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND key IS NULL AND (deleted_at IS NULL OR held_for IS NOT NULL)
    AND superseded_by IS NULL
  AND content_hash = ANY ($3::bytea[])

-- name: document_put
-- A document as it is now ($1: its row as JSON), in place of what was there.
INSERT INTO keeps.documents
SELECT * FROM jsonb_populate_record(NULL::keeps.documents, $1::jsonb)
ON CONFLICT (tenant_id, document_id) DO UPDATE SET
    title = EXCLUDED.title, source = EXCLUDED.source, format = EXCLUDED.format, file_hash = EXCLUDED.file_hash,
    metadata = EXCLUDED.metadata, tags = EXCLUDED.tags, visibility = EXCLUDED.visibility, pages = EXCLUDED.pages,
    pages_without_text = EXCLUDED.pages_without_text, characters = EXCLUDED.characters, tail = EXCLUDED.tail,
    passage_tokens = EXCLUDED.passage_tokens, version = EXCLUDED.version, updated_at = EXCLUDED.updated_at, deleted_at = EXCLUDED.deleted_at
RETURNING to_jsonb(documents) AS row

-- name: passages_delete
DELETE FROM keeps.document_passages WHERE tenant_id = $1 AND document_id = $2

-- name: passages_insert
-- $3: the passages as JSON, in order.
INSERT INTO keeps.document_passages (tenant_id, document_id, "position", user_id, visibility, memory_id, starts, ends,
    page, headings, gap, page_breaks)
SELECT $1, $2, told.number - 1, $4, $5, passage.memory_id, passage.starts, passage.ends, passage.page, passage.headings,
    passage.gap, passage.page_breaks
FROM ROWS FROM (jsonb_to_recordset($3::jsonb) AS (memory_id uuid, starts integer, ends integer, page integer,
    headings text[], gap text, page_breaks integer[])) WITH ORDINALITY AS told(memory_id, starts, ends, page, headings,
    gap, page_breaks, number)
CROSS JOIN LATERAL (SELECT told.memory_id, told.starts, told.ends, told.page, told.headings, told.gap,
    told.page_breaks) AS passage

-- name: passages_of
SELECT memory_id, starts, ends, page, headings, gap, page_breaks FROM keeps.document_passages
WHERE tenant_id = $1 AND document_id = $2
ORDER BY "position"

-- name: passages_only_here
-- Of these memories, those that no other document which is there says.
SELECT wanted.memory_id FROM unnest($3::uuid[]) AS wanted(memory_id)
WHERE NOT EXISTS (SELECT FROM keeps.document_passages AS passage JOIN keeps.documents USING (tenant_id, document_id)
                  WHERE passage.tenant_id = $1 AND passage.memory_id = wanted.memory_id
                    AND passage.document_id <> $2 AND documents.deleted_at IS NULL)

-- name: passages_lock
SELECT /*:memory memories*/ FROM keeps.memories
WHERE tenant_id = $1 AND user_id = $2 AND memory_id = ANY ($3::uuid[])
ORDER BY memory_id
FOR UPDATE

-- name: passages_settled
-- What documents that are there say of these memories: the first one where each stands, and the tags of all.
SELECT wanted.memory_id, first.document_id, first.title, first.source, first.metadata, first.headings,
    ARRAY(SELECT DISTINCT tag FROM keeps.document_passages AS passage
          JOIN keeps.documents USING (tenant_id, document_id) CROSS JOIN LATERAL unnest(documents.tags) AS tag
          WHERE passage.tenant_id = $1 AND passage.memory_id = wanted.memory_id AND documents.deleted_at IS NULL
          ORDER BY tag LIMIT 50) AS tags
FROM unnest($2::uuid[]) AS wanted(memory_id)
CROSS JOIN LATERAL (SELECT documents.*, passage.headings FROM keeps.document_passages AS passage
                    JOIN keeps.documents USING (tenant_id, document_id)
                    WHERE passage.tenant_id = $1 AND passage.memory_id = wanted.memory_id
                      AND documents.deleted_at IS NULL
                    ORDER BY documents.created_at, documents.document_id, passage."position" LIMIT 1) AS first

-- name: document_text
-- The passages that touch a stretch of a document's text, with what stands before each.
SELECT memory_id, passage.starts, passage.ends, passage.gap, memories.content
FROM keeps.document_passages AS passage JOIN keeps.memories USING (tenant_id, memory_id)
WHERE passage.tenant_id = $1 AND passage.document_id = $2 AND passage.ends > $3
  AND passage.starts - char_length(passage.gap) < $4
ORDER BY passage."position"

-- name: citations
-- Where these memories stand, at most 20 places of each, and what is around them there.
SELECT wanted.memory_id, place.document_id, place.title, place.source, place.headings, place.page, place.starts,
    place.ends, place.page_breaks,
    (SELECT memories.content FROM keeps.document_passages AS other JOIN keeps.memories USING (tenant_id, memory_id)
     WHERE other.tenant_id = $1 AND other.document_id = place.document_id
       AND other."position" = place."position" - 1 AND memories.deleted_at IS NULL) AS before,
    (SELECT memories.content FROM keeps.document_passages AS other JOIN keeps.memories USING (tenant_id, memory_id)
     WHERE other.tenant_id = $1 AND other.document_id = place.document_id
       AND other."position" = place."position" + 1 AND memories.deleted_at IS NULL) AS after
FROM unnest($2::uuid[]) AS wanted(memory_id)
CROSS JOIN LATERAL (SELECT passage.*, documents.title, documents.source, documents.created_at
                    FROM keeps.document_passages AS passage JOIN keeps.documents USING (tenant_id, document_id)
                    WHERE passage.tenant_id = $1 AND passage.memory_id = wanted.memory_id
                      AND documents.deleted_at IS NULL
                    ORDER BY documents.created_at, documents.document_id, passage."position" LIMIT 20) AS place
ORDER BY wanted.memory_id, place.created_at, place.document_id, place."position"

-- name: document_erase
-- A document for good, and what its events say of it. $3: the types of its events.
WITH redacted AS (SELECT keeps.redact_own_events($2::uuid::text, $3::text[]) AS changed)
DELETE FROM keeps.documents USING redacted
WHERE tenant_id = $1 AND document_id = $2

-- name: documents_overdue
SELECT document_id FROM keeps.documents WHERE tenant_id = $1 AND user_id = $2 AND deleted_at < $3
LIMIT 100

-- name: export_documents
-- With the positions of their passages, which are memories.
SELECT created_at, document_id, to_jsonb(documents) || jsonb_build_object('passages', COALESCE((
    SELECT jsonb_agg(to_jsonb(passage) - '{tenant_id,document_id,position,user_id,visibility}'::text[]
                     ORDER BY passage."position")
    FROM keeps.document_passages AS passage
    WHERE passage.tenant_id = $1 AND passage.document_id = documents.document_id), '[]')) AS row
FROM keeps.documents
WHERE tenant_id = $1 AND user_id = $2 AND (created_at, document_id) > ($3::timestamptz, $4::uuid)
ORDER BY created_at, document_id LIMIT 5
