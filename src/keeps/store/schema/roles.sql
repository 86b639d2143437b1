-- What PostgreSQL's administrator does once for a database. Idempotent. Passwords are set apart.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'keeps_owner') THEN
        CREATE ROLE keeps_owner LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'keeps_app') THEN
        CREATE ROLE keeps_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
END
$$;
-- Since PostgreSQL 16, a role that creates another may grant it, but neither use it nor create a schema for it.
DO $$
BEGIN
    IF NOT pg_has_role('keeps_owner', 'USAGE') OR NOT pg_has_role('keeps_owner',
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
        EXECUTE format('GRANT keeps_owner TO %I', current_user);
    END IF;
END
$$;
-- Nobody but the owner, in its own functions, makes temporary tables: they would be rows outside every policy.
DO $$
BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO keeps_owner', current_database());
END
$$;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE SCHEMA IF NOT EXISTS keeps AUTHORIZATION keeps_owner;
-- For the queue of background jobs, which is not of a tenant.
CREATE SCHEMA IF NOT EXISTS keeps_jobs AUTHORIZATION keeps_owner;
-- For the directory of cells, which is not of a tenant either.
CREATE SCHEMA IF NOT EXISTS keeps_cells AUTHORIZATION keeps_owner;
