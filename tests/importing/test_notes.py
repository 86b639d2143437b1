"""Markdown that people wrote: headings and fences as CommonMark reads them, and the front matter."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.engine import LocalMemory
from keeps.sources.importing.notes import records
from keeps.sources.importing.records import Record, Source
from keeps.sources.importing.service import run_import
from keeps_client.models import NewMemory


def read(text: str) -> list[Record]:
    return list(records(Source("a.md", "/x/a.md", lambda: BytesIO(text.encode()))))


def contents(text: str) -> list[str]:
    return [each.memory["content"] for each in read(text) if each.memory is not None]


CODE = {
    "backticks": "```\n# no heading\n```",
    "tildes": "~~~\n# no heading\n~~~",
    "a language": "```sh\n# no heading\n```",
    "an info string": "``` {.sh #id}\n# no heading\n```",
    "backticks in tildes": "~~~\n```\n# no heading\n~~~",
    "three in four": "````\n```\n# no heading\n```\n````",
    "a longer end": "```\n# no heading\n`````",
    "an indented fence": "   ```\n# no heading\n   ```",
    "an end with text is none": "```\n# no heading\n``` x\n# no heading\n```",
    "indented code": "text\n\n    # no heading",
    "html": "<pre>\n# no heading\n</pre>",
    "a comment": "<!--\n# no heading\n-->",
    "a list": "- item\n\n  # no heading\n\n  more",
    "a quote": "> # no heading\n> more",
    "a fence in a list": "- item\n\n  ```\n  # no heading\n  ```",
    "no space": "#no heading",
    "seven": "####### no heading",
    "escaped": "\\# no heading",
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
def test_only_headings_are_headings(code: str) -> None:
    assert contents(f"# One\n\n{code}\n\n## Two\n\nend\n") == [f"One\n{code}", "One › Two\nend"]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# T", "T"),
        ("# T ##", "T"),
        ("   ## T", "T"),
        ("T\n===", "T"),
        ("T\n---", "T"),
        ("#\tT", "T"),
        ("# C#", "C#"),
        ("# `x` *y*", "`x` *y*"),
    ],
)
def test_every_kind_of_heading_is_one(heading: str, title: str) -> None:
    assert contents(f"{heading}\n\ntext") == [f"{title}\ntext"]


def test_a_heading_leads_to_those_below_it() -> None:
    text = "### Deep\na\n## Up\nb\n#### Down\nc\n# Top\nd\n"
    assert contents(text) == ["Deep\na", "Up\nb", "Up › Down\nc", "Top\nd"]


def test_a_fence_without_end_goes_to_the_end() -> None:
    assert contents("# A\n```\n# no heading\n") == ["A\n```\n# no heading"]


FRONT = """---
title: Trip
tags: [travel, "machine learning", '#food', Gemüse, 日本語]
date: 2024-05-01
author: Ann
aliases:
  - Journey
---
Intro.

# Day one
Porto.
"""


def test_front_matter_becomes_tags_date_and_metadata() -> None:
    first, second = read(FRONT)
    for record in (first, second):
        assert record.memory["tags"] == ["travel", "machine learning", "food", "Gemüse", "日本語"]
        assert record.memory["valid_from"] == datetime(2024, 5, 1, tzinfo=UTC)
        assert record.memory["metadata"]["author"] == "Ann"
        assert record.memory["metadata"]["date"] == "2024-05-01"
        assert record.memory["metadata"]["aliases"] == ["Journey"]
        assert "---" not in record.memory["content"]
    assert (first.memory["content"], second.memory["content"]) == ("Trip\nIntro.", "Trip › Day one\nPorto.")


async def test_front_matter_can_be_stored(memory: LocalMemory) -> None:
    assert (await run_import(memory, read(FRONT))).statuses == {"created": 2}
    assert [each.content for each in (await memory.list(filters={"tags": {"contains": "machine learning"}})).items]


@pytest.mark.parametrize(("tags", "expected"), [("a, b c", ["a", "b c"]), ("a #b", ["a", "b"]), ("x", ["x"]), ("", [])])
def test_tags_may_be_written_in_a_line(tags: str, expected: list[str]) -> None:
    (record,) = read(f"---\ntags: '{tags}'\n---\ntext")
    assert record.memory.get("tags", []) == expected


@pytest.mark.parametrize(
    "text",
    [
        "---\n\ntext",
        "---\ntext\n---\nmore",
        "--- \n- a\n---\nmore",
        "text\n\n---\na: x\n---\nmore",
        "----\na: b\n---\nx",
    ],
)
def test_a_rule_is_no_front_matter(text: str) -> None:
    told = " ".join(contents(text))
    assert all(word in told for word in ("text", "more", "a", "x") if word in text)


REPEATS = "a: &a [1, 2, 3]\nb: &b [*a, *a, *a]\n" + "\n".join(
    f"{n}: [*b, *b, *b, *b, *b, *b, *b, *b]" for n in range(300)
)


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("a: [", "YAML"),
        ("a: b: c", "YAML"),
        ("d: 2024-02-30", "YAML"),
        (REPEATS, "refers to itself"),
    ],
)
def test_bad_front_matter_is_named_and_the_text_is_stored(front: str, reason: str) -> None:
    bad, good = read(f"---\n{front}\n---\ntext")
    assert reason in str(bad.problem)
    assert good.memory["content"] == "text"


def test_a_date_that_is_none_is_noted() -> None:
    (record,) = read("---\ndate: soon\n---\ntext")
    assert "soon" in str(record.note)


@given(st.text(st.sampled_from("#`~-=> \n\ta<1.*:[&"), max_size=80))
def test_any_markdown_keeps_its_words(text: str) -> None:
    found = read(text)
    kept = "".join(str(each.memory["content"]) for each in found if each.memory is not None)
    if not any(each.problem for each in found) and not text.startswith("---"):
        assert kept.count("a") >= text.count("a") or "=" in text or "#" in text or "-" in text
    for each in found:
        assert each.memory is None or NewMemory.model_validate(each.memory)
