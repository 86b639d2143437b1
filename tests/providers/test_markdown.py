"""Markdown memory: people edit while agents write, and neither loses anything."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.providers.markdown import pipeline
from keeps.memory.providers.markdown.format import Category, Section, category_of, file_of, parse, render
from keeps.memory.providers.markdown.front_matter import UnreadableError
from keeps.memory.providers.markdown.provider import MarkdownProvider
from keeps.store.db.repeats import Request, repeatable
from keeps_client.errors import ConflictError, UnavailableError

MOMENT = datetime(2026, 11, 22, 9, tzinfo=UTC)


@pytest.fixture
async def opened(app_url: str, shared: Any, tmp_path: Path) -> AsyncIterator[tuple[Keeps, Path]]:
    chosen = Settings(home=tmp_path / "home", database_url=app_url, markdown_folder=tmp_path / "notes")
    async with await open_keeps(chosen, embedder=shared) as keeps:
        yield keeps, tmp_path / "notes"


def provider(folder: Path, told: list[Any] | None = None) -> MarkdownProvider:
    async def tell(edits: Any) -> None:
        if told is not None:
            told.extend((edit.kind, edit.key) for edit in edits)

    return MarkdownProvider(folder, utc_now, tell)


async def test_file_is_plain_markdown(opened: Any, tenant: str) -> None:
    keeps, root = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry(
        "markdown",
        "home",
        "Alice lives in Lisbon.",
        metadata={"content_type": "profile", "tags": ["lisbon"], "links": ["move"]},
    )
    text = (root / tenant / "alice" / "profile.md").read_text()
    assert text.startswith("---\nkeeps: 1\ncategory: profile\nrevision: 1\nentries:\n  home:\n    id: ")
    assert text.endswith("---\n\n# profile\n\n## home\n\nAlice lives in Lisbon.\n")
    assert "tags:\n    - lisbon\n    links:\n    - move\n" in text
    (hit,) = (await memory.recall("where does Alice live")).hits
    assert (hit.provider_id, hit.memory.key, hit.memory.content_type) == ("markdown", "home", "profile")


async def test_edits_by_hand_are_recalled_and_become_events(opened: Any, tenant: str) -> None:
    keeps, root = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("markdown", "home", "Alice lives in Leeds.", metadata={"content_type": "profile"})
    file = root / tenant / "alice" / "profile.md"
    file.write_text(file.read_text().replace("Leeds", "Lisbon") + "\n## dog\n\nHer dog is called Rex.\n")
    (root / tenant / "alice" / "event.md").write_text("## trip\n\nA trip to Porto in May.\n")
    assert [hit.memory.content for hit in (await memory.recall("Lisbon")).hits] == ["Alice lives in Lisbon."]
    assert [hit.memory.content for hit in (await memory.recall("dog Rex")).hits] == ["Her dog is called Rex."]
    assert (await memory.read_entry("markdown", "trip")).metadata["content_type"] == "event"
    assert "id:" in (root / tenant / "alice" / "event.md").read_text(), "it has an id by now"
    file.write_text(file.read_text().replace("\n## home\n\nAlice lives in Lisbon.\n", ""))
    assert (await memory.recall("Lisbon")).hits == []
    events = [
        event
        for event in await memory.events(types=["memory.*"], limit=200)
        if event.data.get("key") or event.data.get("redacted")
    ]
    assert [(event.type, event.data.get("key")) for event in events if event.data.get("provider_id") == "markdown"] == [
        ("memory.written", "trip"),
        ("memory.written", "dog"),
        ("memory.deleted", "home"),
    ]
    assert "Leeds" not in str(events), "what is deleted goes from the log, too"


async def test_edits_while_nothing_runs_are_noticed(tmp_path: Path) -> None:
    first = provider(tmp_path / "m")
    await first.write("a", "one", {"content_type": "profile"})
    await first.write("b", "two", {"content_type": "event"})
    event = tmp_path / "m" / "event.md"
    event.write_text(event.read_text().partition("## b")[0])
    file = tmp_path / "m" / "profile.md"
    file.write_text(file.read_text().replace("one", "changed"))
    told: list[Any] = []
    second = provider(tmp_path / "m", told)
    assert await second.list_keys() == ["a"]
    assert sorted(told) == [("deleted", "b"), ("written", "a")]


async def test_saving_stale_buffer_loses_nothing(tmp_path: Path) -> None:
    """They open the file, the agent writes, they save: what they could not have seen stays."""
    told: list[Any] = []
    agent = provider(tmp_path / "m", told)
    for key in ("kept", "edited", "deleted", "both"):
        await agent.write(key, f"{key} at first", {"content_type": "profile"})
    file = tmp_path / "m" / "profile.md"
    buffer = file.read_text()
    await agent.write("new", "written by the agent meanwhile", {"content_type": "profile"})
    await agent.write("kept", "kept, and newer", {"content_type": "profile"})
    await agent.write("both", "both, by the agent", {"content_type": "profile"})
    edited = buffer.replace("edited at first", "edited by hand").replace("both at first", "both, by hand")
    file.write_text(edited.replace("\n## deleted\n\ndeleted at first\n", "") + "\n## mine\n\nadded by hand\n")
    told.clear()
    values = {key: (await agent.read(key)).value for key in await agent.list_keys()}
    assert values == {
        "kept": "kept, and newer",
        "edited": "edited by hand",
        "both": "both, by hand",
        "new": "written by the agent meanwhile",
        "mine": "added by hand",
    }
    assert sorted(told) == [("deleted", "deleted"), ("written", "both"), ("written", "edited"), ("written", "mine")]
    again = provider(tmp_path / "m")
    assert {key: (await again.read(key)).value for key in await again.list_keys()} == values


async def test_an_agent_writes_while_a_person_edits(opened: Any, tenant: str) -> None:
    keeps, root = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("markdown", "start", "begin", metadata={"content_type": "activity"})
    file = root / tenant / "alice" / "activity.md"

    async def agent() -> None:
        for number in range(40):
            await memory.write_entry(
                "markdown", f"agent-{number}", f"agent {number}", metadata={"content_type": "activity"}
            )

    def read() -> str:
        """Open the file again where it is just being replaced, as a person would."""
        while True:
            with suppress(FileNotFoundError):
                return file.read_text()

    async def person() -> None:
        for number in range(10):
            text = await asyncio.to_thread(read)
            await asyncio.sleep(0.02)  # they think, with the file open
            temporary = file.with_name(".edited")
            temporary.write_text(f"{text}\n## person-{number}\n\nperson {number}\n")
            os.replace(temporary, file)
            await asyncio.sleep(0.01)
            await memory.read_entry("markdown", f"person-{number}")

    await asyncio.gather(agent(), person())
    held = await memory.provider("markdown")
    assert set(await held.list_keys()) == {
        "start",
        *(f"agent-{number}" for number in range(40)),
        *(f"person-{number}" for number in range(10)),
    }
    assert (await memory.recall("person 7", limit=1)).hits[0].memory.content == "person 7"


async def test_two_processes_write_one_folder(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from keeps.base.clock import utc_now
from keeps.store.db.repeats import Request, repeatable
from keeps.memory.providers.markdown.provider import MarkdownProvider
async def told(edits): ...
async def main():
    held = MarkdownProvider(Path(sys.argv[1]), utc_now, told)
    for number in range(25):
        await held.write(f"{sys.argv[2]}-{number}", number, {"content_type": "event"})
asyncio.run(main())
"""
    folder = str(tmp_path / "m")
    running = [subprocess.Popen([sys.executable, "-c", script, folder, name]) for name in ("one", "two", "three")]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(await provider(tmp_path / "m").list_keys()) == 75


