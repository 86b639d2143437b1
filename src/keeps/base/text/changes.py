"""Detect words by which a statement may change an older one. Pure."""

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
_OF_MYSELF = re.compile(r"^\W*(?:i['’]m|i am|ich bin|soy|estoy|je suis)\b", re.IGNORECASE)
_MYSELF = re.compile(r"\b(?:i|i['’]\w{1,2}|me|ich|mich|mir|yo|je|moi)\b", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r"^\W*(?:(?:the|my|our|your|his|her|their|der|die|das|mein\w{0,2}|unser\w{0,2}|el|la|mi|nuestr[oa]|le|mon|ma|notre)"
    r" \w+|he|she|it|they|er|sie|él|ella|il|elle|[^\W\d_]\w+)"
    r" (?:(?:also|now|auch|jetzt|también|ahora|aussi) )?(?:is|was|isn['’]t|wasn['’]t|are|aren['’]t|has|hasn['’]t|does"
    r"|doesn['’]t|ist|war|hat|es|ya no|no es|está|n['’]est|est)\b",
    re.IGNORECASE,
)


def is_of_another(older: str, newer: str) -> bool:
    """Return whether `newer` is about another subject than the speaker of `older`, so it changes nothing about them."""
    return bool(_OF_MYSELF.search(older) and _OF_ANOTHER.search(newer) and not _MYSELF.search(newer))


def may_change_something(text: str) -> bool:
    """Return whether a text contains a word that may announce a change. Many other texts contain one, too."""
    return _CHANGE.search(text) is not None
