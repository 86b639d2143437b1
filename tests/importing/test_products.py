"""Files of other products: recognition, visible branches, times, and bad records."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.sources.importing import files
from keeps.sources.importing.files import opened
from keeps.sources.importing.formats import FORMATS, guess, read
from keeps.sources.importing.records import Record
from keeps.sources.importing.service import run_import
from keeps_client.errors import ValidationFailedError
from tests.importing import exports

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
CASES: dict[str, tuple[str, Any, list[str], int]] = {
    "chatgpt": ("conversations.json", exports.CHATGPT, ["Where in Portugal?", "Porto.\u2028By train.", "B", "A"], 2),
    "claude": ("conversations.json", exports.CLAUDE, ["Where in Portugal?", "Porto."], 2),
    "open-webui": ("chats.json", exports.OPEN_WEBUI, ["Where to?", "Porto.", "A secret of another user."], 1),
    "mem0": ("all.json", exports.MEM0, ["Lives in Porto", "Bob is vegan"], 1),
    "mcp-memory": (
        "memory.jsonl",
        exports.MCP_MEMORY,
        ["John: Works at Acme", "Acme is of type company.", "John works at Acme"],
        4,
    ),
    "letta": ("sam.af", exports.LETTA, ["I live in Porto.", "Lovely!", "Name: Alice"], 2),
    "graphiti": (
        "graph.json",
        exports.GRAPHITI,
        ["I moved to Porto.", "Noted.", "Alice lives in Porto.", "Alice lives in Leeds."],
        3,
    ),
}


def write(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def contents(records: list[Record]) -> list[str]:
    return [record.memory["content"] for record in records if record.memory is not None]


@pytest.mark.parametrize("name", CASES)
def test_format_is_recognised_and_read(tmp_path: Path, name: str) -> None:
    file, value, expected, refused = CASES[name]
    path = write(tmp_path, file, value)
    with opened(path) as sources:
        assert guess(path, sources) == name
    records = list(read(path))
    assert contents(records) == expected
    problems = [record.problem for record in records if record.memory is None]
    assert (len(problems), None in problems) == (refused, False)
    assert records == list(read(path, name))


@pytest.mark.parametrize("name", CASES)
async def test_every_record_is_stored_known_or_refused(memory: LocalMemory, tmp_path: Path, name: str) -> None:
    file, value, _, _ = CASES[name]
    path = write(tmp_path, file, value)
    planned = await run_import(memory, read(path), dry_run=True)
    assert (await memory.list()).items == []
    first = await run_import(memory, read(path))
    assert (planned.stored, planned.known, planned.rejected) == (first.stored, 0, first.rejected)
    assert first.read == first.stored + first.known + len(first.rejected)
    before = [stored.model_dump(exclude={"life"}) for stored in (await memory.list(limit=200)).items]
    for dry_run in (True, False):
        again = await run_import(memory, read(path), dry_run=dry_run)
        assert (again.read, again.stored, again.known) == (first.read, 0, first.stored)
    assert [stored.model_dump(exclude={"life"}) for stored in (await memory.list(limit=200)).items] == before


def _damaged(value: Any, chance: Random) -> Any:
    """Return a copy of a value with some parts missing, or of another type."""
    if chance.random() < 0.06:
        return chance.choice([None, 7, "", "\x00", [], {}, "2024-13-01", -1e300, [[]]])
    if isinstance(value, dict):
        return {name: _damaged(item, chance) for name, item in value.items() if chance.random() > 0.04}
    return [_damaged(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(6))
async def test_damaged_records_are_refused_alone(memory: LocalMemory, tmp_path: Path, seed: int) -> None:
    for name, (file, value, _, _) in CASES.items():
        damaged = value if isinstance(value, str) else [_damaged(value, Random(f"{seed}{part}")) for part in range(6)]
        if isinstance(damaged, list) and all(isinstance(part, list) for part in damaged):
            damaged = [item for part in damaged for item in part]
        path = write(tmp_path / name, file, damaged)
        planned = await run_import(memory, read(path, name), dry_run=True)
        first = await run_import(memory, read(path, name))
        again = await run_import(memory, read(path, name))
        for summary in (planned, first, again):
            assert summary.read == summary.stored + summary.known + len(summary.rejected) == first.read
            assert all(place and reason for place, reason in summary.rejected)
        assert planned.rejected == first.rejected == again.rejected


async def test_times_of_other_products_are_the_memories(memory: LocalMemory, tmp_path: Path) -> None:
    for file, value, _, _ in CASES.values():
        await run_import(memory, read(write(tmp_path / file[:3], file, value)))
    stored = {item.content: item for item in (await memory.list(limit=200)).items}
    for content in ("Where in Portugal?", "Porto.\u2028By train.", "Lives in Porto", "I moved to Porto.", "Lovely!"):
        assert stored[content].valid_from == NOON, content
    assert (stored["Alice lives in Leeds."].valid_to, stored["Alice lives in Porto."].valid_to) == (NOON, None)
    assert "Leeds" not in str((await memory.recall("Where does Alice live? Leeds?")).hits)
    attachments = stored["Where in Portugal?"].metadata["attachments"]
    assert isinstance(attachments, list)
    assert attachments[-1] == "map.png"


async def test_import_writes_only_to_the_callers_memory(
    memory: LocalMemory, keeps: Keeps, tenant: str, tmp_path: Path
) -> None:
    others = [keeps.memory(Scope(tenant, "bob")), keeps.memory(Scope(f"{tenant}-2", "alice"))]
    for name in ("mem0", "open-webui", "graphiti"):
        file, value, _, _ = CASES[name]
        summary = await run_import(memory, read(write(tmp_path / name, file, value)))
        assert not any(reason.startswith("belongs") for _, reason in summary.rejected) or name != "graphiti"
    held = (await memory.list(limit=200)).items
    assert {(item.tenant_id, item.user_id) for item in held} == {(memory.scope.tenant_id, memory.scope.user_id)}
    assert not any("Bob" in item.content or "secret" in item.content for item in held)
    for other in others:
        assert (await other.list()).items == []
    path = write(tmp_path, "m.json", exports.MEM0)
    await run_import(others[0], read(path), owner="bob")
    assert [item.content for item in (await others[0].list()).items] == ["Bob is vegan"]


def zipped(path: Path, members: dict[str, Any]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, (str, bytes)) else json.dumps(value))
    return path


def test_archive_folder_and_file_contain_the_same_messages(tmp_path: Path) -> None:
    members = {"user.json": {"id": "u"}, "chat.html": "<html>", "conversations.json": exports.CHATGPT}
    archive = list(read(zipped(tmp_path / "export.zip", members)))
    for name, value in members.items():
        write(tmp_path / "export", name, value)
    assert contents(archive) == contents(list(read(tmp_path / "export"))) == CASES["chatgpt"][2]


@pytest.mark.parametrize("name", ["../up.json", "/etc/x.json", "a/../../x.json", "C:/x.json", "a\\..\\x.json"])
def test_archive_with_a_path_trick_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValidationFailedError, match=r"(x|up)\.json"):
        list(read(zipped(tmp_path / "x.zip", {name: exports.CHATGPT})))


def test_links_and_bombs_in_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "link.zip"
    with ZipFile(path, "w") as archive:
        link = ZipInfo("conversations.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ValidationFailedError, match="is a link"):
        list(read(path))
    with pytest.raises(ValidationFailedError, match="zip bomb"):
        list(read(zipped(tmp_path / "bomb.zip", {"conversations.json": b" " * (20 << 20)})))
    monkeypatch.setattr(files, "MAX_MEMBERS", 2)
    with pytest.raises(ValidationFailedError, match="at most 2"):
        list(read(zipped(tmp_path / "many.zip", {f"{number}.json": "{}" for number in range(3)})))


def test_damaged_archive_is_refused_by_name(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"conversations.json": exports.CHATGPT})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValidationFailedError, match=r"x\.zip is a damaged"):
        list(read(path))


def test_unknown_file_lists_the_formats(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailedError, match="chatgpt, claude"):
        list(read(write(tmp_path, "data.bin", "?")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"content": "a"}, {"content": NaNa}, {"content": "b"}]', ["a", "b"]),
        ('[{"content": "a"},, {"content": "b"}]', ["a", "b"]),
        ('[{"content": "a"}, {"content": "x"', ["a"]),
        ('[{"content": "a"}, "\\q", {"content": "b"}] and more', ["a", "b"]),
        ('[{"content": "a", "n": ' + "9" * 500 + '}, {"content": "b"}]', ["a", "b"]),
        ('[{"content": "a"}, ' + "[" * 5_000 + "]" * 5_000 + ', {"content": "b"}]', ["a", "b"]),
    ],
)
def test_invalid_value_of_a_list_is_refused_alone(tmp_path: Path, text: str, expected: list[str]) -> None:
    records = list(read(write(tmp_path, "chat.json", text), "chat"))
    assert contents(records) == expected
    assert any(record.problem for record in records) or "999" in text


def test_bytes_that_are_not_utf8_are_refused_alone(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(b'\xef\xbb\xbf[{"content": "a"}, {"content": "\xff"}, {"content": "\xe2\x80\xa8b"}]')
    records = list(read(path, "chat"))
    assert contents(records) == ["a", "\u2028b"]
    assert [record.problem for record in records if record.memory is None] == ["is not UTF-8"]


OBSIDIAN = """---
tags: [trip]
---
Booked with [[People/Ann|Ann]] and [[Bob#Work]]. ![[map.png]] %%private%% #travel/porto

```
[[code]] #no
```
"""


def test_vault_has_links_tags_and_days(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    write(tmp_path, ".obsidian/app.json", "{}")
    write(tmp_path, "daily/2024-05-01.md", OBSIDIAN)
    (record,) = read(tmp_path)
    assert record.memory is not None
    assert record.memory["content"].startswith("2024-05-01\nBooked with Ann and Bob › Work.   #travel/porto")
    assert "[[code]] #no" in record.memory["content"]
    assert record.memory["tags"] == ["trip", "travel/porto"]
    assert record.memory["metadata"]["links"] == ["People/Ann", "Bob"]
    assert record.memory["metadata"]["attachments"] == ["map.png"]
    assert record.memory["valid_from"] == NOON.replace(hour=0)


def test_concepts_have_their_type(tmp_path: Path) -> None:
    write(tmp_path, "index.md", "# All")
    write(tmp_path, "orders.md", "---\ntype: BigQuery Table\ntimestamp: 2024-05-01\ntags: [x]\n---\n# Schema\nThree.\n")
    write(tmp_path, "bad.md", "---\ntype: [\n---\nText")
    records = list(read(tmp_path))
    assert [record.place for record in records if record.problem] == ["bad.md"]
    stored = [record.memory for record in records if record.memory is not None]
    assert [(memory["content_type"], memory["content"]) for memory in stored] == [
        ("document", "Text"),
        ("BigQuery-Table", "Schema\nThree."),
    ]
    assert stored[1]["valid_from"] == NOON.replace(hour=0)


def _names() -> set[str]:
    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
            for item in value.values():
                yield from walk(item)
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)

    return {
        name
        for value in (
            exports.CHATGPT,
            exports.CLAUDE,
            exports.OPEN_WEBUI,
            exports.MEM0,
            exports.LETTA,
            exports.GRAPHITI,
        )
        for name in walk(value)
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(_names())), inner, max_size=5),
    max_leaves=15,
)


@settings(max_examples=150)
@given(
    value=JSON, name=st.sampled_from([name for name in FORMATS if name not in ("markdown", "okf", "obsidian", "text")])
)
def test_any_json_gives_records_or_reasons(tmp_path_factory: pytest.TempPathFactory, value: Any, name: str) -> None:
    path = write(tmp_path_factory.mktemp("any"), "any.json", value)
    try:
        records = list(read(path, name))
    except ValidationFailedError:
        return
    for record in records:
        assert (record.memory is None) == (record.problem is not None)


@given(st.lists(JSON, min_size=1, max_size=4), st.lists(st.sampled_from(["{]", "{bad", '{"a" 1}', "tru"]), max_size=3))
def test_valid_lines_are_read_among_bad_ones(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], bad: list[str]
) -> None:
    good = [{"content": f"text {number}", "x": value} for number, value in enumerate(values)]
    lines = [*bad, *map(json.dumps, good), *bad]
    records = list(read(write(tmp_path_factory.mktemp("lines"), "c.jsonl", "\n".join(lines)), "chat"))
    assert contents(records) == [item["content"] for item in good]
    assert sum(record.problem is not None for record in records) == 2 * len(bad)


def test_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    conversation = json.dumps(exports.CHATGPT[0])
    with path.open("w", encoding="utf-8") as file:
        file.write("[" + ",\n".join([conversation] * (1 + (10 << 20) // len(conversation))) + "]")
    tracemalloc.start()
    try:
        count = sum(1 for _ in read(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count > 8_000
    assert peak < 4 << 20
