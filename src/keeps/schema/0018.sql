-- Verification also looks for numbers that are missing in the log, and for words that do not give their hash. Runs as
-- keeps_owner.

-- The first 32 bytes of the hash of a memory, as keeps.memories.types computes it: without its moment, and with it; of
-- its words as they are, as releases up to 0.2 did, and in the form by which they are known again.
CREATE FUNCTION keeps.words_hashes(held keeps.memories) RETURNS bytea[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = keeps, public, pg_temp AS $$
    SELECT array_agg(sha256(convert_to('[' || array_to_string(CASE
        WHEN held.layer = 'knowledge' THEN ARRAY['"passage"', to_json(held.visibility)::text,
                                                 to_json(held.content)::text]
        ELSE ARRAY[to_json(held.kind)::text, COALESCE(to_json(held.namespace)::text, 'null'),
                   to_json(form.said)::text]
          || CASE WHEN held.kind = 'semantic' THEN '{}'::text[]
             ELSE ARRAY[COALESCE(to_json(held.agent_id)::text, 'null'), COALESCE(to_json(held.role)::text, 'null'),
                        COALESCE(to_json(held.trigger_condition)::text, 'null'),
                        COALESCE(to_json(held.procedure_type)::text, 'null')] END
          || CASE WHEN held.kind <> 'episodic' THEN '{}'::text[]
             ELSE ARRAY[COALESCE(to_json(held.session_id)::text, 'null'),
                        COALESCE((held.metadata -> 'speaker')::text, 'null'), moment.said] END
        END, ', ') || ']', 'UTF8')))
    FROM (VALUES ('null'), ('"' || replace(to_char(held.valid_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
        '.000000', '') || '+00:00"')) AS moment(said)
    CROSS JOIN (VALUES (held.content), (btrim(regexp_replace(normalize(held.content, NFC),
        E'[\t\u000b\u000c\r\u001c-\u001f \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g'),
        E' \n'))) AS form(said)
$$;

-- What is wrong with the log of the current tenant itself: numbers and ids only.
CREATE FUNCTION keeps.log_differences(at_most integer) RETURNS TABLE (table_name text, row_key jsonb, problem text,
    columns text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
BEGIN
    RETURN QUERY WITH tenant AS MATERIALIZED (
        SELECT tenant_id, retired_sequence, last_sequence FROM tenants
        WHERE tenant_id = NULLIF(current_setting('app.current_tenant', true), '')
    ), numbered AS (
        SELECT sequence, lag(sequence, 1, retired_sequence) OVER (ORDER BY sequence) AS previous
        FROM (SELECT events.sequence, tenant.retired_sequence FROM events JOIN tenant USING (tenant_id)
              WHERE events.sequence > tenant.retired_sequence
              UNION ALL SELECT last_sequence + 1, retired_sequence FROM tenant
              WHERE NOT EXISTS (SELECT FROM events WHERE events.tenant_id = tenant.tenant_id
                                  AND events.sequence > tenant.last_sequence)) AS each
    )
    (SELECT 'events', jsonb_build_object('sequence', previous + 1, 'to', sequence - 1), 'missing from the log',
            '{}'::text[]
     FROM numbered WHERE sequence > previous + 1 ORDER BY sequence LIMIT at_most)
    UNION ALL
    (SELECT 'events', jsonb_build_object('sequence', events.sequence), 'numbered after the last of the log', '{}'
     FROM events JOIN tenant USING (tenant_id) WHERE events.sequence > tenant.last_sequence
     ORDER BY events.sequence LIMIT at_most)
    UNION ALL
    -- A memory keeps the hash of what was first said, while its speaker or its trigger may be corrected. So a hash is
    -- right, too, if an event with the same words gives it. Where retention removed that event nothing can be said.
    (SELECT 'memories', jsonb_build_object('memory_id', held.memory_id), 'the content does not give its hash',
            '{content_hash}'
     FROM memories AS held JOIN tenant USING (tenant_id)
     WHERE substr(held.content_hash, 1, 32) <> ALL (words_hashes(held))
       AND COALESCE(jsonb_typeof(held.metadata -> 'speaker'), 'null') IN ('null', 'string')
       -- Earlier releases gave some of these the hash of another kind.
       AND (held.key IS NULL OR held.kind = 'semantic' OR held.version = 1)
       AND EXISTS (SELECT FROM events WHERE events.tenant_id = held.tenant_id AND subject = held.memory_id::text
                     AND data #>> '{memory,version}' = '1')
       AND NOT EXISTS (
           SELECT FROM events CROSS JOIN LATERAL jsonb_populate_record(NULL::memories, data -> 'memory') AS said
           WHERE events.tenant_id = held.tenant_id AND subject = held.memory_id::text AND data ? 'memory'
             AND said.content = held.content AND substr(held.content_hash, 1, 32) = ANY (words_hashes(said)))
     LIMIT at_most);
END
$$;

-- When the rows of some users were made, side by side; NULL where there is none. For streams, which end with their user:
-- one question for all of a server. Times alone, of tenants that live here.
CREATE FUNCTION keeps.users_since(wanted_tenant_ids text[], wanted_user_ids text[]) RETURNS TABLE (tenant_id text,
    user_id text, since timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keeps, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT held.tenant_id, held.user_id, held.created_at
    FROM unnest(wanted_tenant_ids, wanted_user_ids) AS wanted(tenant_id, user_id)
    JOIN users AS held ON held.tenant_id = wanted.tenant_id AND held.user_id = wanted.user_id
    WHERE elsewhere(held.tenant_id) IS NULL;
END
$$;
REVOKE ALL ON FUNCTION keeps.users_since(text[], text[]), keeps.words_hashes(keeps.memories), keeps.log_differences(integer) FROM PUBLIC;
