"""The environment of the templates, and their formatting. All content of a memory is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from keeps import __version__
from keeps.base.scope import DEFAULT_TENANT_ID
from keeps.store.access.roles import allows
from keeps_client.models import RoleName

MOST_COMPARED = 22_500
"""Maximum pairs of words in a comparison: 150 by 150 take 15 milliseconds at worst."""
LONGEST_PIECE = 2_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the menu. `role`: the role that sees it."""

    path: str
    name: str
    role: RoleName = "reader"


MENU = (
    Entry("/ui/", "Search"),
    Entry("/ui/insights", "Overview"),
    Entry("/ui/requests", "Requests"),
    Entry("/ui/memories", "Memories"),
    Entry("/ui/inbox", "Inbox"),
    Entry("/ui/spaces", "Spaces"),
    Entry("/ui/conversations", "Conversations"),
    Entry("/ui/transcripts", "Transcripts"),
    Entry("/ui/context", "Context"),
    Entry("/ui/playground", "Playground"),
    Entry("/ui/graph", "Graph"),
    Entry("/ui/time", "Time"),
    Entry("/ui/events", "Events"),
    Entry("/ui/workspace", "Workspace"),
    Entry("/ui/items", "Items"),
    Entry("/ui/operations", "Operations"),
    Entry("/ui/knowledge", "Knowledge"),
    Entry("/ui/costs", "Costs", "admin"),
    Entry("/ui/admin", "Admin", "admin"),
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a stacked bar or of a text: its start, length and name."""

    name: str
    start: float
    size: float
    points: float = 0.0


def stacked(parts: Iterable[tuple[str, float]], whole: float) -> list[Stretch]:
    """Return parts side by side in a bar of 100, where `whole` fills it. Parts that are not positive are left out."""
    stretches: list[Stretch] = []
    start = 0.0
    for name, points in parts:
        size = max(0.0, 100 * points / whole) if whole > 0 else 0.0
        if size > 0.05:
            stretches.append(Stretch(name, round(start, 2), round(size, 2), points))
        start += size
    return stretches


def word_diff(before: str, after: str) -> list[tuple[str, str]]:
    """Return the changes of a text, as ("same" | "gone" | "new", words).

    If much has changed, the whole text counts as changed, since comparing takes time by the cube of the words. Long
    pieces are shortened.
    """
    old, new = before.split(" "), after.split(" ")
    begin = 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    middle = old[begin : len(old) - end], new[begin : len(new) - end]
    pieces = [("same", old[:begin])]
    if len(middle[0]) * len(middle[1]) > MOST_COMPARED:
        pieces += [("gone", middle[0]), ("new", middle[1])]
    else:
        for kind, first, last, start, stop in SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
            if kind == "equal":
                pieces.append(("same", middle[0][first:last]))
            else:
                pieces += [("gone", middle[0][first:last]), ("new", middle[1][start:stop])]
    pieces.append(("same", old[len(old) - end :]))
    return [(kind, _middle_out(" ".join(words))) for kind, words in pieces if words]


def _middle_out(text: str) -> str:
    return text if len(text) <= LONGEST_PIECE else f"{text[: LONGEST_PIECE // 2]} … {text[-LONGEST_PIECE // 2 :]}"


def curve(values: Sequence[float], *, width: int = 600, height: int = 120, top: float | None = None) -> str:
    """Return the points of an SVG polyline, from left to right; `top`: the value at the upper edge."""
    most = top if top is not None else max(values, default=0.0) or 1.0
    step = width / max(1, len(values) - 1)
    return " ".join(f"{place * step:.1f},{height - height * value / most:.1f}" for place, value in enumerate(values))


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart in SVG units, from its upper left corner. `name`: what it stands for, with its value."""

    name: str
    x: float
    y: float
    width: float
    height: float


def bars(values: Sequence[tuple[str, int]], *, width: int = 600, height: int = 120) -> list[Bar]:
    """Return a chart of named values, from left to right; the highest one reaches the upper edge."""
    most = max([1, *(value for _, value in values)])
    step = width / max(8, len(values))
    return [
        Bar(
            f"{name}: {value:,}",
            round(place * step + 0.1 * step, 1),
            round(height - height * value / most, 1),
            round(0.8 * step, 1),
            round(height * value / most, 1),
        )
        for place, (name, value) in enumerate(values)
    ]


def moment(time: datetime | str | None) -> str:
    if time is None:
        return ""
    read = datetime.fromisoformat(time) if isinstance(time, str) else time
    return read.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def readable(value: object, most: int) -> str:
    """Return JSON with line breaks; of a value with more than `most` characters only the beginning, in one line.

    Line breaks take 50 times as long, so only short values have them.
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _json(value) if len(text) <= most else text[:most] + "…"


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def quoted(part: object) -> str:
    """Quote one part of a path, including slashes and parts of dots, which browsers would resolve."""
    text = quote(str(part), safe="")
    return text.replace(".", "%2E") if not text.strip(".") else text


def _tenant(tenant_id: str) -> str:
    return "the default tenant" if tenant_id == DEFAULT_TENANT_ID else tenant_id


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=PackageLoader("keeps.doors.console"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.filters |= {"moment": moment, "pretty": _json, "short": _short, "tenant": _tenant, "part": quoted}
    jinja.globals["version"] = __version__  # pyright: ignore[reportArgumentType]
    return jinja


def rendered(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(values)


def menu_for(roles: frozenset[str]) -> list[Entry]:
    return [each for each in MENU if allows(roles, each.role)]
