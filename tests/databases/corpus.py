"""Statements that try to see what they may not, made from parts: what is wanted, how it is said, where it stands."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from keeps.sources.databases.rules import Dialect

HIDDEN = """
ssn
SSN
"ssn"
"SSN"
`ssn`
[ssn]
users.ssn
u.ssn
u.[ssn]
u."ssn"
u.`ssn`
public.users.ssn
main.users.ssn
shop.users.ssn
\uff53\uff53\uff4e
s\u017fn
ssn\u200b
U&"\\0073sn"
s/**/sn
u . ssn
(u).ssn
(users).ssn
((u)).ssn
(u.*).ssn
ssn(u)
ssn(users)
u.ssn::text
CAST(ssn AS text)
"s""sn"
u.'ssn'
excluded.ssn
old.ssn
new.ssn
$1
:ssn
@ssn
@@ssn
?
""".strip().split("\n")
WHOLE = """
u
users
u.*
users.*
*
u::text
users::text
CAST(u AS text)
ROW(u.*)
ROW(users)
to_jsonb(u)
to_json(users)
row_to_json(u)
json_agg(u)
jsonb_agg(users)
array_agg(u)
string_agg(u::text, ',')
concat(u)
concat_ws(',', u)
count(u)
max(u::text)
coalesce(u::text)
(SELECT u)
u IS NULL
u = u
(u).*
array[u]
format('%s', u)
hstore(u)
json_build_object('a', u)
quote_literal(u)
greatest(u, u)
lower(u::text)
u || ''
u.ctid
u.xmin
u.tableoid
ctid
oid
rowid
_rowid_
users.rowid
tableoid::regclass
u.*::text
json_object(*)
group_concat(u)
json_group_array(users)
quote(users)
lower(id)
lower(u.id)
""".strip().split("\n")
TABLES = """
secrets
public.secrets
"secrets"
`secrets`
[secrets]
main.secrets
shop.secrets
SECRETS
Secrets
pg_temp.secrets
other.secrets
shop.public.secrets
secrets AS users
(SELECT * FROM secrets)
ONLY secrets
secrets *
LATERAL secrets
secrets TABLESAMPLE SYSTEM (100)
ROWS FROM (secrets)
TABLE secrets
(TABLE secrets)
pg_catalog.pg_authid
pg_authid
pg_shadow
pg_user
information_schema.columns
information_schema.tables
pg_stat_activity
pg_stats
pg_statistic
pg_class
pg_proc
sqlite_master
sqlite_schema
main.sqlite_master
sqlite_temp_master
temp.sqlite_master
pragma_table_info('secrets')
pragma_table_list
dbstat
sqlite_stat1
mysql.user
mysql.global_priv
performance_schema.threads
sys.version
dual, secrets
users, secrets
users CROSS JOIN secrets
users NATURAL JOIN secrets
users JOIN secrets USING (id)
users LEFT JOIN secrets ON true
(users JOIN secrets ON true)
(users JOIN secrets ON true) AS x
secrets USE INDEX (PRIMARY)
secrets INDEXED BY x
secrets FOR SYSTEM_TIME ALL
secrets PARTITION (p0)
query_to_xml('select * from secrets', true, true, '')
dblink('', 'select * from secrets') AS t(a int)
json_populate_recordset(null::secrets, '[]')
xmltable('/' passing '' columns a int)
pg_read_file('/etc/passwd') AS t(a)
pg_ls_dir('.') AS t(a)
unnest(ARRAY(SELECT word FROM secrets))
generate_series(1, 2)
json_each((SELECT word FROM secrets))
load_file('/etc/passwd')
users AS u, LATERAL (SELECT u.ssn) AS z
users AS u(a, b, c, d)
users AS ssn
(users) AS secrets
(VALUES ((SELECT word FROM secrets))) AS v(a)
""".strip().split("\n")
CALLS = """
pg_sleep(0)
pg_read_file('/etc/passwd')
lo_import('/etc/passwd')
current_setting('data_directory')
set_config('a.b', 'c', false)
version()
current_user
session_user
user
inet_server_addr()
pg_ls_dir('.')
query_to_xml('select * from secrets', true, true, '')
table_to_xml('secrets', true, true, '')
database_to_xml(true, true, '')
has_table_privilege('secrets', 'select')
nextval('s')
txid_current()
pg_backend_pid()
'secrets'::regclass
'secrets'::regclass::oid
to_regclass('secrets')
pg_relation_size('secrets')
obj_description(1)
currval('s')
pg_advisory_lock(1)
pg_notify('a', 'b')
dblink_connect('')
xpath('/', '')
repeat('x', 1000000000)
lpad('x', 1000000000)
load_extension('x')
readfile('/etc/passwd')
writefile('/tmp/x', 'y')
sqlite_version()
randomblob(9)
zeroblob(1000000000)
printf('%.*c', 1000000000, 'x')
fts3_tokenizer('x')
last_insert_rowid()
changes()
load_file('/etc/passwd')
sleep(0)
benchmark(1, 1)
get_lock('a', 0)
user()
database()
schema()
uuid()
@@version
@@datadir
@a := 1
extractvalue(1, concat(0x7e, (SELECT word FROM secrets)))
updatexml(1, 1, 1)
name_const('a', 1)
"pg_sleep"(0)
pg_catalog.pg_sleep(0)
pg_catalog.lower('A')
public.lower(1)
1 OPERATOR(pg_catalog.+) 2
x'41'
b'1'
_utf8'a'
E'\\x41'
CAST('secrets' AS regclass)
CAST('{}' AS secrets)
NULL::secrets
(NULL::users).ssn
JSON_VALUE('{}', '$')
sys_exec('id')
generate_series(1, 1000000000)
GROUPING(ssn)
lag(ssn) OVER ()
first_value(users) OVER ()
string_agg(ssn, ',')
""".strip().split("\n")
PLACES = """
SELECT {x} FROM users AS u
SELECT {x} FROM users
SELECT id FROM users AS u WHERE {x} IS NOT NULL
SELECT id FROM users AS u ORDER BY {x}
SELECT count(*) FROM users AS u GROUP BY {x}
SELECT 1 FROM users AS u GROUP BY 1 HAVING {x} = '1'
SELECT (SELECT {x}) FROM users AS u
SELECT o.id, (SELECT {x} FROM users AS u LIMIT 1) FROM orders AS o
SELECT name FROM users AS u WHERE name IN (SELECT {x} FROM users AS u)
SELECT name FROM users AS u WHERE EXISTS (SELECT {x})
SELECT a FROM (SELECT {x} AS a FROM users AS u) AS z
WITH z AS (SELECT {x} AS a FROM users AS u) SELECT a FROM z
WITH z(a) AS (SELECT {x} FROM users AS u) SELECT * FROM z
SELECT name FROM users AS u UNION SELECT {x} FROM users AS u
SELECT 1 UNION ALL (SELECT {x} FROM users AS u)
SELECT CASE WHEN {x} = '1' THEN 1 ELSE 2 END FROM users AS u
SELECT coalesce({x}, '') FROM users AS u
SELECT max({x}) FROM users AS u
SELECT count(DISTINCT {x}) FROM users AS u
SELECT row_number() OVER (ORDER BY {x}) FROM users AS u
SELECT row_number() OVER (PARTITION BY {x}) FROM users AS u
SELECT sum(id) OVER w FROM users AS u WINDOW w AS (ORDER BY {x})
SELECT u.id FROM users AS u JOIN orders AS o ON {x} = o.note
SELECT DISTINCT ON ({x}) id FROM users AS u
SELECT id FROM users AS u LIMIT (SELECT length({x}) FROM users AS u)
SELECT count(*) FILTER (WHERE {x} IS NOT NULL) FROM users AS u
SELECT array_agg(id ORDER BY {x}) FROM users AS u
SELECT z.a FROM orders AS o, LATERAL (SELECT {x} AS a FROM users AS u) AS z
VALUES ({x})
SELECT * FROM (VALUES ({x})) AS v(a)
SELECT name || {x} FROM users AS u
SELECT id FROM users AS u WHERE ({x}, 1) = ('a', 1)
SELECT {x} AS name FROM users AS u ORDER BY name
SELECT u.id, {x} FROM users AS u CROSS JOIN orders
SELECT ({x}) FROM users AS u
SELECT DISTINCT {x} FROM users AS u
""".strip().split("\n")
SOURCES = """
SELECT * FROM {t}
SELECT word FROM {t}
SELECT count(*) FROM {t}
SELECT name FROM users WHERE name IN (SELECT word FROM {t})
SELECT (SELECT word FROM {t} LIMIT 1)
SELECT * FROM (SELECT * FROM {t}) AS z
WITH z AS (SELECT * FROM {t}) SELECT * FROM z
WITH users AS (SELECT * FROM {t}) SELECT * FROM users
WITH secrets AS (SELECT 1 AS word) SELECT * FROM {t}
WITH orders AS (SELECT 1) SELECT (SELECT word FROM {t})
SELECT name FROM users UNION SELECT word FROM {t}
SELECT 1 EXCEPT SELECT word FROM {t}
SELECT * FROM users AS u JOIN {t} ON true
SELECT * FROM orders, {t}
SELECT * FROM users AS u LEFT JOIN LATERAL (SELECT * FROM {t}) AS z ON true
SELECT EXISTS (SELECT 1 FROM {t})
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, {t}) SELECT n FROM r LIMIT 3
SELECT * FROM {t} FOR UPDATE
SELECT * INTO copied FROM {t}
SELECT * FROM users; SELECT * FROM {t}
EXPLAIN SELECT * FROM {t}
WITH gone AS (DELETE FROM {t} RETURNING *) SELECT * FROM gone
DELETE FROM {t}
UPDATE {t} SET id = 0
INSERT INTO orders SELECT * FROM {t}
CREATE TABLE copied AS SELECT * FROM {t}
COPY {t} TO STDOUT
SELECT * FROM {t} INTO OUTFILE '/tmp/keeps-was-here'
TABLE {t}
SHOW CREATE TABLE {t}
DESCRIBE {t}
HANDLER {t} OPEN
DECLARE c CURSOR FOR SELECT * FROM {t}
PREPARE p AS SELECT * FROM {t}
""".strip().split("\n")


def _said(text: str) -> Iterator[str]:
    """The same in other words, as far as a careless reader is concerned."""
    yield text
    yield text.upper()
    yield text.replace(" ", "/**/")
    yield text.replace(" ", "\n\t")
    yield text.replace(" ", " -- x\n")
    yield f"/*!50000 {text} */"
    yield f"SELECT 1 /*!50000 UNION {text} */"
    yield f"{text} -- "
    yield f"{text} #"
    yield f"({text})"
    yield f"SELECT * FROM ({text}) AS outer_one"
    yield f"SELECT 1; {text}"
    yield f"/* /* nested */ */ {text}"
    yield text.replace("SELECT", "SEL/**/ECT", 1)
    yield text.replace("SELECT", "SELECT ALL", 1)
    yield text.replace(" FROM ", " FROM\u00a0")
    yield text.replace("SELECT", "\u017fELECT", 1)
    yield text + ";"
    yield f"SELECT name FROM users WHERE 1 = 0 UNION ALL {text}"


def statements(dialect: Dialect, count: int) -> list[str]:
    """Return `count` statements, the same in every run: half of them plain combinations, half in other spellings."""
    plain = [place.replace("{x}", wanted) for place, wanted in itertools.product(PLACES, (*HIDDEN, *WHOLE, *CALLS))]
    plain += [source.replace("{t}", table) for source, table in itertools.product(SOURCES, TABLES)]
    choose = random.Random(f"keeps {dialect}")
    choose.shuffle(plain)
    said = [choose.choice(list(_said(each))) for each in plain]
    every = dict.fromkeys([*plain[: count // 2], *said])
    return list(every)[:count]
