"""Standard output and standard error of commands."""

from __future__ import annotations

import unicodedata
from typing import Any

from rich.console import Console
from rich.text import Text


class PlainConsole(Console):
    """A console that shows control characters, so that stored text cannot move the cursor or change colours."""

    def render_str(self, text: str, **named: Any) -> Text:
        return super().render_str(_shown(text), **named)


def _shown(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        (
            each
            if each.isprintable() or each in "\n\t"
            else "\ufffd"
            if unicodedata.category(each) in ("Cc", "Cf", "Co") and each != "\u200d"
            else each
        )
        for each in text
    )


# The terminal breaks lines, so that a command in a message can be copied, and a program that reads it gets one line.
out = PlainConsole(highlight=False, emoji=False, soft_wrap=True)
err = PlainConsole(stderr=True, highlight=False, emoji=False, soft_wrap=True)
