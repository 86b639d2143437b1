# ruff: noqa: E501  a statement is a line
"""Ordinary questions in SQL, as data: four tables, and at least 400 statements in each dialect.

`STATEMENTS` gives them. Parts that every dialect reads are shared; each dialect adds its own JSON, dates and functions.
"""

from __future__ import annotations

from keeps.sources.databases.rules import Dialect, Table

_KINDS: dict[Dialect, dict[str, str]] = {
    "postgresql": {"json": "jsonb", "time": "timestamp", "list": "text[]", "double": "double precision"},
    "sqlite": {"json": "text", "time": "text", "list": "text", "double": "real"},
    "mysql": {"json": "json", "time": "datetime", "list": "text", "double": "double"},
}
COLUMNS = {
    "person": ("id", "name", "city", "joined", "active", "score", "profile"),
    "sale": ("id", "person_id", "total", "placed_at", "note", "meta", "tags"),
    "item": ("sale_id", "product", "quantity", "price"),
    "staff": ("id", "name", "boss_id", "salary", "dept"),
}
_META = (
    '{"items": [{"sku": "a1", "n": 2}, {"sku": "b2", "n": 1}], "gift": true, "ship": {"city": "Leeds", "zip": "LS1"}}',
    '{"items": [], "gift": false, "a.b": "dotted", "ship": {"city": "Bern"}}',
    '{"items": [{"sku": "c3", "n": 5}], "ship": null, "from": 3, "3": "three"}',
    None,
)


def tables(dialect: Dialect, schema: str | None) -> list[Table]:
    del dialect
    return [Table(name, columns, schema) for name, columns in COLUMNS.items()]


