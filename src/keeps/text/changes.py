"""Words that a statement may have when it changes an older one. Pure."""

from __future__ import annotations

import re

_CHANGE = re.compile(
    r"\b(?:now|new(?:ly)?|actually|instead|no longer|any ?more|since|switch\w{1,3}|mov(?:ed|ing)|chang(?:ed|ing)|got"
    r"|upped|lowered|rais(?:ed|ing)|cut|made me|start(?:ed|ing|s)|finally|correction|update|turns out|after all|in the"
    r" end|gave up|quit|left|sold|stolen|lost|broke|cancel\w{2,5}|postponed|delayed|not|never|\w{1,12}n['’]t"
    r"|jetzt|neu\w{0,2}|seit|nicht|kein\w{0,2}|doch|korrektur|statt\w{0,4}|umgezogen|inzwischen|mittlerweile|abgesagt"
    r"|verschoben|ahora|nuev[oa]s?|ya no|desde|en realidad|al final|cambi\w{1,5}|maintenant|nouve\w{1,5}|depuis|ne"
    r"|n['’]|finalement|plutôt|plus|annul\w{1,4})\b",
    re.IGNORECASE,
)


def may_change_something(text: str) -> bool:
    """Return whether a text has a word that tells of a change. Many others have one, too."""
    return _CHANGE.search(text) is not None
