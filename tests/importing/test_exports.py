"""Exports in the formats of other products: exported, imported and exported again, the bytes are the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.sources.importing.exports import TEXTS, write_okf
from keeps.sources.importing.formats import read
from keeps.sources.importing.markdown import read_folder, write_folder
from keeps.sources.importing.service import run_import
from keeps_client import Memory, MemoryClient
from keeps_client.errors import ValidationFailedError
from tests.transfer.test_round_trips import CONTENTS

FOLDERS = {"okf": write_okf, "markdown": write_folder}
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


async def fill(memory: Memory) -> None:
    await memory.remember_many(
        [
            {"content": content, "namespace": "n", "key": content, "metadata": {content: [content]}, "tags": ["a b"]}
            for content in CONTENTS
        ]
        + [{"content": f"{content}!", "metadata": {"speaker": content}} for content in CONTENTS]
    )
    await memory.remember(
        "We met Bob.", kind="episodic", content_type="event", role="user", session_id="s", agent_id="a", valid_from=NOON
    )
    await memory.remember("Prefers tea.", importance=0.3, value={"a": [1, 2.5, None, "2024-05-01"]}, source="x: y")
    ended = await memory.remember(
        "Lived in Leeds.", namespace="p", key="home", valid_from=datetime(2020, 1, 1, tzinfo=UTC)
    )
    await memory.update(ended.memory_id, valid_to=NOON)


async def all_of(memory: Memory) -> list[Any]:
    page = await memory.list(limit=200)
    assert page.next_cursor is None
    return list(page.items)


def bytes_of(place: Path) -> dict[str, bytes]:
    if place.is_file():
        return {"": place.read_bytes()}
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def write(form: str, place: Path, memories: list[Any]) -> dict[str, bytes]:
    if form in FOLDERS:
        FOLDERS[form](place, memories)
    else:
        place.write_text("".join(TEXTS[form](memories)), encoding="utf-8", newline="")
    return bytes_of(place)


@pytest.mark.parametrize("form", [*TEXTS, *FOLDERS])
async def test_round_trip_gives_the_same_bytes(
    memory: LocalMemory, keeps: Keeps, tenant: str, tmp_path: Path, form: str
) -> None:
    await fill(memory)
    memories = await all_of(memory)
    first = write(form, tmp_path / "first", memories)
    suffix = {"mem0": ".json", "mcp-memory": ".jsonl"}.get(form)
    place = (tmp_path / "first").rename(tmp_path / f"first{suffix}") if suffix else tmp_path / "first"
    other = keeps.memory(Scope(f"{tenant}-2", "alice"))
    records = read_folder if form == "markdown" else read
    summary = await run_import(other, records(place))
    assert summary.rejected == []
    assert write(form, tmp_path / "second", await all_of(other)) == first
    assert (await run_import(other, records(place))).stored == 0
    if form != "mcp-memory":
        same = {
            "content",
            "tags",
            "metadata",
            "valid_from",
            "valid_to",
            "importance",
            "role",
            "value",
            "kind",
            "source",
        }
        assert sorted(str(item.model_dump(include=same)) for item in await all_of(other)) == sorted(
            str(item.model_dump(include=same)) for item in memories
        )


async def test_export_through_a_server_has_the_same_bytes(
    server_url: str, keeps: Keeps, tenant: str, tmp_path: Path
) -> None:
    async with (
        MemoryClient(server_url, tenant_id=tenant, user_id="alice") as first,
        MemoryClient(server_url, tenant_id=f"{tenant}-2", user_id="alice") as second,
    ):
        await fill(first)
        place = tmp_path / "all.json"
        text = write("mem0", place, await all_of(first))
        assert text == write("mem0", tmp_path / "local.json", await all_of(keeps.memory(Scope(tenant, "alice"))))
        assert (await run_import(second, read(place))).rejected == []
        assert write("mem0", tmp_path / "again.json", await all_of(second)) == text


async def test_observations_of_an_entity_come_back(memory: LocalMemory, tmp_path: Path) -> None:
    text = (
        '{"type": "entity", "name": "Acme", "entityType": "company", "observations": []}\n'
        '{"type": "entity", "name": "John", "entityType": "person", "observations": ["Likes\u2028tea", "Works"]}\n'
        '{"type": "relation", "from": "John", "to": "Acme", "relationType": "works_at"}\n'
    )
    path = tmp_path / "memory.jsonl"
    path.write_text(text, encoding="utf-8")
    await run_import(memory, read(path))
    assert "".join(TEXTS["mcp-memory"](await all_of(memory))) == text


@pytest.mark.parametrize("prepared", [lambda path: path.write_text("x"), lambda path: (path / "x").mkdir(parents=True)])
async def test_folder_with_files_is_not_overwritten(tmp_path: Path, prepared: Callable[[Path], object]) -> None:
    prepared(tmp_path / "out")
    with pytest.raises(ValidationFailedError, match="already contains"):
        write_okf(tmp_path / "out", [])