@pytest.mark.parametrize(
    "broken",
    [
        b"---\nkeeps: [1\n---\n## a\n\nx\n",
        b"---\nno end\n## a\n\nx\n",
        b"\xff\xfe not utf-8",
        b"## a\n\nx\n\n## a\n\ny\n",
        b"## \n\nnameless\n",
        b"## a\n\x00\n",
        b"---\n- a list\n---\n",
        b"---\nentries: {a: {created: [1]}}\n---\n## a\n\nx\n",
    ],
)
async def test_unreadable_file_is_reported_and_untouched(tmp_path: Path, broken: bytes) -> None:
    held = provider(tmp_path / "m")
    await held.write("whole", "fine", {"content_type": "event"})
    file = tmp_path / "m" / "profile.md"
    file.write_bytes(broken)
    assert await held.list_keys() == ["whole"]
    assert list(await held.problems()) == ["profile.md"]
    with pytest.raises(ConflictError, match=r"profile\.md|profile"):
        await held.write("x", "y", {"content_type": "profile"})
    assert file.read_bytes() == broken
    file.write_text("## mended\n\nfine, too\n")
    assert await held.list_keys() == ["mended", "whole"]
    assert await held.problems() == {}


async def test_broken_file_deletes_no_entries(tmp_path: Path) -> None:
    told: list[Any] = []
    held = provider(tmp_path / "m", told)
    await held.write("a", "one", {"content_type": "profile"})
    file = tmp_path / "m" / "profile.md"
    whole = file.read_text()
    told.clear()
    file.write_text(whole[: len(whole) // 3])
    assert await held.list_keys() == ["a"], "what it held last is still known"
    assert told == [], "a half-written file says nothing"
    file.write_text(whole)
    assert (await held.list_keys(), told) == (["a"], [])
    file.rename(tmp_path / "away")
    assert (await held.read("a")).value == "one", "nor does one that is away, as in a git stash"
    assert "missing" in (await held.problems())["profile.md"]
    (tmp_path / "away").rename(file)
    assert (await held.list_keys(), await held.problems(), told) == (["a"], {}, [])
    file.unlink()
    await held.write("b", "two", {"content_type": "profile"})
    assert (await held.list_keys(), told) == (["a", "b"], [("written", "b")])
    file.write_text("# profile\n")
    assert await held.list_keys() == ["a", "b"], "without front matter nobody knows what they had seen"
    file.write_text(file.read_text().partition("## a")[0])
    assert await held.list_keys() == []


async def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("## password\n\nswordfish\n")
    held = provider(tmp_path / "m")
    await held.write("a", "one", {"content_type": "profile"})
    (tmp_path / "m" / "linked.md").symlink_to(secret)
    os.mkfifo(tmp_path / "m" / "pipe.md")
    (tmp_path / "m" / "folder.md").mkdir()
    assert await held.list_keys() == ["a"]
    assert await held.search("swordfish") == []
    assert set(await held.problems()) == {"linked.md", "pipe.md", "folder.md"}
    with pytest.raises(ConflictError):
        await held.write("b", "two", {"content_type": "linked"})
    assert secret.read_text() == "## password\n\nswordfish\n"
    (tmp_path / "m" / "event.md").symlink_to(tmp_path / "made-by-link.md")
    with pytest.raises(ConflictError):
        await held.write("b", "two", {"content_type": "event"})
    assert not (tmp_path / "made-by-link.md").exists()


@pytest.mark.parametrize("category", ["../../etc/passwd", "..", "a/b", "A", "CON", "x:y", ".hidden", "profile"])
async def test_no_category_leads_out_of_the_folder(tmp_path: Path, category: str) -> None:
    held = provider(tmp_path / "m")
    await held.write("a", "one", {"content_type": category})
    files = [path.relative_to(tmp_path).parts for path in tmp_path.rglob("*.md")]
    assert [(len(parts), parts[0]) for parts in files] == [(2, "m")]
    assert category_of(file_of(category)) == category
    assert (await held.read("a")).metadata["content_type"] == category


def test_names_of_tenants_and_users_are_no_paths(tmp_path: Path) -> None:
    from keeps.memory.providers.markdown.folders import MarkdownFolders

    folders = MarkdownFolders(tmp_path, None, None, utc_now)  # type: ignore[arg-type]
    places = [
        folders.path(Scope(tenant, user))
        for tenant, user in (("..", "a"), ("a", ".."), ("a/../b", "c"), ("a", "/etc"), (".", "."), ("a", "b"))
    ]
    for place in places:
        assert len(place.relative_to(tmp_path).parts) == 2
        assert place.resolve().is_relative_to(tmp_path)
    assert len(set(places)) == len(places)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=200)


@given(st.dictionaries(TEXT.filter(lambda key: key.strip() != ""), TEXT | JSON, max_size=5), st.booleans())
def test_entries_round_trip(values: dict[str, Any], windows: bool) -> None:
    sections = {
        key: Section(key, value, "id", MOMENT, MOMENT, ("tag",), ("other",), {"x": 1})
        for key, value in values.items()
        if "\x00" not in repr(value)
    }
    sections = {key: each for key, each in sections.items() if "\\x00" not in repr(each.value)}
    category = Category("profile", 3, sections, "# profile")
    text = render(category)
    assert parse(text, "profile") == category
    if windows and not any("\n" in str(each.value) or "\r" in str(each.value) for each in sections.values()):
        assert parse(text.replace("\n", "\r\n"), "profile").sections.keys() == sections.keys()


FRONT = (
    "---|revision: |entries:|  a:|    created: |    tags: [a, |    metadata: {|## a|!!timestamp |!!binary |!!int |"
    '!!set | !|2024-99-99|12:30:45|.nan|]|}|: |&a |*a|<<: |? |"|x'
).split("|")


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(FRONT) | st.just("\n"), max_size=30).map(lambda parts: f"---\n{''.join(parts)}\n---\n")
)
@example("---\nrevision: !!timestamp soon\n---\n")
@example("---\nrevision: !!int ''\n---\n")
def test_no_file_breaks_the_reader(text: str) -> None:
    try:
        found = parse(text, "x")
    except UnreadableError:
        return
    assert parse(render(found), "x").sections.keys() == found.sections.keys()


