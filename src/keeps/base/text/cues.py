"""Search texts for many alternatives that differ in case only, several times faster than `re.IGNORECASE`. Pure.

Python's regular expressions try every alternative at every character where case is ignored. A `Cue` searches a folded
text instead, and tries alternatives that begin at a word boundary only there, by their first letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SAME_LETTERS = {0x0130: "i", 0x0131: "i", 0x017F: "s"}
"""Letters that `re.IGNORECASE` takes for i and s, but `lower` does not."""


def fold(text: str) -> str:
    """Return a text in lower case, of the same length, for `Cue.search`."""
    return (text if text.isascii() else text.translate(_SAME_LETTERS)).lower()


class Cue:
    """A regular expression in lower case, without groups that are read.

    `patterns`: the compiled parts, of which one must occur: alternatives of the start of a text, and all others.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        alternatives = list(split_alternatives(source))
        at_words = [pattern[2:] for pattern in alternatives if pattern.startswith(r"\b")]
        at_start = [pattern[1:] for pattern in alternatives if pattern.startswith("^")]
        others = [pattern for pattern in alternatives if not pattern.startswith((r"\b", "^"))]
        anywhere = ([rf"\b(?:{'|'.join(at_words)})"] if at_words else []) + others
        start = [f"^(?:{'|'.join(at_start)})"] if at_start else []
        self.patterns = [re.compile(pattern) for pattern in (*start, "|".join(anywhere)) if pattern]
        self._attempts = [
            pattern.match if pattern.pattern.startswith("^") else pattern.search for pattern in self.patterns
        ]

    def search(self, folded: str) -> bool:
        """Return whether the pattern occurs in a text from `fold`."""
        for attempt in self._attempts:  # noqa: SIM110  `any` would make a generator for each text
            if attempt(folded) is not None:
                return True
        return False


def split_alternatives(pattern: str) -> Iterator[str]:
    """Yield the alternatives of a regular expression at its top level."""
    depth, begin, place, in_class = 0, 0, 0, False
    while place < len(pattern):
        character = pattern[place]
        if character == "\\":
            place += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "|" and depth == 0:
            yield pattern[begin:place]
            begin = place + 1
        place += 1
    yield pattern[begin:]
