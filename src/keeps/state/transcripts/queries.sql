-- Transcripts of the asking user.

-- name: transcript_get
-- reads: TranscriptRow
SELECT tenant_id, user_id, app, transcript_id, row_id, agent_id, entry_count, version, created_at, updated_at
FROM keeps.transcripts WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4

-- name: transcript_list
-- reads: TranscriptRow
-- One keyset page. $4, $5: the last row of the page before, or null · $6: how many
SELECT tenant_id, user_id, app, transcript_id, row_id, agent_id, entry_count, version, created_at, updated_at
FROM keeps.transcripts
WHERE tenant_id = $1 AND user_id = $2 AND app = $3
  AND ($4::timestamptz IS NULL OR (updated_at, transcript_id) > ($4, $5::text))
ORDER BY updated_at, transcript_id LIMIT $6

-- name: transcript_apps
-- Apps in which the user has transcripts, in order, one index lookup each. $3: only those after this one · $4: how many
WITH RECURSIVE apps(app) AS (
    (SELECT app FROM keeps.transcripts WHERE tenant_id = $1 AND user_id = $2 AND app > $3 ORDER BY app LIMIT 1)
    UNION ALL
    SELECT (SELECT transcripts.app FROM keeps.transcripts WHERE transcripts.tenant_id = $1
                AND transcripts.user_id = $2 AND transcripts.app > apps.app ORDER BY transcripts.app LIMIT 1)
    FROM apps WHERE apps.app IS NOT NULL
)
SELECT app FROM apps WHERE app IS NOT NULL LIMIT $4

-- name: transcript_owners
SELECT user_id FROM keeps.transcript_owners($1, $2, $3)

-- name: transcript_insert
-- $1: the row as JSON. No row comes back where it is there already.
INSERT INTO keeps.transcripts (tenant_id, user_id, app, transcript_id, row_id, agent_id, entry_count, version,
    created_at, updated_at)
SELECT tenant_id, user_id, app, transcript_id, row_id, agent_id, entry_count, version, created_at, updated_at
FROM jsonb_populate_record(NULL::keeps.transcripts, $1::jsonb)
ON CONFLICT DO NOTHING
RETURNING row_id

-- name: transcript_replace
-- $1: the row as JSON.
UPDATE keeps.transcripts SET entry_count = item.entry_count, version = item.version, updated_at = item.updated_at
FROM jsonb_populate_record(NULL::keeps.transcripts, $1::jsonb) AS item
WHERE transcripts.tenant_id = item.tenant_id AND transcripts.user_id = item.user_id AND transcripts.app = item.app
  AND transcripts.transcript_id = item.transcript_id

-- name: transcript_delete
DELETE FROM keeps.transcripts WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4

-- name: transcript_rows
-- What the events of a transcript are about: its own row, its entries, its values.
SELECT row_id FROM keeps.transcripts WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4
UNION ALL
SELECT row_id FROM keeps.transcript_entries WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4
UNION ALL
SELECT row_id FROM keeps.transcript_values WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4

-- name: transcript_redact
SELECT keeps.redact_rows(ARRAY[$1::text], $2)

-- name: entries_get
-- One part. $5: after this position · $6: since · $7: only so many of the last · $8: how many · $9: about so many bytes
SELECT "position", entry_id, at, entry FROM (
    SELECT part.*, sum(bytes) OVER (ORDER BY "position") - bytes AS before FROM (
        SELECT "position", entry_id, at, entry, bytes FROM keeps.transcript_entries
        WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4 AND "position" > $5
          AND ($6::timestamptz IS NULL OR at >= $6)
          AND ($7::integer IS NULL OR "position" > COALESCE((
              SELECT past."position" FROM keeps.transcript_entries AS past
              WHERE past.tenant_id = $1 AND past.user_id = $2 AND past.app = $3 AND past.transcript_id = $4
                AND ($6::timestamptz IS NULL OR past.at >= $6)
              ORDER BY past."position" DESC OFFSET $7::integer LIMIT 1), 0))
        ORDER BY "position" LIMIT $8) AS part) AS bounded
WHERE before < $9
ORDER BY "position"

