-- Passages know where pages begin inside them, so that a citation can name the page of a sentence. Runs as keeps_owner.
ALTER TABLE keeps.document_passages ADD COLUMN page_breaks integer[];
COMMENT ON COLUMN keeps.document_passages.page_breaks IS 'Offsets in the document''s text at which pages page + 1, page + 2, … begin inside the passage. NULL: none does, or the document was stored before revision 16.';