@pytest.mark.parametrize("inner", ["&a0 [x, x, x, x, x, x, x, x, x]", "&a0 {x: *a0}", "&a0 [*a0]"])
def test_yaml_alias_bombs_are_refused(inner: str) -> None:
    """Nine aliases of nine aliases, twenty deep, are a billion of billions; one of itself never ends."""
    levels = "".join(f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20))
    front = f"entries:\n  k:\n    metadata:\n    a0: {inner}\n{levels}    tags: *a19\n"
    with pytest.raises(UnreadableError, match="refers to itself"):
        parse(f"---\n{front}---\n## k\n\nx\n", "x")
    twice = "---\nentries:\n  k:\n    tags: &a [b, c]\n    links: *a\n---\n## k\n\nx\n"
    assert parse(twice, "x").sections["k"].links == ("b", "c"), "what somebody wrote by hand may name itself"


async def test_the_pipeline_extracts_links_suggests_and_clusters(opened: Any, tenant: str) -> None:
    keeps, root = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    held: Any = await memory.provider("markdown")
    made = await held.append(
        "My name is Alice and I live in Lisbon. Yesterday I met Maria Santos in Porto. Water the plants!"
    )
    assert [(each.metadata["content_type"], each.value) for each in made] == [
        ("profile", "My name is Alice and I live in Lisbon."),
        ("event", "Yesterday I met Maria Santos in Porto."),
        ("activity", "Water the plants!"),
    ]
    more = await held.append("Maria Santos lives in Porto.\nYesterday I met Maria Santos in Porto.")
    assert more[0].metadata["links"] == [made[1].key]
    assert "maria-santos" in more[0].metadata["tags"]
    (suggestion,) = [each for each in await held.suggestions() if each.similarity > 0.99]
    assert set(suggestion.same) == {made[1].key, more[1].key}
    assert {path.name for path in (root / tenant / "alice").glob("*.md")} == {"profile.md", "event.md", "activity.md"}


