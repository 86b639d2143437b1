"""Markdown files as people make them: their names, their front matter, their headings, and what Keeps leaves alone."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.clock import utc_now
from keeps.memory.providers.markdown.format import parse, render
from keeps.memory.providers.markdown.front_matter import UnreadableError
from keeps.memory.providers.markdown.provider import MarkdownProvider
from keeps_client.errors import ConflictError

NAMES = ["Notes.md", "My Notes.md", "Дневник.md", "日记 二.md", "50% off.md", "café.md", "CON.md", "a" * 200 + ".md"]


def provider(folder: Path, edits: list[Any] | None = None) -> MarkdownProvider:
    async def log_edits(new: Any) -> None:
        if edits is not None:
            edits.extend((edit.kind, edit.category, edit.key) for edit in new)

    return MarkdownProvider(folder, utc_now, log_edits)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("name", NAMES)
async def test_file_that_was_read_is_written(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("# Mine\n\n## Idea\n\nSail to Porto.\n\n## Roof\n\nThe roof leaks.\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["Idea", "Roof"]
    assert files(tmp_path) == [name]
    await notes.write("Idea", "Sail to Lisbon.")
    assert files(tmp_path) == [name]
    assert "Sail to Lisbon." in file.read_text()
    content_type = (await notes.read("Idea")).metadata["content_type"]  # type: ignore[union-attr]
    await notes.write("Third", "A third one.", {"content_type": content_type})
    assert files(tmp_path) == [name], "its content type names this file"
    assert await notes.delete("Roof")
    restarted = provider(tmp_path)
    assert await restarted.list_keys() == ["Idea", "Third"]
    file.write_text(file.read_text().partition("## Third")[0])
    assert await restarted.list_keys() == ["Idea"], "a section that a person removed is deleted"
    assert files(tmp_path) == [name]


async def test_missing_file_comes_back_under_its_name(tmp_path: Path) -> None:
    file = tmp_path / "My Notes.md"
    file.write_text("## Idea\n\nSail to Porto.\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["Idea"]
    file.unlink()
    restarted = provider(tmp_path)
    assert list(await restarted.problems()) == ["My Notes.md"]
    await restarted.write("Idea", "Sail to Lisbon.")
    assert files(tmp_path) == ["My Notes.md"]


async def test_second_file_of_earlier_version_is_reported(tmp_path: Path) -> None:
    (tmp_path / "%4Eotes.md").write_text(
        "---\nkeeps: 1\ncategory: Notes\nrevision: 3\nentries: {}\n---\n## Roof\n\nOld.\n"
    )
    (tmp_path / "Notes.md").write_text("## Idea\n\nSail.\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["Idea"]
    assert "Notes.md" in (await notes.problems())["%4Eotes.md"]
    await notes.write("Idea", "Swim.", {"content_type": "Notes"})
    assert "Swim." in (tmp_path / "Notes.md").read_text()
    assert "Old." in (tmp_path / "%4Eotes.md").read_text(), "it is left alone"


async def test_renamed_file_keeps_its_entries(tmp_path: Path) -> None:
    edits: list[Any] = []
    notes = provider(tmp_path, edits)
    await notes.write("idea", "Sail.", {"content_type": "profile"})
    edits.clear()
    (tmp_path / "profile.md").rename(tmp_path / "Plans.md")
    assert await notes.list_keys() == ["idea"]
    assert await notes.problems() == {}
    assert edits == [("written", "Plans", "idea")]
    assert await notes.delete("idea")
    assert await provider(tmp_path).list_keys() == []


async def test_section_that_moved_to_another_file_is_not_deleted(tmp_path: Path) -> None:
    edits: list[Any] = []
    notes = provider(tmp_path, edits)
    await notes.write("idea", "Sail.", {"content_type": "profile"})
    await notes.write("other", "Swim.", {"content_type": "event"})
    edits.clear()
    profile, event = tmp_path / "profile.md", tmp_path / "event.md"
    event.write_text(event.read_text() + "\n## idea\n\nSail.\n")
    profile.write_text(profile.read_text().partition("## idea")[0])
    assert await notes.list_keys() == ["idea", "other"]
    assert edits == [("written", "event", "idea")]


async def test_duplicate_key_is_reported_and_deleted_from_both(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("## Idea\n\nSail in a storm.\n")
    (tmp_path / "b.md").write_text("## Idea\n\nSail in the sun.\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["Idea"]
    assert len(await notes.search("sail")) == 1
    problems = await notes.problems()
    assert "Idea" in problems["b.md"]
    assert "a.md" in problems["b.md"]
    assert await notes.delete("Idea")
    assert await notes.list_keys() == []
    assert await notes.search("sail") == []


async def test_tags_and_links_changed_by_hand_are_events(tmp_path: Path) -> None:
    edits: list[Any] = []
    notes = provider(tmp_path, edits)
    await notes.write("home", "Lisbon.", {"content_type": "profile", "tags": ["city"], "links": ["move"]})
    file = tmp_path / "profile.md"
    for old, new in (("- city", "- town"), ("- move", "- trip")):
        edits.clear()
        file.write_text(file.read_text().replace(old, new))
        await notes.read("home")
        assert edits == [("written", "profile", "home")]
    buffer = file.read_text()
    await notes.write("home", "Lisbon.", {"content_type": "profile", "tags": ["capital"], "links": ["trip"]})
    file.write_text(buffer + "\n## more\n\nMore.\n")
    entry = await notes.read("home")
    assert entry is not None
    assert entry.metadata["tags"] == ["capital"], "the buffer was older than the agent's tags"


@pytest.mark.parametrize("name", ["README.MD", "old.markdown", "More.Md"])
async def test_other_endings_are_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("## Idea\n\nSail.\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == []
    assert ".md" in (await notes.problems())[name]


async def test_subfolder_with_markdown_is_reported(tmp_path: Path) -> None:
    (tmp_path / "Trips" / "2026").mkdir(parents=True)
    (tmp_path / "Trips" / "2026" / "porto.md").write_text("## Idea\n\nSail.\n")
    (tmp_path / "pictures").mkdir()
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "x.md").write_text("## x\n\nx\n")
    assert list(await provider(tmp_path).problems()) == ["Trips"]


async def test_file_whose_name_is_no_utf8_is_reported(tmp_path: Path) -> None:
    import os

    with open(os.fsencode(tmp_path) + b"/caf\xe9.md", "w") as file:
        file.write("## Idea\n\nSail.\n")
    (tmp_path / "a.md").write_text("## Other\n\nSwim.\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["Other"]
    (problem,) = (await notes.problems()).items()
    assert [text.encode().decode() for text in problem] == list(problem)


@pytest.mark.parametrize("name", ["../evil.md", "/tmp/evil.md", "sub/evil.md", "evil.txt", 5])
async def test_index_leads_no_file_out_of_the_folder(tmp_path: Path, name: Any) -> None:
    folder = tmp_path / "m"
    await provider(folder).write("idea", "Sail.", {"content_type": "profile"})
    index = json.loads((folder / ".keeps.json").read_text())
    category = str(name).removesuffix(".md")
    index["categories"][category] = index["categories"]["profile"]
    index["files"] = {category: name}
    (folder / ".keeps.json").write_text(json.dumps(index))
    notes = provider(folder)
    await notes.write("idea", "Swim.", {"content_type": category})
    await notes.write("other", "Swim.", {"content_type": "profile"})
    assert {path.parent for path in tmp_path.rglob("*.md")} == {folder}
    assert not Path("/tmp/evil.md").exists()


async def test_entry_moves_to_another_category_with_its_value(tmp_path: Path) -> None:
    notes = provider(tmp_path)
    await notes.write("idea", "Sail.", {"content_type": "profile"})
    await notes.write("idea", "Sail.", {"content_type": "event"})
    assert await notes.list_keys() == ["idea"]
    assert "Sail." in (tmp_path / "event.md").read_text()
    assert "Sail." not in (tmp_path / "profile.md").read_text()


FRONT_MATTER = [
    "tags: [a, b]\naliases:\n  - diary\ncssclass: wide\n",
    "tags:\n- a\n# why: they are mine\naliases: {x: 1}   # inline\n\ncssclass: 'wide'\n",
    "category: travel\nrevision: draft\nentries: 12\ntags: x\n",
    "# only a comment\n",
    "date: 2026-11-22\ntitle: >-\n  Folded\n  text\nbody: |+\n  kept\n\nлюди: [Аня]\n",
    "base: &b {x: 1}\nother: *b\n? complex\n: value\n",
    '"quoted": "x: y"\n2024: year\n',
]


@pytest.mark.parametrize("front", FRONT_MATTER)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_front_matter_of_a_person_stays(tmp_path: Path, front: str, newline: str) -> None:
    file = tmp_path / "diary.md"
    file.write_text(f"---\n{front}---\n\n## Day one\n\nIt rained.\n", newline=newline)
    notes = provider(tmp_path)
    for step in range(3):
        assert await notes.list_keys() == ["Day one", *(f"entry-{number}" for number in range(step))]
        assert front.replace("\n", newline).encode() in file.read_bytes()
        assert (b"\r\n" in file.read_bytes()) == (newline == "\r\n")
        await notes.write(f"entry-{step}", "more", {"content_type": "diary"})
        notes = provider(tmp_path)
    assert (await notes.read("Day one")).value == "It rained."  # type: ignore[union-attr]


async def test_front_matter_added_later_stays(tmp_path: Path) -> None:
    notes = provider(tmp_path)
    await notes.write("home", "Lisbon.", {"content_type": "profile", "tags": ["x"]})
    file = tmp_path / "profile.md"
    for old, new in (
        ("---\nkeeps", "---\ncssclass: wide\nkeeps"),
        ("entries:", "aliases: [me]\nentries:"),
        ("---\n\n#", "# mine\ntags: [own]\n---\n\n#"),
    ):
        file.write_text(file.read_text().replace(old, new, 1))
    file.write_text(file.read_text().replace("  home:\n", "  home:\n    colour: red\n"))
    await notes.write("work", "Porto.", {"content_type": "profile"})
    text = file.read_text()
    for line in ("cssclass: wide\n", "aliases: [me]\n", "# mine\ntags: [own]\n", "colour: red\n"):
        assert text.count(line) == 1, line
    entry = await provider(tmp_path).read("home")
    assert entry is not None
    assert entry.metadata["tags"] == ["x"]


async def test_flow_front_matter_keeps_its_meaning(tmp_path: Path) -> None:
    (tmp_path / "diary.md").write_text("---\n{tags: [a], aliases: [b]}\n---\n## x\n\ny\n")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["x"]
    await notes.write("z", "more", {"content_type": "diary"})
    text = (tmp_path / "diary.md").read_text()
    assert "tags:" in text
    assert "aliases:" in text
    assert await provider(tmp_path).list_keys() == ["x", "z"]


async def test_byte_order_mark_and_headings_stay(tmp_path: Path) -> None:
    file = tmp_path / "diary.md"
    file.write_text("\ufeff## 50% off\n\nShoes.\n\n## C#\n\nA language.\n\n## Ends ##\n\nx\n", encoding="utf-8")
    notes = provider(tmp_path)
    assert await notes.list_keys() == ["50% off", "C#", "Ends ##"]
    await notes.write("more", "x", {"content_type": "diary"})
    text = file.read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    for heading in ("## 50% off\n", "## C#\n", "## Ends ##\n"):
        assert heading in text
    assert await provider(tmp_path).list_keys() == ["50% off", "C#", "Ends ##", "more"]


@pytest.mark.parametrize("text", ["---\ntags: [a]\n---", "---\n---\n## a\n\nx\n", "---\n\n---\n## a\n\nx\n"])
def test_short_front_matter_is_read(text: str) -> None:
    first = parse(text, "x")
    second = parse(render(first), "x")
    assert (second.sections, second.foreign) == (first.sections, first.foreign)


@pytest.mark.parametrize(
    "body", ['"\\ud800"', '{"a": "\\ud800"}', '"nul\\u0000"', "NaN", "[1e999]", "[" * 200 + "]" * 200]
)
async def test_json_that_cannot_be_stored_is_text(tmp_path: Path, body: str) -> None:
    (tmp_path / "diary.md").write_text(f"## a\n\n```json\n{body}\n```\n")
    notes = provider(tmp_path)
    (match,) = await notes.search("json")
    assert match.entry.value == f"```json\n{body}\n```"
    match.entry.model_dump_json()


@pytest.mark.parametrize(
    "text", ["## %00\n\nx\n", f"## long\n\n{'word ' * 80_000}\n", "---\nkeeps: mine\n---\n## a\n\nx\n"]
)
def test_invalid_entries_are_reported(text: str) -> None:
    with pytest.raises(UnreadableError):
        parse(text, "x")


async def test_file_with_a_foreign_keeps_key_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary.md").write_text("---\nkeeps: mine\n---\n## a\n\nx\n")
    notes = provider(tmp_path)
    with pytest.raises(ConflictError, match="keeps"):
        await notes.write("b", "x", {"content_type": "diary"})


KEYS = st.text("abcé \u2028\u0085:#-?*&'\"[]{}|>%", min_size=1, max_size=6)
VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3))


@given(
    st.dictionaries(KEYS, VALUES, max_size=4), st.lists(st.sampled_from(["# a comment\n", "\n", "#b: c\n"]), max_size=4)
)
def test_foreign_lines_survive_every_write(values: dict[str, Any], comments: list[str]) -> None:
    lines = [yaml.safe_dump({key: value}, allow_unicode=True) for key, value in values.items()]
    front = "".join(line for pair in itertools.zip_longest(lines, comments, fillvalue="") for line in pair)
    first = parse(f"---\n{front}---\n## a\n\nx\n", "diary")
    if values:
        assert first.foreign == front
    text = render(replace(first, revision=3))
    second = parse(text, "diary")
    assert (second.foreign, second.revision, list(second.sections)) == (first.foreign, 3, ["a"])
    assert render(second) == text
