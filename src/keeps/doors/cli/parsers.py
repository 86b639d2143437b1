"""Questions and times as people type them."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from keeps.base.clock import utc_now

AGO = re.compile(r"(\d{1,5})\s*([hdw])")
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
FORMS = "2026-11-27, 2026-11-27T09:30, today, yesterday, or 3d and 2w for three days and two weeks ago"


def check_question(question: str) -> str:
    """Return a question that has at least one letter, digit or symbol. Raises BadParameter."""
    if all(unicodedata.category(character)[0] in "PZC" for character in question):
        raise typer.BadParameter("the question is empty: write a question or words, such as 'what does Alice eat?'")
    return question


def check_message(message: str) -> str:
    """Return a message that is not blank. Raises BadParameter."""
    if not message.strip():
        raise typer.BadParameter("the message is empty: write a text")
    return message


def time_of(text: str) -> datetime:
    """Return the time that a text names, in UTC. Raises BadParameter."""
    word, now = text.strip().lower(), utc_now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in ("now", "today", "yesterday"):
        return {"now": now, "today": today, "yesterday": today - timedelta(days=1)}[word]
    try:
        if ago := AGO.fullmatch(word):
            return now - int(ago[1]) * UNITS[ago[2]]
        time = datetime.fromisoformat(text.strip())
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text[:60]!r} is not a time; write {FORMS}") from None


def space_ids_of(text: str) -> list[str]:
    """Return ids of spaces that have commas between them; none for an empty text."""
    return [each.strip() for each in text.split(",") if each.strip()]


Spaces = Annotated[
    Any,
    typer.Option(
        "--spaces",
        help="Only these of your spaces, with commas between them, beside your own and shared memories; '' for none."
        " Default: all.",
        parser=space_ids_of,
        metavar="A,B",
    ),
]


def time_option(about: str, *names: str) -> Any:
    """Return an option that takes a time."""
    text = f"{about} In UTC, such as 2026-11-27, yesterday, or 3d for three days ago."
    return typer.Option(*names, help=text, parser=time_of, metavar="TIME")
