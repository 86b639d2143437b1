"""What the pages point at is there: links, paths named in passing, every decision in its index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for folder, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("client", "*.md"))
    for path in (ROOT / folder).glob(pattern)
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:src/keeps|client/src|tests|tools|docs|benchmarks|examples|deploy)/[\w./-]*\w/?)(?:::\w+)?`")
HISTORY = {"CHANGELOG.md"}
"""Tells of files that have moved since."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_at_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [target for target in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in links if not (page.parent / target).exists()] == []
    if page.name not in HISTORY and page.parent.name != "adr":
        assert [path for path in NAMED.findall(text) if not (ROOT / path).exists()] == []


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    listed = LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("[0-9]*.md"))
