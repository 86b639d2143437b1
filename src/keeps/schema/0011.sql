-- Words are read in their own language now: those that are there are read anew.
TRUNCATE keeps.memory_words, keeps.postings, keeps.vector_bits, keeps.audience_words;

-- Vectors come: with their memory, or later. How many are not folded is looked at once in a while only. Where a memory is
-- is asked so that only the index by memory answers it: of a plan that is made while the table is small, any index would
-- seem to do, also the one that goes through all of the tenant's.
CREATE OR REPLACE FUNCTION keeps.follow_vectors() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
DECLARE
    each record;
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM forget_bits(OLD.tenant_id, audience, life, place, OLD.model) FROM memory_words
        WHERE tenant_id = OLD.tenant_id AND memory_id = OLD.memory_id;
        RETURN NULL;
    END IF;
    FOR each IN
        SELECT arrived.tenant_id, held.audience, held.life, arrived.model, array_agg(held.place) AS places,
            array_agg(arrived.memory_id) AS memory_ids, bool_or(held.place % 64 = 0) AS due
        FROM arrived CROSS JOIN LATERAL (
            SELECT memory_words.memory_id, audience, life, place FROM memory_words
            WHERE memory_words.tenant_id = arrived.tenant_id AND memory_words.memory_id >= arrived.memory_id
            ORDER BY memory_words.memory_id LIMIT 1) AS held
        WHERE held.memory_id = arrived.memory_id
        GROUP BY arrived.tenant_id, held.audience, held.life, arrived.model
    LOOP
        PERFORM add_bits(each.tenant_id, each.audience, each.life, each.places, each.memory_ids);
        IF each.due AND (
            SELECT count(*) FROM vector_bits
            WHERE tenant_id = each.tenant_id AND audience = each.audience AND life = each.life AND NOT folded
              AND model = each.model) >= 512 THEN
            PERFORM fold_bits(each.tenant_id, each.audience, each.life, each.model);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
