-- Words are read in their own language now: those that are there are read anew.
TRUNCATE keeps.memory_words, keeps.postings, keeps.vector_bits, keeps.audience_words;
