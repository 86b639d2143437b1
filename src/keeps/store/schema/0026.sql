-- Memories that wait for a person. Runs as keeps_owner.
ALTER TABLE keeps.memories ADD COLUMN held_for text;
ALTER TABLE keeps.memories ADD CONSTRAINT memories_held_for_known CHECK (held_for IN ('instructions', 'hidden_text',
    'flood', 'contradiction', 'trusted_source')) NOT VALID;
ALTER TABLE keeps.memories ADD CONSTRAINT memories_held_is_hidden CHECK (held_for IS NULL OR NOT deleted_at IS NULL)
    NOT VALID;
COMMENT ON COLUMN keeps.memories.held_for IS
    'Why the memory waits in the inbox, hidden like a forgotten one; trusted_source: a source whose memories do not.';
-- contract: functions.sql makes it again in this transaction, with one column more. Callers name those that they read
DROP FUNCTION IF EXISTS keeps.recall_hits(text, text, text, bigint, bigint, uuid[]);
