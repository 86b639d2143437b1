"""Markdown entries are found by meaning, and a shared word alone is weak."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps, LocalMemory
from keeps_client.errors import UnavailableError

pytestmark = pytest.mark.meaning


@pytest.fixture
async def opened(
    app_url: str, shared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Keeps, Path]]:
    monkeypatch.setattr("keeps.memory.providers.markdown.vectors.WAIT_SECONDS", 30.0)
    chosen = Settings(home=tmp_path / "home", database_url=app_url, markdown_folder=tmp_path / "notes")
    async with await open_keeps(chosen, embedder=shared, provider_timeout_seconds=30.0) as keeps:
        yield keeps, tmp_path / "notes"


async def notes(memory: LocalMemory) -> None:
    for key, text in (
        ("first", "Children of the choir sing on Sunday at nine."),
        ("second", "The cat sleeps on the warm radiator."),
        ("third", "The door code is 4711."),
    ):
        await memory.write_entry("markdown", key, text)


async def test_shared_word_alone_is_weak(opened: Any, tenant: str) -> None:
    keeps, _ = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await notes(memory)
    found = await memory.recall("Who won the football on Sunday?")
    assert found.nothing_known
    assert all(hit.relevance is not None and hit.relevance < 0.25 for hit in found.hits)
    assert (await memory.recall("Who won the football on Sunday?", min_relevance=0.3)).hits == []
    await memory.remember("Benfica won the football match on Sunday.")
    first, *_ = (await memory.recall("Who won the football on Sunday?")).hits
    assert first.memory.content == "Benfica won the football match on Sunday."


async def test_entry_is_found_by_its_meaning(opened: Any, tenant: str) -> None:
    keeps, root = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await notes(memory)
    found = await memory.recall("feline resting somewhere hot")
    assert [hit.memory.key for hit in found.hits] == ["second"]
    assert not found.nothing_known
    (file,) = (root / tenant / "alice").glob("*.md")
    file.write_text(file.read_text().replace("The cat sleeps on the warm radiator.", "The bicycle has a flat tyre."))
    assert (await memory.recall("feline resting somewhere hot")).hits == []
    assert (await memory.recall("bike puncture")).hits[0].memory.key == "second"


async def test_model_that_is_away_leaves_the_words(
    opened: Any, tenant: str, shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeps, _ = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await notes(memory)

    async def away(_: object) -> None:
        raise UnavailableError("away")

    for method in ("embed", "embed_query"):
        monkeypatch.setattr(shared, method, away)
    (hit,) = (await memory.recall("door code", providers=["markdown"])).hits
    assert (hit.memory.key, hit.relevance) == ("third", None)
