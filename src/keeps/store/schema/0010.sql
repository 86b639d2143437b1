-- The tenth revision: words are found by lists that lie together by audience, and so are the signs of vectors. Runs as
-- keeps_owner; the words of what is there already are read anew after it, in Python.

-- How many memories and words an audience has in each part of its life, and how far its words are in lists.
CREATE TABLE keeps.audience_words (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    memories integer NOT NULL,
    words bigint NOT NULL,
    next_place integer NOT NULL,
    folded_to integer NOT NULL,
    PRIMARY KEY (tenant_id, audience, life),
    CONSTRAINT audience_words_tenant_exists FOREIGN KEY (tenant_id) REFERENCES keeps.tenants ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE keeps.audience_words IS
    'Counts of what an audience can find; places from folded_to on are in memory_words only, those before in postings.';

-- Derived from memories, in the same transaction: the words of each. words: each once, with spaces between; counts: a
-- byte for each word; agent: whose experience it is, empty where any agent may find it, a control character where none.
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
    counts bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_words_memory_exists FOREIGN KEY (tenant_id, memory_id, user_id)
        REFERENCES keeps.memories (tenant_id, memory_id, user_id) ON DELETE CASCADE
);
CREATE INDEX memory_words_by_place ON keeps.memory_words (tenant_id, audience, life, place);
COMMENT ON TABLE keeps.memory_words IS
    'Text search: the words of each memory, and its place among those of its audience.';

-- Which memories hold a word: entries of 11 bytes, by place: the place (4), its session hashed (4), its length in words
-- (2), and how often it holds the word (1).
CREATE TABLE keeps.postings (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    word text COLLATE "C" NOT NULL,
    agent text NOT NULL,
    first integer NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant_id, audience, life, word, agent, first)
) WITH (toast_tuple_target = 8160);
ALTER TABLE keeps.postings ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE keeps.postings IS 'Text search: for each word of an audience the memories that hold it.';

-- Entries of a place (4 bytes) and the signs of a vector, a bit each. A new one is a row of its own; 512 of them go into
-- rows of the places from `first` on, 1,024 each.
CREATE TABLE keeps.vector_bits (
    tenant_id text NOT NULL,
    audience text NOT NULL,
    life text NOT NULL,
    folded boolean NOT NULL,
    first integer NOT NULL,
    model text NOT NULL,
    size smallint NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant_id, audience, life, folded, first, model)
) WITH (toast_tuple_target = 8160);
ALTER TABLE keeps.vector_bits ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE keeps.vector_bits IS 'Vector search, first pass: the signs of all vectors of an audience, by place.';
DROP TABLE keeps.memory_terms;
DROP INDEX keeps.memory_vectors_by_audience;
ALTER TABLE keeps.memory_vectors DROP COLUMN bits;
CREATE INDEX memory_vectors_by_audience ON keeps.memory_vectors (tenant_id, audience, life, model);