-- name: entries_known
-- Of $5, entries as JSON, those that are stored just so: their ids.
SELECT held.entry_id FROM jsonb_to_recordset($5::jsonb) AS item(entry_id text, entry jsonb)
JOIN keeps.transcript_entries AS held ON held.tenant_id = $1 AND held.user_id = $2 AND held.app = $3
    AND held.transcript_id = $4 AND held.entry_id = item.entry_id AND held.entry IS NOT DISTINCT FROM item.entry

-- name: entries_insert
-- $1: the rows as JSON. Each row as it is stored comes back.
INSERT INTO keeps.transcript_entries AS held (tenant_id, user_id, app, transcript_id, "position", row_id, agent_id,
    entry_id, at, entry, bytes)
SELECT tenant_id, user_id, app, transcript_id, "position", row_id, agent_id, entry_id, at, entry,
    COALESCE(octet_length(entry::text), 4)
FROM jsonb_populate_recordset(NULL::keeps.transcript_entries, $1::jsonb)
RETURNING row_id, to_jsonb(held) AS image

-- name: entries_delete
-- Those after position $5.
DELETE FROM keeps.transcript_entries
WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4 AND "position" > $5
RETURNING row_id

-- name: entries_redact
-- Answers that are kept for retries name the transcript, which stays.
SELECT keeps.redact_rows('{}', $1)

-- name: values_get
-- Of transcripts ($4), and with '' of the user: key by key.
SELECT transcript_id, key, value FROM keeps.transcript_values
WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = ANY ($4::text[])
ORDER BY transcript_id, key

-- name: values_put
-- $1: the rows as JSON; a key that is there keeps its row_id.
INSERT INTO keeps.transcript_values AS held (tenant_id, user_id, app, transcript_id, key, row_id, agent_id, value,
    updated_at)
SELECT tenant_id, user_id, app, transcript_id, key, row_id, agent_id, value, updated_at
FROM jsonb_populate_recordset(NULL::keeps.transcript_values, $1::jsonb)
ON CONFLICT (tenant_id, user_id, app, transcript_id, key)
    DO UPDATE SET value = EXCLUDED.value, agent_id = EXCLUDED.agent_id, updated_at = EXCLUDED.updated_at
RETURNING row_id, to_jsonb(held) AS image

-- name: values_sizes
-- The bytes of the state of each of $4 that has one.
SELECT transcript_id, sum(COALESCE(octet_length(value::text), 4) + octet_length(key)) AS bytes
FROM keeps.transcript_values
WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = ANY ($4::text[])
GROUP BY transcript_id

-- name: values_delete
DELETE FROM keeps.transcript_values WHERE tenant_id = $1 AND user_id = $2 AND app = $3 AND transcript_id = $4

-- name: export_transcripts
SELECT app, transcript_id, to_jsonb(transcripts) AS row FROM keeps.transcripts
WHERE tenant_id = $1 AND user_id = $2 AND (app, transcript_id) > ($3::text, $4::text)
ORDER BY app, transcript_id LIMIT 50

-- name: export_transcript_entries
-- A page of the rows after $3, $4, $5: up to 500, about 4 MiB.
SELECT app, transcript_id, "position", row FROM (
    SELECT part.app, part.transcript_id, part."position", to_jsonb(part) AS row,
           sum(bytes) OVER (ORDER BY app, transcript_id, "position") - bytes AS before
    FROM (SELECT * FROM keeps.transcript_entries WHERE tenant_id = $1 AND user_id = $2
            AND (app, transcript_id, "position") > ($3::text, $4::text, $5::integer)
          ORDER BY app, transcript_id, "position" LIMIT 500) AS part) AS bounded
WHERE before < 4194304 ORDER BY app, transcript_id, "position"

-- name: export_transcript_values
-- A page of the rows after $3, $4, $5.
SELECT app, transcript_id, key, to_jsonb(transcript_values) AS row FROM keeps.transcript_values
WHERE tenant_id = $1 AND user_id = $2 AND (app, transcript_id, key) > ($3::text, $4::text, $5::text)
ORDER BY app, transcript_id, key LIMIT 50
