-- A number for each audience and life that is new after every change. Runs as keeps_owner.
ALTER TABLE keeps.audience_words ADD COLUMN version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN keeps.audience_words.version IS
    'Random, and new after each change of a memory, its words or its vectors: what a process holds of the audience is current while it stays. Never repeated, not even after an erasure or a move.';
