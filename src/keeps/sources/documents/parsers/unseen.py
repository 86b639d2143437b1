"""Invisible characters: those required by a script stay, those that can carry hidden text are removed."""

from __future__ import annotations

import re

_UNSEEN = str.maketrans("", "", "\u00ad\u2060\u2061\u2062\u2063\u2064\u202c\u202d\u202e")
"""Soft hyphens and joiners inside words, invisible operators, and marks that end turned text."""
_BREAKS = re.compile("(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b|(?<=\\w)\ufeff(?=\\w)")
"""Zero-width characters inside words, except in scripts that use them to separate words."""
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_VARIANTS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_FILLERS = "\u17b4\u17b5\u206a-\u206f\u3164\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
"""Blank letters, annotation marks and musical marks."""
_RUN = f"{_VARIANTS}{_FILLERS}\u00ad\u034f\u061c\u115f\u1160\u200b-\u200f\u202a-\u202d\u2060-\u2069\ufeff"
_SMUGGLED = re.compile(
    f"({_FLAG})"
    "|[\U000e0000-\U000e007f]+"  # tags
    f"|(?<=[{_VARIANTS}])[{_VARIANTS}]+"
    f"|[{_RUN}]{{3,}}"  # A longer run than any script needs.
    f"|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]+"  # Only ideographs have this many variants.
    "|(?<=[A-Za-z .,;:!?])[\ufe00-\ufe0f]+"
    "|(?<=[!-~])[\u200c\u200d](?=[!-~])"
    "|\u115f(?![\u1161-\u11a7])|(?<![\u1100-\u115f])\u1160"
    f"|[{_FILLERS}]"
)
_TURNED = re.compile("\u202e([^\u202c\n]*)")


def without_unseen(text: str) -> tuple[str, int]:
    """Return a text as displayed, and the number of its characters that can carry hidden text.

    Text turned by a direction mark is returned in display order.
    """
    if text.isascii():
        return text, 0
    shown = _SMUGGLED.sub(lambda match: match[1] or "", text)
    hidden = len(text) - len(shown)
    shown = _TURNED.sub(lambda match: match[1][::-1], shown)
    return _BREAKS.sub("", shown.translate(_UNSEEN)), hidden