def test_folder_of_earlier_version_is_renamed(tmp_path: Path) -> None:
    from keeps.memory.providers.markdown.folders import MarkdownFolders

    folders = MarkdownFolders(tmp_path, None, None, utc_now)  # type: ignore[arg-type]
    (tmp_path / "Acme" / "Alice").mkdir(parents=True)
    (tmp_path / "Acme" / "Alice" / "profile.md").write_text("hers")
    hers = folders.path(Scope("Acme", "Alice"))
    assert (hers / "profile.md").read_text() == "hers"
    assert hers.name != "Alice"
    assert not folders.path(Scope("Acme", "alice")).exists()
    thief = folders.path(Scope("Acme", hers.name))
    assert thief != hers
    assert not thief.exists()
    assert hers.exists()


def test_rules_sort_statements() -> None:
    assert pipeline.extract("I am allergic to peanuts. We moved in 2020! ok") == [
        ("profile", "I am allergic to peanuts."),
        ("event", "We moved in 2020!"),
        ("activity", "ok"),
    ]
    assert pipeline.extract("") == []
    assert pipeline.key_for("Water the plants!", {"water-plants": 1}, {}) == "water-plants-2"
    assert pipeline.key_for("🙂", {}, {}) == "note"


@pytest.mark.parametrize("how", ["full", "denied"])
async def test_a_disk_that_takes_nothing_changes_nothing(tmp_path: Path, monkeypatch: Any, how: str) -> None:
    held = provider(tmp_path / "m")
    await held.write("a", "one", {"content_type": "profile"})
    before = (tmp_path / "m" / "profile.md").read_bytes()

    def failing(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link" if how == "full" else "fsync", failing)
    with pytest.raises(UnavailableError, match="nothing was changed"):
        await held.write("b", "two", {"content_type": "profile"})
    monkeypatch.undo()
    assert await held.list_keys() == ["a"]
    assert (tmp_path / "m" / "profile.md").read_bytes() == before
    assert not list((tmp_path / "m").glob(".*.tmp"))


async def test_resent_text_is_added_once(opened: Any, tenant: str) -> None:
    keeps, _ = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    text = "My name is Ada. I moved to Turin yesterday. The kettle is on."

    async def send() -> list[Any]:
        with repeatable(Request("once", b"the same")):
            return await memory.append_markdown(text)

    first, same = await asyncio.gather(send(), send())
    assert [each.value for each in first] == [each.value for each in same] == text.replace(". ", ".|").split("|")
    await memory.delete_entry("markdown", first[1].key)
    assert [each.key for each in await send()] == [first[0].key, first[2].key], "what was deleted came back"
    markdown = await memory.provider("markdown")
    assert await markdown.list_keys() == sorted([first[0].key, first[2].key])
    assert len(await memory.append_markdown(text)) == 3, "another request says it again"


async def test_interrupted_text_resumes_on_resend(tmp_path: Path) -> None:
    told: list[Any] = []
    away = True

    async def tell(edits: Any) -> None:
        if away:
            raise UnavailableError("the log is away")
        told.extend((edit.kind, edit.key) for edit in edits)

    held = MarkdownProvider(tmp_path, utc_now, tell)
    request = uuid4()
    with pytest.raises(UnavailableError):
        await held.append("My name is Ada. I moved to Turin yesterday.", request)
    away = False
    made = await held.append("My name is Ada. I moved to Turin yesterday.", request)
    assert [each.value for each in made] == ["My name is Ada.", "I moved to Turin yesterday."]
    assert await held.list_keys() == sorted(each.key for each in made)
    assert sorted(told) == sorted(("written", each.key) for each in made)
