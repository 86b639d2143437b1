"""A user's memories out as a Markdown folder, edited by hand, and in again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.sources.importing.formats import read
from keeps.sources.importing.markdown import is_markdown_memory, read_folder, write_folder
from keeps.sources.importing.service import run_import
from keeps_client.errors import ValidationFailedError

LEFT_OUT = {"life", "memory_id", "user_id", "tenant_id", "created_at", "updated_at", "version"}


async def test_out_and_in_again(memory: LocalMemory, keeps: Keeps, tenant: str, tmp_path: Path) -> None:
    await memory.remember(
        "Lives in Lisbon.", namespace="profile", key="home", content_type="profile", tags=["place"], importance=0.7
    )
    await memory.remember("A paragraph.", namespace="import", key="adr/0001-sql.md#1")
    await memory.remember("Ünïcödé\n## not a heading\n---", metadata={"x": [1, {"y": None}]}, value={"a": 1})
    await memory.remember(
        "We met Bob.",
        kind="episodic",
        content_type="event",
        role="user",
        session_id="s",
        valid_from=datetime(2024, 5, 1, tzinfo=UTC),
        metadata={"speaker": "Ann"},
    )
    held = (await memory.list(limit=200)).items
    folder = tmp_path / "out"
    assert write_folder(folder, held) == 4
    assert {path.name for path in folder.iterdir()} == {"profile.md", "fact.md", "event.md"}
    with pytest.raises(ValidationFailedError, match="already"):
        write_folder(folder, held)
    assert is_markdown_memory(folder)
    other = keeps.memory(Scope(tenant, "bob"))
    summary = await run_import(other, read_folder(folder))
    assert (dict(summary.statuses), summary.rejected) == ({"created": 4}, [])
    taken = (await other.list(limit=200)).items
    assert sorted((each.model_dump(exclude=LEFT_OUT | {"valid_from"}) for each in taken), key=str) == sorted(
        (each.model_dump(exclude=LEFT_OUT | {"valid_from"}) for each in held), key=str
    )
    assert {each.valid_from for each in taken} == {each.valid_from for each in held}
    assert dict((await run_import(other, read_folder(folder))).statuses) == {"unchanged": 4}


async def test_what_people_wrote_comes_in_and_what_cannot_be_read_is_named(memory: LocalMemory, tmp_path: Path) -> None:
    write_folder(tmp_path, [])
    (tmp_path / "profile.md").write_text("---\nkeeps: 1\n---\n\n## dog\n\nHer dog is called Rex.\n")
    (tmp_path / "broken.md").write_text("---\nno end\n")
    (tmp_path / "linked.md").symlink_to("/etc/passwd")
    (tmp_path / "times.md").write_text(
        "---\nkeeps: 1\nentries:\n  home:\n    metadata: {valid_to: soon}\n---\n\n## home\n\nLeeds.\n"
    )
    summary = await run_import(memory, read_folder(tmp_path))
    assert dict(summary.statuses) == {"created": 1}
    assert [place for place, _ in summary.rejected] == ["broken.md", "linked.md", "times.md#home"]
    found = await memory.find("memory", "dog")
    assert (found.content, found.content_type) == ("Her dog is called Rex.", "profile")


def test_other_markdown_is_no_memory(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("# Title\n\nText.\n")
    assert not is_markdown_memory(tmp_path)
    assert [record.memory["content"] for record in read(tmp_path, "markdown")]


ODD = [
    "plain",
    "# one\n## two\n### three\n\\## four",
    "```\n## in a fence\n```",
    "```json\n{}\n```",
    "~~~\n# x\n~~~",
    "---\nkeeps: 1\n---",
    "- a\n\n\n- b",
    "    indented\n\ttab",
    "  two before, two after  ",
    "\nline before and after\n",
    "a\u2028b\u2029c\u0085d\x0be\x0cf",
    "x\r\ny\rz",
    "e\u0301 é ﬁ Ａ 日本 👨‍👩‍👧‍👦",
    "&lt; <b> [x](y) `z` *w* %25 %2F",
    "{}",
    "null",
    '"quoted"',
    "12",
]
KEYS = [
    "k",
    "a b",
    "a/b",
    "日本",
    "%2F",
    "x: y",
    "## h",
    "k\u0301",
    "'q'",
    '"q"',
    "{}",
    "- a",
    "null",
    "12",
    "tr ",
    "é#1",
]


async def test_odd_texts_and_keys_survive_a_folder(
    memory: LocalMemory, keeps: Keeps, tenant: str, tmp_path: Path
) -> None:
    await memory.remember_many(
        [
            {"content": text, "namespace": "odd", "key": f"{KEYS[at % len(KEYS)]}{at}", "tags": ["a, b", f"日本 {at}"]}
            for at, text in enumerate(ODD)
        ]
        + [{"content": f"{text} {at}", "metadata": {text: [text]}} for at, text in enumerate(ODD)]
    )
    held = (await memory.list(limit=200)).items
    write_folder(tmp_path / "out", held)
    other = keeps.memory(Scope(tenant, "bob"))
    summary = await run_import(other, read_folder(tmp_path / "out"))
    assert summary.rejected == []
    kept = LEFT_OUT | {"valid_from"}
    taken = (await other.list(limit=200)).items
    expected = {str(each.model_dump(exclude=kept)) for each in held}
    assert {str(each.model_dump(exclude=kept)) for each in taken} ^ expected == set()


async def test_edits_by_hand_come_in_and_the_rest_stays(
    memory: LocalMemory, keeps: Keeps, tenant: str, tmp_path: Path
) -> None:
    for key in ("home", "dog", "car"):
        await memory.remember(f"About the {key}.\n\nMore of it.", namespace="memory", key=key, tags=["x y"])
    write_folder(tmp_path / "out", (await memory.list(limit=200)).items)
    file = tmp_path / "out" / "fact.md"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("About the dog.", "Rex, 7 years old.") + "\n## tea\n\nGreen, at four.\n", encoding="utf-8"
    )
    assert dict((await run_import(memory, read_folder(tmp_path / "out"))).statuses) == {
        "unchanged": 2,
        "updated": 1,
        "created": 1,
    }
    assert (await memory.find("memory", "dog")).content == "Rex, 7 years old.\n\nMore of it."
    assert (await memory.find("memory", "dog")).tags == ("x y",)
    assert (await memory.find("memory", "tea")).content == "Green, at four."
