"""Questions and times as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import typer

from keeps.doors.cli import parsers
from keeps.doors.cli.parsers import check_message, check_question, time_of

NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
TODAY = datetime(2026, 11, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("now", NOW),
        ("today", TODAY),
        (" Yesterday ", TODAY - timedelta(days=1)),
        ("3d", NOW - timedelta(days=3)),
        ("2 W", NOW - timedelta(weeks=2)),
        ("36h", NOW - timedelta(hours=36)),
        ("2026-11-27", datetime(2026, 11, 27, tzinfo=UTC)),
        ("2026-11-27T09:30", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27 09:30:05Z", datetime(2026, 11, 27, 9, 30, 5, tzinfo=UTC)),
        ("2026-11-27T09:30+02:00", datetime(2026, 11, 27, 7, 30, tzinfo=UTC)),
    ],
)
def test_time_is_read(monkeypatch: pytest.MonkeyPatch, text: str, time: datetime) -> None:
    monkeypatch.setattr(parsers, "utc_now", lambda: NOW)
    assert time_of(text) == time


@pytest.mark.parametrize("text", ["last Tuesday", "", "3x", "999999w", "0001-01-01T00:00+10:00", "2026-13-01", "d"])
def test_unknown_time_names_the_forms(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="write 2026-11-27, 2026-11-27T09:30, today, yesterday"):
        time_of(text)


@pytest.mark.parametrize("question", ["", "   ", "?", " … !", "\u200b", "\t\n", "?!?", "。"])
def test_question_of_no_words_is_refused(question: str) -> None:
    with pytest.raises(typer.BadParameter, match="question is empty"):
        check_question(question)


@pytest.mark.parametrize("question", ["tea?", "茶", "42", "€", "\U0001f375", "ж"])
def test_short_question_is_asked(question: str) -> None:
    assert check_question(question) == question


def test_blank_message_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="message is empty"):
        check_message(" \n")
    assert check_message("?") == "?"