def creation(dialect: Dialect) -> list[str]:
    """Return the statements that make the tables and fill them."""
    kind = _KINDS[dialect]
    people = [
        (1, "Ada", "Leeds", "2023-01-15", 1, 91.5, '{"lang": "en", "age": 36}'),
        (2, "Bo", "Bern", "2023-06-30", 0, 47.25, '{"lang": "de", "age": 52}'),
        (3, "Ção", "Leeds", "2024-02-29", 1, None, '{"lang": "pt"}'),
        (4, "Dee O'Hara", None, "2024-12-31", 1, 12.0, None),
        (5, "Eve_x", "Oslo", "2022-07-04", 0, 0.5, '{"lang": "no", "age": null}'),
    ]
    sales = [
        (
            10 + at,
            1 + at % 5,
            round(7.25 * (at + 1) ** 1.3, 2),
            f"2024-{1 + at % 12:02}-{1 + 3 * (at % 9):02} {6 + at % 15:02}:{(7 * at) % 60:02}:00",
            None if at % 4 == 3 else ("first", "50% off", "a_b", "back\\slash", "Été")[at % 5],
            _META[at % 4],
            at,
        )
        for at in range(24)
    ]
    items = [
        (10 + at // 2, ("tea", "cup", "jam", "Bun")[at % 4], 1 + at % 5, round(1.1 * (1 + at % 7), 2))
        for at in range(48)
    ]
    staff = [(1, "Root", None, 900, "top"), (2, "Kim", 1, 500, "ops"), (3, "Lou", 1, 500, "dev")]
    staff += [(4, "Max", 2, 300, "ops"), (5, "Noa", 3, 350, "dev"), (6, "Oli", 3, 320, "dev"), (7, "Pat", 6, 100, None)]

    def listed(at: int) -> str:
        words = [word for bit, word in enumerate(("new", "gift", "sale")) if at >> bit & 1]
        return (
            "ARRAY[" + ", ".join(f"'{word}'" for word in words) + "]::text[]"
            if dialect == "postgresql"
            else _text(",".join(words))
        )

    def _text(value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, int | float):
            return str(value)
        escaped = str(value).replace("'", "''")
        return "'" + (escaped.replace("\\", "\\\\") if dialect == "mysql" else escaped) + "'"

    def row(values: tuple[object, ...]) -> str:
        return "(" + ", ".join(map(_text, values)) + ")"

    flag = "boolean" if dialect == "postgresql" else "integer"
    made = [
        f"CREATE TABLE person (id integer PRIMARY KEY, name varchar(100), city varchar(100), joined date, active {flag},"
        f" score {kind['double']}, profile {kind['json']})",
        f"CREATE TABLE sale (id integer PRIMARY KEY, person_id integer, total numeric(10,2), placed_at {kind['time']},"
        f" note varchar(200), meta {kind['json']}, tags {kind['list']})",
        "CREATE TABLE item (sale_id integer, product varchar(50), quantity integer, price numeric(10,2))",
        "CREATE TABLE staff (id integer PRIMARY KEY, name varchar(50), boss_id integer, salary integer, dept varchar(20))",
    ]
    for one in people:
        values = [_text(each) for each in one]
        values[4] = ("true" if one[4] else "false") if dialect == "postgresql" else values[4]
        made.append(f"INSERT INTO person VALUES ({', '.join(values)})")
    made += [f"INSERT INTO sale VALUES ({', '.join(map(_text, one[:6]))}, {listed(one[6])})" for one in sales]
    made.append(f"INSERT INTO item VALUES {', '.join(map(row, items))}")
    made.append(f"INSERT INTO staff VALUES {', '.join(map(row, staff))}")
    return made


_WHOLE = """
SELECT * FROM person ORDER BY id
SELECT p.* FROM person p ORDER BY p.id
SELECT p.name, s.* FROM person p JOIN sale s ON s.person_id = p.id ORDER BY s.id
SELECT COUNT(*) FROM sale
SELECT COUNT(*), COUNT(note), COUNT(DISTINCT note), MIN(total), MAX(total) FROM sale
SELECT SUM(total) AS revenue, AVG(quantity) AS average FROM sale JOIN item ON item.sale_id = sale.id
SELECT person_id, SUM(total) FROM sale GROUP BY person_id ORDER BY person_id
SELECT person_id, SUM(total) AS s FROM sale GROUP BY person_id HAVING SUM(total) > 100 ORDER BY s DESC
SELECT city, COUNT(*) AS n FROM person GROUP BY city ORDER BY n DESC, city
SELECT city, COUNT(*) FROM person WHERE city IS NOT NULL GROUP BY 1 ORDER BY 2, 1
SELECT DISTINCT city FROM person ORDER BY city
SELECT DISTINCT product, quantity FROM item ORDER BY product, quantity
SELECT name FROM person ORDER BY name DESC LIMIT 2
SELECT name FROM person ORDER BY id LIMIT 2 OFFSET 1
SELECT name FROM person WHERE id IN (1, 3, 5) ORDER BY id
SELECT name FROM person WHERE id NOT IN (SELECT person_id FROM sale WHERE total > 200) ORDER BY id
SELECT name FROM person p WHERE EXISTS (SELECT 1 FROM sale s WHERE s.person_id = p.id AND s.total > 100) ORDER BY id
SELECT name FROM person p WHERE NOT EXISTS (SELECT * FROM sale s WHERE s.person_id = p.id AND s.note IS NULL) ORDER BY 1
SELECT p.name, COUNT(s.id) FROM person p LEFT JOIN sale s ON s.person_id = p.id GROUP BY p.id, p.name ORDER BY p.id
SELECT p.name, s.total FROM person AS p INNER JOIN sale AS s ON p.id = s.person_id WHERE s.total > 50 ORDER BY s.total
SELECT p.name, s.id FROM person p RIGHT JOIN sale s ON s.person_id = p.id ORDER BY s.id
SELECT a.name, b.name FROM staff a JOIN staff b ON a.boss_id = b.id ORDER BY a.id
SELECT a.name, COALESCE(b.name, 'nobody') FROM staff a LEFT OUTER JOIN staff b ON a.boss_id = b.id ORDER BY a.id
SELECT p.name, s.name FROM person p CROSS JOIN staff s ORDER BY p.id, s.id
SELECT p.name, s.name FROM person p, staff s WHERE p.id = s.id ORDER BY 1
SELECT id, name FROM person JOIN staff USING (id, name) ORDER BY id
SELECT p.name, s.id, i.product FROM person p JOIN sale s ON s.person_id = p.id JOIN item i ON i.sale_id = s.id ORDER BY 2, 3, 1
SELECT name FROM person UNION SELECT name FROM staff ORDER BY name
SELECT name FROM person UNION ALL SELECT name FROM staff ORDER BY 1
SELECT id FROM person INTERSECT SELECT id FROM staff ORDER BY id
SELECT id FROM staff EXCEPT SELECT id FROM person ORDER BY id
SELECT city AS place FROM person UNION SELECT dept FROM staff ORDER BY place
SELECT id FROM person UNION SELECT id FROM staff UNION SELECT sale_id FROM item ORDER BY id LIMIT 10
SELECT n FROM (SELECT COUNT(*) AS n FROM sale GROUP BY person_id) AS counted ORDER BY n
SELECT AVG(n) FROM (SELECT person_id, COUNT(*) AS n FROM sale GROUP BY person_id) x
SELECT (SELECT MAX(total) FROM sale) - (SELECT MIN(total) FROM sale) AS spread
SELECT name, (SELECT COUNT(*) FROM sale WHERE person_id = person.id) AS n FROM person ORDER BY id
SELECT name, (SELECT s.total FROM sale s WHERE s.person_id = p.id ORDER BY s.placed_at DESC LIMIT 1) FROM person p ORDER BY id
WITH big AS (SELECT * FROM sale WHERE total > 100) SELECT COUNT(*) FROM big
WITH a AS (SELECT person_id, SUM(total) AS t FROM sale GROUP BY person_id), b AS (SELECT AVG(t) AS m FROM a) SELECT a.person_id, a.t FROM a, b WHERE a.t > b.m ORDER BY 1
WITH t(x, y) AS (SELECT id, total FROM sale) SELECT SUM(x), MAX(y) FROM t
WITH p AS (SELECT id, name FROM person) SELECT p.name, q.name FROM p JOIN p AS q ON q.id = p.id + 1 ORDER BY p.id
WITH RECURSIVE r(id, depth) AS (SELECT id, 0 FROM staff WHERE boss_id IS NULL UNION ALL SELECT s.id, r.depth + 1 FROM staff s JOIN r ON s.boss_id = r.id) SELECT id, depth FROM r ORDER BY id LIMIT 100
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n LIMIT 20
SELECT CASE WHEN total > 100 THEN 'high' WHEN total > 50 THEN 'mid' ELSE 'low' END AS band, COUNT(*) FROM sale GROUP BY band ORDER BY band
SELECT SUM(CASE WHEN note IS NULL THEN 1 ELSE 0 END) AS without, SUM(CASE note WHEN 'first' THEN total END) FROM sale
SELECT product, SUM(quantity * price) AS worth FROM item GROUP BY product ORDER BY worth DESC
SELECT product, SUM(quantity * price) / SUM(quantity) AS mean FROM item GROUP BY product HAVING COUNT(*) > 5 ORDER BY product
SELECT dept, MAX(salary), MIN(name) FROM staff GROUP BY dept HAVING MAX(salary) >= 300 AND dept IS NOT NULL ORDER BY dept
SELECT LOWER(name) AS low, UPPER(city) FROM person ORDER BY low
SELECT name AS "Full name", id AS "order" FROM person ORDER BY id
SELECT p.name AS n, p.id + 1 AS next FROM person p WHERE p.id + 1 > 2 ORDER BY next
SELECT s.person_id AS person, COUNT(*) AS count FROM sale s GROUP BY s.person_id ORDER BY count DESC, person
SELECT 1
SELECT 1 AS one, 'x' AS text, NULL AS missing
SELECT 1 + 2 * 3 - 4, 7 / 2.0, 7 % 3
SELECT ((1 + 2)) * (3), -(-5), - 5
SELECT total FROM sale WHERE (total > 10 AND total < 50) OR NOT (total < 300) ORDER BY id
SELECT name FROM person WHERE name LIKE 'A%' OR name LIKE '%e%' ORDER BY id
SELECT note FROM sale WHERE note LIKE '50!%%' ESCAPE '!' ORDER BY id
SELECT note FROM sale WHERE note NOT LIKE '%f%' ORDER BY id
SELECT name FROM person WHERE name = 'Dee O''Hara'
SELECT name FROM person WHERE (id, name) IN (SELECT id, name FROM person WHERE id < 3) ORDER BY id
SELECT p.name FROM person p JOIN (SELECT person_id, MAX(total) AS m FROM sale GROUP BY person_id) t ON t.person_id = p.id WHERE t.m > 100 ORDER BY 1
SELECT p.city, i.product, SUM(i.quantity) FROM person p JOIN sale s ON s.person_id = p.id JOIN item i ON i.sale_id = s.id GROUP BY p.city, i.product ORDER BY p.city, i.product
SELECT salary, COUNT(*) FROM staff GROUP BY salary HAVING COUNT(*) > 1
SELECT s1.id, s2.id FROM sale s1 JOIN sale s2 ON s1.person_id = s2.person_id AND s1.id < s2.id ORDER BY 1, 2 LIMIT 20
select name from person where active = (select active from person where id = 1) order by id
SELECT sale.id, sale.total FROM sale WHERE sale.total = (SELECT MAX(s.total) FROM sale s WHERE s.person_id = sale.person_id) ORDER BY sale.id
SELECT x.id FROM (SELECT id FROM person UNION ALL SELECT id FROM staff) x GROUP BY x.id HAVING COUNT(*) = 2 ORDER BY x.id
SELECT name FROM person ORDER BY CASE WHEN city = 'Leeds' THEN 0 ELSE 1 END, name
SELECT DISTINCT p.city FROM person p JOIN sale s ON s.person_id = p.id WHERE s.total BETWEEN 20 AND 120 ORDER BY p.city
SELECT COUNT(*) AS n, COUNT(DISTINCT person_id) AS people, ROUND(SUM(total), 1) AS money FROM sale
"""
_NUMBERS = """
total + 1
total * 2 - 3
total / 4
-total
ABS(total - 50)
ROUND(total, 1)
ROUND(total)
CAST(total AS INTEGER)
COALESCE(note, 'none')
NULLIF(note, 'first')
id % 3
id * id
total > 50
total BETWEEN 20 AND 80
note IS NULL
note IS NOT NULL
note IN ('first', 'a_b')
note NOT IN ('first', 'a_b')
note LIKE 'f%'
note LIKE '%\\_%' ESCAPE '\\'
LENGTH(note)
UPPER(note)
LOWER(note)
TRIM('  x  ')
LTRIM('  x')
RTRIM('x  ')
REPLACE(note, 'a', 'b')
SUBSTR(note, 2, 3)
CASE WHEN total > 50 THEN 1 ELSE 0 END
CASE person_id WHEN 1 THEN 'one' WHEN 2 THEN 'two' END
CASE WHEN note IS NULL THEN total END
(total + 1) * (id - 2)
total = 7.25 OR id = 12
NOT (total > 50)
total <> 7.25
total != 7.25
total >= 17.85 AND total <= 60
NOT note = 'first'
1 + 2 * id % 5
-id + 3 * -2
total > 20 AND total < 60 OR id = 13
id BETWEEN 10 AND 12 AND total > 1
id - 3 - 2
100 / 5 / 2
(id + 1) * 2 - (3 - (id - 1))
1.5e2
.5
10
'it''s'
''
'50% off_'
'日本語 ☃'
'-- no comment'
'/* none */'
'a;b'
NULL
"""
_WINDOWS = """
ROW_NUMBER() OVER (ORDER BY id)
ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY total DESC)
RANK() OVER (ORDER BY person_id)
DENSE_RANK() OVER (PARTITION BY note ORDER BY person_id)
PERCENT_RANK() OVER (ORDER BY total)
CUME_DIST() OVER (ORDER BY total)
NTILE(4) OVER (ORDER BY id)
LAG(total) OVER (ORDER BY id)
LAG(total, 2) OVER (ORDER BY id)
LEAD(total) OVER (PARTITION BY person_id ORDER BY placed_at)
total - LAG(total) OVER (ORDER BY placed_at, id)
FIRST_VALUE(total) OVER (PARTITION BY person_id ORDER BY id)
LAST_VALUE(total) OVER (PARTITION BY person_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
NTH_VALUE(total, 2) OVER (PARTITION BY person_id ORDER BY id)
SUM(total) OVER ()
SUM(total) OVER (PARTITION BY person_id)
SUM(total) OVER (ORDER BY id)
SUM(total) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING)
AVG(total) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
AVG(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
COUNT(*) OVER (PARTITION BY person_id)
COUNT(note) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
MAX(total) OVER (PARTITION BY person_id ORDER BY id ROWS 1 PRECEDING)
SUM(total) OVER (ORDER BY person_id RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)
100 * total / SUM(total) OVER ()
"""
_OWN_WHOLE: dict[Dialect, str] = {
    "postgresql": """
SELECT DISTINCT ON (person_id) person_id, total FROM sale ORDER BY person_id, total DESC
SELECT name FROM person WHERE name ILIKE '%A%' ORDER BY id
SELECT COUNT(*) FILTER (WHERE total > 100), SUM(total) FILTER (WHERE note IS NULL) FROM sale
SELECT s.id, e->>'sku' AS sku FROM sale s, jsonb_array_elements(s.meta->'items') AS e ORDER BY 1, 2
SELECT s.id, e.value->>'sku' FROM sale s CROSS JOIN LATERAL jsonb_array_elements(s.meta->'items') e ORDER BY 1, 2
SELECT s.id, k.key, k.value FROM sale s, jsonb_each(s.meta) AS k ORDER BY 1, 2
SELECT s.id, k FROM sale s, jsonb_object_keys(s.meta) AS k ORDER BY 1, 2
SELECT t, COUNT(*) FROM sale, unnest(tags) AS t GROUP BY t ORDER BY t
SELECT id, unnest(tags) FROM sale ORDER BY 1, 2
SELECT string_agg(name, ', ' ORDER BY name) FROM person
SELECT person_id, array_agg(total ORDER BY id) FROM sale GROUP BY person_id ORDER BY 1
SELECT json_agg(name ORDER BY id) FROM person
SELECT jsonb_object_agg(name, score) FROM person
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM sale
SELECT mode() WITHIN GROUP (ORDER BY product) FROM item
SELECT person_id, product, SUM(quantity) FROM sale JOIN item ON sale_id = id GROUP BY ROLLUP (person_id, product) ORDER BY 1, 2
SELECT person_id, note, COUNT(*) FROM sale GROUP BY GROUPING SETS ((person_id), (note), ()) ORDER BY 1, 2
SELECT person_id, note, COUNT(*), GROUPING(person_id) FROM sale GROUP BY CUBE (person_id, note) ORDER BY 1, 2, 3
SELECT p.name, l.total FROM person p LEFT JOIN LATERAL (SELECT total FROM sale s WHERE s.person_id = p.id ORDER BY total DESC LIMIT 1) l ON true ORDER BY p.id
SELECT d::date FROM generate_series('2024-01-01'::date, '2024-01-05'::date, interval '1 day') AS d
SELECT g, COUNT(s.id) FROM generate_series(1, 6) AS g LEFT JOIN sale s ON s.person_id = g GROUP BY g ORDER BY g
SELECT n FROM generate_series(1, 10, 3) AS t(n)
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, word) ORDER BY n
SELECT name FROM person ORDER BY city NULLS FIRST, name
SELECT name FROM person ORDER BY score DESC NULLS LAST
SELECT name FROM person ORDER BY id FETCH FIRST 2 ROWS ONLY
SELECT person.name, staff.name FROM person FULL JOIN staff USING (id) ORDER BY id
SELECT id FROM sale WHERE tags && ARRAY['gift', 'new'] ORDER BY id
SELECT id FROM sale WHERE 'gift' = ANY(tags) ORDER BY id
SELECT id FROM sale WHERE tags @> ARRAY['gift']::text[] ORDER BY id
SELECT id FROM sale WHERE meta @> '{"gift": true}' ORDER BY id
SELECT id FROM sale WHERE meta ? 'gift' ORDER BY id
SELECT id FROM sale WHERE meta ?| array['gift', 'from'] ORDER BY id
SELECT id FROM sale WHERE meta ?& array['gift', 'ship'] ORDER BY id
SELECT id FROM sale WHERE (meta->>'gift')::boolean ORDER BY id
SELECT id FROM sale WHERE meta->'ship'->>'city' = 'Leeds' ORDER BY id
SELECT id FROM sale WHERE meta @? '$.items[*] ? (@.n > 1)' ORDER BY id
SELECT id FROM sale WHERE jsonb_path_exists(meta, '$.items[*] ? (@.n > 1)') ORDER BY id
SELECT id, jsonb_path_query(meta, '$.items[*].sku') FROM sale ORDER BY 1, 2
SELECT id, r.n FROM sale CROSS JOIN LATERAL (SELECT jsonb_array_length(meta->'items') AS n) r ORDER BY id
SELECT date_trunc('month', placed_at) AS month, SUM(total) FROM sale GROUP BY month ORDER BY month
SELECT to_char(placed_at, 'YYYY-MM') AS m, COUNT(*) FROM sale GROUP BY 1 ORDER BY 1
SELECT extract(dow FROM placed_at) AS day, COUNT(*) FROM sale GROUP BY day ORDER BY day
SELECT id FROM sale WHERE placed_at >= '2024-03-01' AND placed_at < '2024-06-01' ORDER BY id
SELECT id FROM sale WHERE placed_at >= DATE '2024-03-01' + INTERVAL '1 month' ORDER BY id
SELECT id FROM sale WHERE placed_at::date = '2024-01-01' ORDER BY id
SELECT name FROM person WHERE joined BETWEEN '2023-01-01'::date AND '2023-12-31'::date ORDER BY id
SELECT name FROM person WHERE active ORDER BY id
SELECT name FROM person WHERE active IS TRUE AND NOT (city = 'Oslo') ORDER BY id
SELECT name FROM person WHERE name ~ '^[A-C]' ORDER BY id
SELECT name FROM person WHERE name ~* 'o' AND name !~ '^E' ORDER BY id
SELECT name FROM person WHERE name !~* 'o' ORDER BY id
SELECT name FROM person WHERE name SIMILAR TO '(A|B)%' ORDER BY id
SELECT name FROM person WHERE name NOT ILIKE 'a%' ORDER BY id
SELECT name FROM person WHERE city IS DISTINCT FROM 'Leeds' ORDER BY id
SELECT name FROM person WHERE city IS NOT DISTINCT FROM 'Leeds' ORDER BY id
SELECT sum(total) OVER w, avg(total) OVER w FROM sale WINDOW w AS (PARTITION BY person_id ORDER BY id) ORDER BY id
WITH x AS MATERIALIZED (SELECT * FROM sale) SELECT COUNT(*) FROM x
WITH x AS NOT MATERIALIZED (SELECT id FROM sale) SELECT COUNT(*) FROM x
SELECT id FROM sale WHERE total > ALL (SELECT total FROM sale WHERE person_id = 1) ORDER BY id
SELECT id FROM sale WHERE total = ANY (SELECT MAX(total) FROM sale GROUP BY person_id) ORDER BY id
SELECT id FROM sale WHERE id = ANY(ARRAY[10, 12, 14]) ORDER BY id
SELECT id FROM sale WHERE id = ANY('{10,12}'::int[]) ORDER BY id
SELECT public.sale.id FROM public.sale ORDER BY 1 LIMIT 3
SELECT corr(quantity, price), stddev(price), variance(price) FROM item
SELECT bool_and(total > 1), bool_or(total > 100), every(total > 1) FROM sale
SELECT (SELECT array_agg(DISTINCT product ORDER BY product) FROM item)
SELECT width_bucket(total, 0, 400, 4) AS b, count(*) FROM sale GROUP BY b ORDER BY b
SELECT (id, total) FROM sale ORDER BY id LIMIT 1
SELECT ROW(1, 'a') = ROW(1, 'a')
SELECT EXISTS (SELECT 1 FROM sale WHERE total > 300)
SELECT ARRAY(SELECT id FROM person ORDER BY id)
SELECT r.region, sum(s.total) FROM (VALUES ('Leeds', 'north'), ('Bern', 'south')) AS r(city, region) JOIN person p ON p.city = r.city JOIN sale s ON s.person_id = p.id GROUP BY r.region ORDER BY 1
""",
    "sqlite": """
SELECT strftime('%Y-%m', placed_at) AS month, SUM(total) FROM sale GROUP BY month ORDER BY month
SELECT date(placed_at) AS d, COUNT(*) FROM sale GROUP BY d ORDER BY d
SELECT strftime('%w', placed_at) AS day, COUNT(*) FROM sale GROUP BY day ORDER BY day
SELECT id FROM sale WHERE placed_at >= '2024-03-01' AND placed_at < '2024-06-01' ORDER BY id
SELECT id FROM sale WHERE placed_at >= date('2024-03-01', '+1 month') ORDER BY id
SELECT id FROM sale WHERE date(placed_at) BETWEEN '2024-01-01' AND '2024-03-31' ORDER BY id
SELECT name FROM person WHERE joined > '2023-12-31' ORDER BY id
SELECT name FROM person WHERE strftime('%Y', joined) = '2024' ORDER BY id
SELECT name FROM person WHERE name GLOB 'A*' ORDER BY id
SELECT name FROM person WHERE name NOT GLOB '*[0-9]*' ORDER BY id
SELECT name FROM person WHERE city = 'leeds' COLLATE NOCASE ORDER BY id
SELECT name FROM person ORDER BY name COLLATE NOCASE DESC
SELECT name FROM person WHERE active ORDER BY id
SELECT name FROM person WHERE city IS 'Leeds' ORDER BY id
SELECT name FROM person WHERE city IS NOT 'Leeds' ORDER BY id
SELECT name FROM person WHERE city == 'Leeds' ORDER BY id
SELECT name FROM person ORDER BY city NULLS LAST, name
SELECT name FROM person ORDER BY score DESC NULLS LAST
SELECT group_concat(name, ', ') FROM (SELECT name FROM person ORDER BY name)
SELECT group_concat(DISTINCT product) FROM (SELECT product FROM item ORDER BY product)
SELECT COUNT(*) FILTER (WHERE total > 100), SUM(total) FILTER (WHERE note IS NULL) FROM sale
SELECT s.id, e.value FROM sale s, json_each(s.meta) e WHERE e.key = 'gift' ORDER BY s.id
SELECT s.id, json_extract(e.value, '$.sku') AS sku FROM sale s, json_each(s.meta, '$.items') AS e ORDER BY 1, 2
SELECT s.id, e.key FROM sale s JOIN json_each(s.meta) e ORDER BY 1, 2
SELECT t.fullkey, t.type FROM sale s, json_tree(s.meta) t WHERE s.id = 10 ORDER BY t.id
SELECT id FROM sale WHERE meta->>'$.gift' = 1 ORDER BY id
SELECT id FROM sale WHERE json_extract(meta, '$.ship.city') = 'Leeds' ORDER BY id
SELECT id FROM sale WHERE meta->'ship'->>'city' = 'Leeds' ORDER BY id
SELECT json_group_array(name) FROM (SELECT name FROM person ORDER BY id)
SELECT json_group_object(name, score) FROM person
SELECT total(total), sum(total) FROM sale
SELECT sum(total) OVER w FROM sale WINDOW w AS (PARTITION BY person_id ORDER BY id) ORDER BY id
SELECT id FROM sale WHERE total = (SELECT max(total) FROM sale)
SELECT person_id, max(total), id FROM sale GROUP BY person_id ORDER BY person_id
SELECT name FROM person LIMIT 2, 2
SELECT main.sale.id FROM main.sale ORDER BY 1 LIMIT 3
SELECT * FROM (VALUES (1, 'a'), (2, 'b'))
SELECT column1, column2 FROM (VALUES (1, 'a'), (2, 'b')) AS v ORDER BY 1
WITH x AS MATERIALIZED (SELECT * FROM sale) SELECT COUNT(*) FROM x
SELECT p.name FROM person p FULL JOIN staff s ON s.id = p.id + 3 ORDER BY p.id, s.id
SELECT "name" FROM "person" WHERE "id" = 1
SELECT [name] FROM [person] WHERE [id] = 1
SELECT `name` FROM `person` WHERE `id` = 1
SELECT name FROM person WHERE EXISTS (SELECT 1 FROM sale WHERE person_id = person.id AND total > 100) ORDER BY id
WITH RECURSIVE d(day) AS (SELECT '2024-01-01' UNION ALL SELECT date(day, '+1 day') FROM d WHERE day < '2024-01-07') SELECT day FROM d LIMIT 10
SELECT id FROM sale WHERE julianday(placed_at) - julianday('2024-01-01') < 30 ORDER BY id
SELECT id FROM sale WHERE ',' || tags || ',' LIKE '%,gift,%' ORDER BY id
SELECT CAST(strftime('%H', placed_at) AS INTEGER) AS hour, COUNT(*) FROM sale GROUP BY hour ORDER BY hour
SELECT iif(active, 'yes', 'no') AS a, COUNT(*) FROM person GROUP BY a ORDER BY a
SELECT product, printf('%.2f', SUM(quantity * price)) FROM item GROUP BY product ORDER BY product
""",
    "mysql": """
SELECT DATE_FORMAT(placed_at, '%Y-%m') AS month, SUM(total) FROM sale GROUP BY month ORDER BY month
SELECT DATE(placed_at) AS d, COUNT(*) FROM sale GROUP BY d ORDER BY d
SELECT YEAR(placed_at), MONTH(placed_at), COUNT(*) FROM sale GROUP BY YEAR(placed_at), MONTH(placed_at) ORDER BY 1, 2
SELECT id FROM sale WHERE placed_at >= '2024-03-01' AND placed_at < '2024-06-01' ORDER BY id
SELECT id FROM sale WHERE placed_at >= DATE_ADD('2024-03-01', INTERVAL 1 MONTH) ORDER BY id
SELECT id FROM sale WHERE placed_at >= '2024-03-01' + INTERVAL 1 MONTH ORDER BY id
SELECT id FROM sale WHERE placed_at > DATE_SUB('2024-12-01', INTERVAL 6 WEEK) ORDER BY id
SELECT id FROM sale WHERE DATEDIFF(placed_at, '2024-01-01') < 30 ORDER BY id
SELECT id FROM sale WHERE TIMESTAMPDIFF(DAY, '2024-01-01', placed_at) < 30 ORDER BY id
SELECT name FROM person WHERE joined BETWEEN '2023-01-01' AND '2023-12-31' ORDER BY id
SELECT name FROM person WHERE name REGEXP '^[A-C]' ORDER BY id
SELECT name FROM person WHERE name RLIKE 'o' ORDER BY id
SELECT name FROM person WHERE name NOT REGEXP '^E' ORDER BY id
SELECT name FROM person WHERE active ORDER BY id
SELECT name FROM person WHERE city <=> NULL ORDER BY id
SELECT name FROM person WHERE NOT city <=> 'Leeds' ORDER BY id
SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR '; ') FROM person
SELECT person_id, GROUP_CONCAT(DISTINCT note ORDER BY note DESC) FROM sale GROUP BY person_id ORDER BY 1
SELECT person_id, COUNT(*) FROM sale GROUP BY person_id WITH ROLLUP
SELECT id FROM sale WHERE JSON_EXTRACT(meta, '$.ship.city') = 'Leeds' ORDER BY id
SELECT id FROM sale WHERE JSON_UNQUOTE(JSON_EXTRACT(meta, '$.ship.city')) = 'Leeds' ORDER BY id
SELECT id FROM sale WHERE JSON_CONTAINS(meta, 'true', '$.gift') ORDER BY id
SELECT id FROM sale WHERE JSON_LENGTH(meta, '$.items') > 1 ORDER BY id
SELECT id FROM sale WHERE FIND_IN_SET('gift', tags) ORDER BY id
SELECT SUM(total) OVER w FROM sale WINDOW w AS (PARTITION BY person_id ORDER BY id) ORDER BY id
SELECT name FROM person LIMIT 2, 2
SELECT shop.sale.id FROM shop.sale ORDER BY 1 LIMIT 3
SELECT `name` FROM `person` WHERE `id` = 1
SELECT name FROM person WHERE city = "Leeds" ORDER BY id
SELECT IF(active, 'yes', 'no') AS a, COUNT(*) FROM person GROUP BY a ORDER BY a
SELECT JSON_ARRAYAGG(product) FROM (SELECT DISTINCT product FROM item ORDER BY product) x
SELECT HOUR(placed_at) AS h, COUNT(*) FROM sale GROUP BY h ORDER BY h
SELECT DAYNAME(placed_at) AS d, COUNT(*) FROM sale GROUP BY d ORDER BY d
SELECT STD(price), VAR_POP(price) FROM item
SELECT id FROM sale WHERE total > ALL (SELECT total FROM sale WHERE person_id = 1) ORDER BY id
SELECT id FROM sale WHERE total = ANY (SELECT MAX(total) FROM sale GROUP BY person_id) ORDER BY id
SELECT name FROM person ORDER BY ISNULL(city), city, name
SELECT name FROM person ORDER BY FIELD(city, 'Oslo', 'Leeds') DESC, name
SELECT EXTRACT(YEAR_MONTH FROM placed_at) AS ym, COUNT(*) FROM sale GROUP BY ym ORDER BY ym
SELECT COUNT(*) FROM sale WHERE placed_at < NOW() AND placed_at < CURDATE()
SELECT id FROM sale WHERE note LIKE '50\\\\%%' ORDER BY id
WITH RECURSIVE d AS (SELECT DATE('2024-01-01') AS day UNION ALL SELECT day + INTERVAL 1 DAY FROM d WHERE day < '2024-01-07') SELECT day FROM d LIMIT 10
SELECT name, id DIV 2, id MOD 2 FROM person ORDER BY id
SELECT product, FORMAT(SUM(quantity * price), 2) FROM item GROUP BY product ORDER BY product
""",
}
_OWN: dict[Dialect, str] = {
    "postgresql": """
meta->'ship'
meta->>'gift'
meta->'items'->0->>'sku'
meta->'items'->-1
meta#>'{ship,city}'
meta#>>'{items,0,sku}'
meta->'a.b'
meta->>'a.b'
meta->>'from'
meta->>'3'
meta['ship']['city']
(meta->'ship'->>'zip')
meta - 'gift'
meta || '{"x": 1}'
meta = '{}'
meta ? 'a.b'
meta @? '$.ship.city'
meta @@ '$.from > 2'
jsonb_array_length(meta->'items')
COALESCE(meta->>'gift', 'false')
COALESCE(meta->'ship'->>'city', note, 'none')
UPPER(meta->'ship'->>'city')
LENGTH(meta->>'gift')
CAST(meta->>'from' AS INTEGER)
(meta->>'from')::int + 1
SUM((meta->>'from')::numeric) OVER ()
CASE WHEN meta ? 'gift' THEN meta->>'gift' END
jsonb_typeof(meta->'items')
jsonb_path_query_first(meta, '$.items[0].sku')
jsonb_path_query_array(meta, '$.items[*].sku')
jsonb_path_exists(meta, '$.gift')
jsonb_extract_path_text(meta, 'ship', 'city')
jsonb_build_object('id', id, 'total', total)
jsonb_build_array(id, note)
to_jsonb(note)
jsonb_strip_nulls(meta)
jsonb_set(meta, '{gift}', 'true')
meta::text
json_build_object('a', ARRAY[1, 2])
row_to_json(ROW(id, note))
jsonb_pretty(meta)
'{"a": 1}'::jsonb->>'a'
'[1, 2]'::json->1
LPAD(note, 12, '*')
RPAD(note, 12)
LPAD(id::text, 5, '0')
CONCAT(note, '-', id)
CONCAT_WS(', ', note, NULL, id)
note || '!' || id
INITCAP(note)
REVERSE(note)
REPEAT(note, 2)
LEFT(note, 2)
RIGHT(note, 2)
SPLIT_PART(note, '_', 1)
STRPOS(note, 'f')
POSITION('s' IN note)
SUBSTRING(note FROM 2 FOR 3)
SUBSTRING(note FROM '[a-z]+')
SUBSTRING(note, 1, 2)
OVERLAY(note PLACING 'XX' FROM 2 FOR 1)
TRIM(BOTH 'f' FROM note)
TRIM(LEADING 'f' FROM note)
TRIM(TRAILING FROM note)
BTRIM(note, 'ft')
TRANSLATE(note, 'abc', 'xyz')
MD5(note)
ASCII(note)
CHR(65)
CHAR_LENGTH(note)
OCTET_LENGTH(note)
REGEXP_REPLACE(note, '[aeiou]', '*', 'g')
REGEXP_MATCH(note, '([a-z]+)')
(REGEXP_MATCH(note, '([a-z]+)'))[1]
REGEXP_SPLIT_TO_ARRAY(note, '_')
REGEXP_COUNT(note, 'f')
STRING_TO_ARRAY(note, '_')
FORMAT('%s: %s', id, note)
STARTS_WITH(note, 'f')
ENCODE('abc'::bytea, 'hex')
TO_HEX(id)
QUOTE_LITERAL(note)
note COLLATE "C" < 'c'
E'tab\\there'
E'it\\'s \\u00e9'
$$dollar 'quoted'$$
$tag$also $$ this$tag$
U&'\\0041b'
'back\\slash'
1_000
1_000.5
0x1F
0b101
0o17
5 ^ 2
2 ^ 3 ^ 2
17 / 5
17 % 5
MOD(17, 5)
DIV(17, 5)
POWER(2, 10)
SQRT(16)
EXP(0)
LN(10)
LOG(100)
LOG(2, 8)
FLOOR(total)
CEIL(total)
TRUNC(total)
TRUNC(total, 1)
SIGN(-total)
GREATEST(total, 50)
LEAST(total, 50, id)
ROUND(total::numeric, 1)
total::int
total::float
total::float8
total::real
total::double precision
total::numeric(10,1)
total::text
CAST(total AS VARCHAR(3))
CAST(total AS CHAR(2))
CAST(id AS BIGINT)
CAST(id AS SMALLINT)
0.1::float + 0.2::float
1::boolean
'yes'::boolean
'2024-01-01'::date
'2024-01-01 10:00'::timestamp
'2024-01-01 10:00+02'::timestamptz AT TIME ZONE 'UTC'
placed_at AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'
placed_at::date
placed_at::time
DATE(placed_at)
DATE_TRUNC('month', placed_at)
DATE_TRUNC('week', placed_at)::date
DATE_PART('year', placed_at)
EXTRACT(YEAR FROM placed_at)
EXTRACT(EPOCH FROM placed_at)
EXTRACT(QUARTER FROM placed_at)
EXTRACT(isodow FROM placed_at)
EXTRACT(DAY FROM placed_at - '2024-01-01'::timestamp)
TO_CHAR(placed_at, 'YYYY-MM-DD HH24:MI')
TO_CHAR(total, 'FM999D00')
TO_DATE('01.02.2024', 'DD.MM.YYYY')
TO_TIMESTAMP('2024-01-01', 'YYYY-MM-DD')
TO_NUMBER('1,234', '9,999')
placed_at + INTERVAL '1 day'
placed_at - INTERVAL '2 months 3 days'
placed_at + 2 * INTERVAL '1 hour'
placed_at + make_interval(days => 3)
placed_at + make_interval(days => id, hours => 2)
placed_at + (id || ' days')::interval
placed_at - '2024-01-01'
AGE('2024-03-01', '2024-01-01'::timestamp)
JUSTIFY_DAYS(INTERVAL '40 days')
MAKE_DATE(2024, 2, 29)
MAKE_TIMESTAMP(2024, 1, 1, 10, 0, 0)
DATE '2024-01-31' + 1
DATE '2024-03-01' - DATE '2024-01-01'
INTERVAL '1' DAY
INTERVAL '1 year 2 months'
DATE_BIN('15 minutes', placed_at, TIMESTAMP '2024-01-01')
placed_at BETWEEN '2024-01-01' AND '2024-06-30'
(placed_at, placed_at + INTERVAL '1 day') OVERLAPS (DATE '2024-01-01', DATE '2024-02-01')
ISFINITE(placed_at)
tags[1]
tags[1:2]
ARRAY_LENGTH(tags, 1)
CARDINALITY(tags)
ARRAY_TO_STRING(tags, ',')
ARRAY_POSITION(tags, 'gift')
ARRAY_APPEND(tags, 'x')
tags || ARRAY['x']
'gift' = ANY(tags)
NOT ('gift' = ANY(tags))
'gift' <> ALL(tags)
tags = '{}'
tags <@ ARRAY['new', 'gift', 'sale']
ARRAY[1, 2, 3]
ARRAY[[1, 2], [3, 4]]
(ARRAY[1, 2, 3])[2]
note ILIKE 'F%'
note ~ '^f'
note !~ '^f'
note ~~ 'f%'
note IS DISTINCT FROM 'first'
note NOTNULL
note ISNULL
total > 50 IS TRUE
(total > 50) IS NOT TRUE
(note = 'first') IS UNKNOWN
total BETWEEN SYMMETRIC 80 AND 20
id IN (SELECT sale_id FROM item WHERE quantity > 4)
id & 3
id | 1
id # 5
~id
id << 2
TRUE AND NOT FALSE
to_tsvector('english', note) @@ to_tsquery('english', 'first')
ts_rank(to_tsvector('simple', note), plainto_tsquery('simple', 'first'))
num_nulls(note, meta)
COUNT(*) FILTER (WHERE total > 50) OVER (PARTITION BY person_id)
ROW_NUMBER() OVER (ORDER BY total DESC NULLS LAST)
SUM(total) OVER (ORDER BY placed_at RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW)
SUM(total) OVER (ORDER BY id GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)
SUM(total) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)
ARRAY_AGG(note) OVER (PARTITION BY person_id ORDER BY id)
STRING_AGG(note, ',') OVER (ORDER BY id)
PERCENT_RANK() OVER (PARTITION BY person_id ORDER BY total)
LAG(total, 1, 0) OVER (ORDER BY id)
COALESCE(LAG(note) OVER (ORDER BY id), '-')
""",
    "sqlite": """
meta->'$.ship'
meta->>'$.gift'
meta->>'$.a'
meta->'ship'
meta->>'gift'
meta->'ship'->>'city'
meta->'items'->0->>'sku'
meta->'items'->>0
meta->'a.b'
meta->>'a.b'
meta->>'from'
meta->>'3'
meta->>'$."a.b"'
meta->>'$.items[0].sku'
meta->>'$.items[#-1].sku'
json_extract(meta, '$.ship.city')
json_extract(meta, '$.items[0].sku')
json_extract(meta, '$.items[#-1].n')
json_extract(meta, '$."a.b"')
json_extract(meta, '$.gift', '$.from')
json_extract(meta, '$')
json_array_length(meta->'items')
json_array_length(meta, '$.items')
json_array_length(json_extract(meta, '$.items'))
COALESCE(meta->>'gift', 'false')
COALESCE(meta->>'$.ship.city', note, 'none')
UPPER(meta->'ship'->>'city')
LENGTH(meta->>'gift')
CAST(meta->>'from' AS INTEGER)
(meta->>'from') + 1
SUM(meta->>'from') OVER ()
CASE WHEN meta->>'gift' THEN 'gift' END
json_type(meta, '$.items')
json_type(meta)
json_valid(meta)
json_quote(note)
json_object('id', id, 'note', note)
json_array(id, note)
json(meta)
json_set(meta, '$.x', 1)
json_remove(meta, '$.items')
json_patch(meta, '{"gift": null}')
json_insert(meta, '$.y', 2)
json_replace(meta, '$.gift', 0)
date(placed_at)
time(placed_at)
datetime(placed_at)
datetime(placed_at, '+1 day')
date(placed_at, 'start of month')
date(placed_at, 'start of month', '+1 month', '-1 day')
date('2024-01-31', '+1 month')
datetime(placed_at, '-3 hours', 'localtime')
datetime(1700000000, 'unixepoch')
julianday(placed_at)
CAST(julianday('2024-03-01') - julianday('2024-01-01') AS INTEGER)
unixepoch(placed_at)
strftime('%Y', placed_at)
strftime('%Y-%m', placed_at)
strftime('%d.%m.%Y %H:%M', placed_at)
strftime('%s', placed_at)
strftime('%w', placed_at)
strftime('%W', placed_at)
strftime('%j', placed_at)
CAST(strftime('%m', placed_at) AS INTEGER)
(CAST(strftime('%m', placed_at) AS INTEGER) + 2) / 3
placed_at BETWEEN '2024-01-01' AND '2024-06-30'
placed_at < date('now')
date('now') > '2020-01-01'
CURRENT_DATE > '2020-01-01'
substr(placed_at, 1, 7)
note || '!' || id
note || NULL
printf('%05d', id)
printf('%.1f', total)
printf('%s-%s', id, note)
format('%08.2f', total)
instr(note, 'f')
hex(note)
unicode(note)
char(65, 66)
quote(note)
ltrim(note, 'f')
rtrim(note, 't')
trim(note, 'ft')
typeof(total)
typeof(note)
ifnull(note, '-')
iif(total > 50, 'high', 'low')
nullif(note, 'first')
min(total, 50)
max(total, 50, id)
round(total, 1)
abs(-total)
sign(-3)
total / 4
17 / 5
17 % 5
17 / 5.0
CAST(17 AS REAL) / 5
CAST(total AS INTEGER)
CAST(total AS INT)
CAST(total AS TEXT)
CAST('12.50' AS NUMERIC)
CAST('5' AS NUMERIC) / 2
CAST('5' AS DECIMAL(10,2)) / 2
CAST('7abc' AS INTEGER)
CAST('x' AS REAL)
CAST(total AS FLOAT)
CAST(total AS DOUBLE)
CAST(id AS VARCHAR(10)) || '!'
CAST(5 AS BOOLEAN)
CAST(id AS BIGINT)
pow(2, 10)
power(2, 3)
sqrt(16)
exp(0)
ln(10)
log(100)
log10(1000)
log(2, 8)
log2(8)
floor(total)
ceil(total)
ceiling(total)
trunc(total)
mod(17, 5)
pi()
0x1F
1e3
TRUE
FALSE
NOT TRUE
id & 3
id | 1
~id
id << 2
id >> 1
note GLOB 'f*'
note NOT GLOB 'f*'
note LIKE 'F%'
note IS 'first'
note IS NOT 'first'
note IS NOT DISTINCT FROM 'first'
note NOTNULL
note ISNULL
note NOT NULL
note == 'first'
note COLLATE NOCASE = 'FIRST'
total BETWEEN 20 AND 80
total NOT BETWEEN 20 AND 80
id IN (SELECT sale_id FROM item WHERE quantity > 4)
id NOT IN (10, 11)
(id, note) = (10, 'first')
(id, person_id) IN (VALUES (10, 1), (11, 2))
EXISTS (SELECT 1 FROM item WHERE sale_id = sale.id AND quantity > 4)
(SELECT count(*) FROM item WHERE sale_id = sale.id)
COUNT(*) FILTER (WHERE total > 50) OVER (PARTITION BY person_id)
ROW_NUMBER() OVER (ORDER BY total DESC NULLS LAST)
SUM(total) OVER (ORDER BY id GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)
SUM(total) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)
group_concat(note) OVER (ORDER BY id)
group_concat(note, '; ') OVER (PARTITION BY person_id ORDER BY id)
LAG(total, 1, 0) OVER (ORDER BY id)
COALESCE(LAG(note) OVER (ORDER BY id), '-')
'Leeds' || ' ' || 'x'
'back\\slash'
"note"
likely(total > 5)
total(total) OVER ()
substring(note, 2)
""",
    "mysql": """
JSON_EXTRACT(meta, '$.ship.city')
JSON_EXTRACT(meta, '$.items[0].sku')
JSON_EXTRACT(meta, '$."a.b"')
JSON_EXTRACT(meta, '$.gift', '$.from')
JSON_UNQUOTE(JSON_EXTRACT(meta, '$.ship.city'))
JSON_VALUE(meta, '$.ship.city')
JSON_LENGTH(JSON_EXTRACT(meta, '$.items'))
JSON_LENGTH(meta)
JSON_KEYS(meta)
JSON_TYPE(JSON_EXTRACT(meta, '$.items'))
JSON_VALID(meta)
JSON_CONTAINS(meta, '1', '$.from')
JSON_CONTAINS_PATH(meta, 'one', '$.gift', '$.from')
JSON_SEARCH(meta, 'one', 'Leeds')
JSON_OBJECT('id', id, 'note', note)
JSON_ARRAY(id, note)
JSON_QUOTE(note)
JSON_SET(meta, '$.x', 1)
JSON_REMOVE(meta, '$.items')
JSON_MERGE_PATCH(meta, '{"gift": null}')
COALESCE(JSON_VALUE(meta, '$.gift'), 'false')
CAST(JSON_VALUE(meta, '$.from') AS SIGNED)
CAST(JSON_VALUE(meta, '$.from') AS UNSIGNED) + 1
SUM(JSON_VALUE(meta, '$.from')) OVER ()
DATE(placed_at)
TIME(placed_at)
YEAR(placed_at)
MONTH(placed_at)
DAY(placed_at)
HOUR(placed_at)
MINUTE(placed_at)
QUARTER(placed_at)
WEEK(placed_at)
WEEK(placed_at, 3)
WEEKDAY(placed_at)
DAYOFWEEK(placed_at)
DAYOFYEAR(placed_at)
DAYNAME(placed_at)
MONTHNAME(placed_at)
YEARWEEK(placed_at)
LAST_DAY(placed_at)
DATE_FORMAT(placed_at, '%Y-%m')
DATE_FORMAT(placed_at, '%d.%m.%Y %H:%i')
DATE_FORMAT(placed_at, '%W %M %e')
DATE_ADD(placed_at, INTERVAL 1 DAY)
DATE_ADD(placed_at, INTERVAL id HOUR)
DATE_SUB(placed_at, INTERVAL 2 MONTH)
placed_at + INTERVAL 1 DAY
placed_at - INTERVAL 2 WEEK
DATE_ADD(placed_at, INTERVAL '1:30' HOUR_MINUTE)
ADDDATE(placed_at, 3)
SUBDATE(placed_at, INTERVAL 3 DAY)
DATEDIFF(placed_at, '2024-01-01')
TIMESTAMPDIFF(HOUR, '2024-01-01', placed_at)
TIMESTAMPDIFF(MONTH, '2024-01-01', placed_at)
TIMESTAMPADD(MINUTE, 5, placed_at)
TIMEDIFF(placed_at, '2024-01-01 00:00:00')
STR_TO_DATE('01.02.2024', '%d.%m.%Y')
UNIX_TIMESTAMP('2024-01-01 00:00:00')
FROM_UNIXTIME(1700000000)
FROM_UNIXTIME(1700000000, '%Y')
TO_DAYS(placed_at)
MAKEDATE(2024, 60)
EXTRACT(YEAR FROM placed_at)
EXTRACT(YEAR_MONTH FROM placed_at)
EXTRACT(HOUR FROM placed_at)
TIME_TO_SEC(TIME(placed_at))
SEC_TO_TIME(3661)
PERIOD_DIFF(202403, 202401)
TIMESTAMP('2024-01-01')
DATE '2024-01-01'
CAST('2024-01-01' AS DATE)
CAST('2024-01-01 10:00' AS DATETIME)
placed_at BETWEEN '2024-01-01' AND '2024-06-30'
placed_at < NOW()
CURDATE() > '2020-01-01'
CURRENT_DATE > '2020-01-01'
CURRENT_TIMESTAMP > '2020-01-01'
CONCAT(note, '-', id)
CONCAT_WS(', ', note, NULL, id)
LPAD(id, 5, '0')
LPAD(note, 12, '*')
RPAD(note, 12, ' ')
REPEAT(note, 2)
REVERSE(note)
LEFT(note, 2)
RIGHT(note, 2)
MID(note, 2, 3)
SUBSTRING(note, 2)
SUBSTRING(note FROM 2 FOR 3)
SUBSTRING_INDEX(note, '_', 1)
LOCATE('s', note)
LOCATE('s', note, 2)
INSTR(note, 'f')
POSITION('s' IN note)
TRIM(BOTH 'f' FROM note)
TRIM(LEADING 'f' FROM note)
LCASE(note)
UCASE(note)
CHAR_LENGTH(note)
OCTET_LENGTH(note)
ASCII(note)
HEX(note)
MD5(note)
SHA1(note)
SHA2(note, 256)
CRC32(note)
STRCMP(note, 'first')
FIELD(note, 'first', 'a_b')
ELT(2, 'a', 'b')
FIND_IN_SET('gift', tags)
FORMAT(total, 1)
INSERT(note, 1, 2, 'XX')
SPACE(3)
QUOTE(note)
REGEXP_REPLACE(note, '[aeiou]', '*')
REGEXP_SUBSTR(note, '[a-z]+')
REGEXP_INSTR(note, 's')
note REGEXP '^f'
note NOT REGEXP '^f'
note RLIKE 's$'
note LIKE 'F%'
note NOT LIKE 'f%'
note LIKE BINARY 'f%'
note COLLATE utf8mb4_bin = 'FIRST'
note SOUNDS LIKE 'furst'
note <=> 'first'
note <=> NULL
IFNULL(note, '-')
IF(total > 50, 'high', 'low')
ISNULL(note)
NULLIF(note, 'first')
GREATEST(total, 50)
LEAST(total, 50, id)
17 / 5
17 DIV 5
17 MOD 5
17 % 5
MOD(17, 5)
POW(2, 10)
POWER(2, 3)
SQRT(16)
EXP(0)
LN(10)
LOG(100)
LOG(2, 8)
LOG10(1000)
LOG2(8)
FLOOR(total)
CEIL(total)
CEILING(total)
TRUNCATE(total, 1)
ROUND(total, -1)
SIGN(-total)
ABS(-total)
PI()
RADIANS(180)
DEGREES(PI())
ATAN2(1, 1)
CONV('ff', 16, 10)
BIN(5)
OCT(9)
CAST(total AS SIGNED)
CAST(total AS UNSIGNED)
CAST(total AS CHAR)
CAST(total AS CHAR(2))
CAST(total AS DECIMAL(10,1))
CAST(total AS DOUBLE)
CAST('7abc' AS SIGNED)
CONVERT(total, SIGNED)
CONVERT(note, CHAR(2))
CONVERT(note USING utf8mb4)
BINARY note = 'FIRST'
1e3
TRUE
FALSE
NOT TRUE
!FALSE
TRUE && FALSE
FALSE || TRUE
TRUE XOR TRUE
id & 3
id | 1
id ^ 5
~id & 255
id << 2
id >> 1
note = 'first' IS TRUE
(note = 'first') IS UNKNOWN
(note = 'first') IS NOT TRUE
total NOT BETWEEN 20 AND 80
id IN (SELECT sale_id FROM item WHERE quantity > 4)
(id, note) = (10, 'first')
(id, person_id) IN ((10, 1), (11, 2))
EXISTS (SELECT 1 FROM item WHERE sale_id = sale.id AND quantity > 4)
(SELECT COUNT(*) FROM item WHERE sale_id = sale.id)
'it\\'s'
'tab\\there'
"double 'quoted'"
"say ""hi"" x"
'back\\\\slash'
'con' 'cat'
N'text'
COALESCE(LAG(note) OVER (ORDER BY id), '-')
SUM(total) OVER (PARTITION BY person_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
BIT_AND(id) OVER ()
STDDEV(total) OVER (PARTITION BY person_id)
""",
}
_OF_MYSQL = {
    "note LIKE '%\\_%' ESCAPE '\\'": "note LIKE '%\\\\_%' ESCAPE '\\\\'",
    "CAST(total AS INTEGER)": "CAST(total AS SIGNED)",
}
"""Shared expressions that MySQL writes otherwise."""


def statements(dialect: Dialect) -> list[str]:
    shared = [*_lines(_NUMBERS), *_lines(_WINDOWS)]
    whole = _lines(_WHOLE)
    if dialect == "mysql":
        shared = [_OF_MYSQL.get(each, each) for each in shared]
        whole = [each.replace('"', "`") for each in whole]
    values = [*shared, *_lines(_OWN[dialect])]
    return [
        *whole,
        *_lines(_OWN_WHOLE[dialect]),
        *(f"SELECT id, {each} AS v FROM sale ORDER BY id" for each in values),
        *(f"SELECT id FROM sale WHERE ({each}) IS NOT NULL AND id > 12 ORDER BY id" for each in _lines(_NUMBERS)[::2]),
        *(f"SELECT person_id, MAX({each}) FROM sale GROUP BY person_id ORDER BY 1" for each in ("total", "total * 2")),
    ]


def _lines(text: str) -> list[str]:
    return [each for each in text.strip().split("\n") if each]
