"""What is derived from several texts is as trusted as the least trusted of them."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keeps.base.clock import new_id, utc_now
from keeps.base.scope import Scope
from keeps.base.text.trust import LEVELS, least, trust_of, with_trust
from keeps.engine import Keeps
from keeps.memory.conversations.facts import Fact, as_memory
from keeps.memory.conversations.service import summary_memory
from keeps.memory.graph.reading import Reader
from keeps.memory.lifecycle.consolidation import _merged  # pyright: ignore[reportPrivateUsage]
from keeps.memory.lifecycle.gist import gists_of
from keeps.memory.memories.types import MemoryRow, new_row
from keeps.state.sessions import notes as folding
from keeps_client.models import NewMemory, Note
from keeps_client.models.names import Trust

ORIGINS = st.sampled_from([*LEVELS])
WORDS = st.sampled_from(
    ["user", "agent", "own", "high", "low", "tool", "web", "shared", "document", "", 3, None, ["user"]]
)
ROLES = st.sampled_from([None, "user", "assistant", "system", "tool"])
SOURCES = st.one_of(
    st.none(),
    st.sampled_from(["tool:x", " Web : y", "https://a.example", "extraction", "e-mail:z", "files", "\u2003mcp:a"]),
    st.text(max_size=12),
)


def row(level: Trust, content: str, **fields: Any) -> MemoryRow:
    new = NewMemory(content=content, metadata=with_trust({}, level), **fields)
    return new_row(new, Scope("t", "alice"), new_id(), utc_now())


def level_of(memory: MemoryRow | NewMemory) -> Trust:
    return trust_of(memory.role, memory.source, memory.metadata)


@given(levels=st.lists(ORIGINS, min_size=2, max_size=5))
def test_merged_memory_has_the_least_trust(levels: list[Trust]) -> None:
    keeper, *others = (row(level, f"Fact {number}.") for number, level in enumerate(levels))
    assert level_of(_merged(keeper, others)) == least(levels)


@given(level=ORIGINS)
def test_gist_has_the_trust_of_its_message(level: Trust) -> None:
    message = row(
        level, "I bought the house in Leeds in 2021.", kind="episodic", content_type="message", session_id="s"
    )
    for gist in gists_of([message]):
        assert level_of(gist) == level


@given(level=ORIGINS)
def test_fact_has_the_trust_of_its_message(level: Trust) -> None:
    fact = Fact("user", "residence", "Leeds", "I live in Leeds.")
    made = as_memory(fact, said_at=utc_now(), source=None, session_id=None, read_by="rules", trust=level, speaker=None)
    assert level_of(made) == level


@given(roles=st.lists(st.sampled_from(["user", "assistant"]), min_size=1, max_size=12), read_tools=st.booleans())
def test_summary_is_not_more_trusted_than_what_it_quotes(roles: list[str], read_tools: bool) -> None:
    now = utc_now()
    said = [
        Note(kind="message", text=f"We decided to take train {at} to Leeds on Friday.", role=role, at=now)  # pyright: ignore[reportArgumentType]
        for at, role in enumerate(roles)
    ]
    notes = folding.fold(folding.empty("s", now), said, now)
    summary = summary_memory(notes, None, now, trusted=not read_tools)
    quoted = least("agent" if role == "assistant" else "user" for role in roles)
    assert LEVELS.index(level_of(summary)) >= LEVELS.index("tool" if read_tools else quoted)


async def test_entities_and_edges_name_the_trust_of_their_text(keeps: Keeps, tenant: str) -> None:
    scope = Scope(tenant, "alice")
    memory = keeps.memory(scope)
    await memory.remember("I met Ottilie Brandt in Bergen.")
    await memory.remember("Balthasar Quist sells lamps.", source="https://shop.example")
    await keeps.service(Reader).read(scope)
    trusts = {entity.name: entity.properties.get("trust") for entity in (await memory.list_entities()).items}
    assert trusts["Balthasar Quist"] == "tool"
    assert trusts["Ottilie Brandt"] is None


async def test_more_trusted_memory_is_not_made_less_trusted_by_a_repetition(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    own = await memory.remember("My dentist is Dr. Weber.")
    again = await memory.remember("My dentist is Dr. Weber.", source="https://shop.example", metadata={"trust": "low"})
    assert (again.status, again.memory_id) == ("unchanged", own.memory_id)
    assert (await memory.get(own.memory_id)).source is None


@given(cases=st.lists(st.tuples(ROLES, SOURCES, WORDS, st.booleans()), min_size=1, max_size=30))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_database_computes_the_same_level(
    raw: asyncpg.Connection, cases: list[tuple[Any, Any, Any, bool]]
) -> None:
    for role, source, trust, knowledge in cases:
        if source is not None and "\x00" in source:
            continue
        metadata = {"trust": trust}
        layer = "knowledge" if knowledge else "long_term"
        got = await raw.fetchval(
            "SELECT keeps.memory_trust($1, $2, $3, $4::jsonb)", layer, role, source, json.dumps(metadata)
        )
        assert got is not None
        assert LEVELS[got] == trust_of(role, source, metadata, layer), (role, source, trust)
