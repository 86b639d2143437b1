"""Normalise the forms in which a text can be written: width, invisible characters, Unicode forms, blanks. Pure."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE_RANGES = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Unicode's Default_Ignorable_Code_Point: soft hyphens, joiners, direction marks, variation selectors."""
INVISIBLE: dict[int, None] = {code: None for first, last in _INVISIBLE_RANGES for code in range(first, last + 1)}
SKIN_TONES = "\U0001f3fb-\U0001f3ff"
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_PICTURES = (
    "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
EMOJI = f"[{_FLAG_LETTERS}]{{2}}|[{_PICTURES}]"
"""Matches one emoji, or one part of a joined emoji, without its skin tone."""
_BLANKS = re.compile(r"[^\S\n]+")
_JOINS = re.compile(f"[\u200d\ufe0e\ufe0f\u20e3{SKIN_TONES}\U000e0020-\U000e007f]")
_LONGEST_CLUSTER = 32


class _Widths(dict[int, int]):
    """Maps each character to its compatibility form if that is one character: Ａ and 𝐀 to A."""

    def __missing__(self, code: int) -> int:
        plain = unicodedata.normalize("NFKC", chr(code))
        self[code] = form = ord(plain) if len(plain) == 1 else code
        return form


_WIDTHS = _Widths()


def plain_width(text: str) -> str:
    """Return a text of the same length, with letters of other widths or styles replaced by plain letters."""
    return text if text.isascii() else text.translate(_WIDTHS)


def known_form(text: str) -> str:
    """Return the form by which a text is recognised: NFC, runs of blanks as one blank, trimmed.

    Case is kept: it may be the only difference between two facts (Polish, polish).
    """
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()


def cut_at(text: str, most: int) -> str:
    """Return at most `most` characters of a text, without splitting a letter from its marks, or an emoji."""
    if len(text) <= most:
        return text
    end = most
    while most - end < _LONGEST_CLUSTER and end > 0 and _goes_on(text, end):
        end -= 1
    return text[: end or most]


def _goes_on(text: str, at: int) -> bool:
    """Return whether the character at an index belongs to the one before it."""
    after, before = text[at], text[at - 1]
    if before == "\u200d" or unicodedata.category(after)[0] == "M" or _JOINS.match(after):
        return True
    if not _is_flag_letter(after):
        return False
    others = (number for number, each in enumerate(reversed(text[:at])) if not _is_flag_letter(each))
    return next(others, at) % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
