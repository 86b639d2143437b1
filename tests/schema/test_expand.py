"""Upgrades without a pause: a revision expands the schema, so that servers of the release before go on with it.

What takes a table away from those who use it, reads or rewrites all of it, or takes away what the release before asks
for, comes in a later revision, under a line `-- contract: why it may`.
"""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from keeps.store.schema.files import read_sql_file

RULES_SINCE = "0013"
NEW = [
    each.name
    for each in sorted(files("keeps.store.schema").iterdir(), key=lambda each: each.name)
    if re.fullmatch(r"\d{4}\.sql", each.name) and each.name[:4] >= RULES_SINCE
]
REFUSED = {
    r"ALTER TABLE .* ALTER (COLUMN )?\w+ (SET DATA )?TYPE ": "rewrites the table: add a column, fill it, switch later",
    r"ALTER TABLE .* DROP (COLUMN|CONSTRAINT)": "the release before asks for it",
    r"ALTER TABLE .* RENAME": "the release before asks for the old name",
    r"ALTER TABLE .* SET NOT NULL": "reads the whole table under its lock: a check NOT VALID, then VALIDATE",
    r"ALTER TABLE .* ADD (COLUMN )?\w+ .*NOT NULL(?!.*DEFAULT)": "refuses the rows that the release before writes",
    r"ALTER TABLE .* ADD CONSTRAINT (?!.*NOT VALID)": "reads the whole table under its lock: NOT VALID, then VALIDATE",
    r"CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)": "keeps writers away: CONCURRENTLY, in a revision of its own",
    r"LOCK TABLE": "takes the table away",
    r"DROP (TABLE|FUNCTION|SCHEMA|TYPE|VIEW|TRIGGER)": "the release before asks for it",
    r"^(UPDATE|DELETE FROM) keeps\.": "touches all rows at once: in batches, by a job",
    r"TRUNCATE|CLUSTER|VACUUM FULL": "takes the table away",
}


def statements(sql: str) -> list[str]:
    """Of a file, without comments and without what functions do when they are called."""
    said = re.sub(r"\$(\w*)\$.*?\$\1\$", "''", sql, flags=re.DOTALL)
    kept = [line for line in said.splitlines() if not line.lstrip().startswith("--") or line.startswith("-- contract:")]
    parts = [each.strip() for each in "\n".join(kept).split(";")]
    return [" ".join(re.sub(r"(?<!^)--.*", "", each).split()) for each in parts if each]


def problems(sql: str) -> list[str]:
    found: list[str] = []
    made = set(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?([\w.]+)", sql))
    for statement in statements(sql):
        if statement.startswith("-- contract:"):
            continue
        about = re.search(r"(?:ALTER TABLE|ON) (?:ONLY )?([\w.]+)", statement)
        if about is not None and about[1] in made:
            continue  # nobody uses it yet
        found += [f"{statement[:60]}: {why}" for pattern, why in REFUSED.items() if re.search(pattern, statement)]
    return found


@pytest.mark.parametrize("name", NEW)
def test_a_revision_keeps_nobody_waiting(name: str) -> None:
    assert problems(read_sql_file(name)) == []


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE keeps.memories ALTER COLUMN importance TYPE real;",
        "ALTER TABLE keeps.memories ADD COLUMN x integer NOT NULL;",
        "ALTER TABLE keeps.memories ADD CONSTRAINT x CHECK (importance > 0);",
        "CREATE INDEX memories_new ON keeps.memories (importance);",
        "UPDATE keeps.memories SET importance = 0;",
        "ALTER TABLE keeps.llm_usage DROP CONSTRAINT llm_usage_pkey;",
        "DROP FUNCTION keeps.erase_user();",
    ],
)
def test_what_would_is_found(sql: str) -> None:
    assert len(problems(sql)) == 1


def test_what_nobody_waits_for_passes() -> None:
    assert (
        problems(
            "CREATE TABLE keeps.new (a integer); CREATE INDEX new_a ON keeps.new (a); ALTER TABLE keeps.memories ADD"
            " COLUMN x integer NOT NULL DEFAULT 0; CREATE INDEX CONCURRENTLY m ON keeps.memories (x); ALTER TABLE"
            " keeps.memories ADD CONSTRAINT c CHECK (x >= 0) NOT VALID;\n-- contract: nobody has asked for it"
            " since 0.3\nALTER TABLE keeps.memories DROP COLUMN x;"
        )
        == []
    )
