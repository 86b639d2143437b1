"""Read what a text from outside states about the user, in the third person, in the form of their own facts. Pure."""

from __future__ import annotations

import re

from keeps.memory.conversations.rules import read_facts

MOST_CHARACTERS = 5_000
MOST_CLAIMS = 10
_OWNED = re.compile(r"\b(?:the |this )?(?:user|customer|owner|human)['’]s\b", re.IGNORECASE)
_DOES = re.compile(
    r"\b(?:the |this )?(?:user|customer|owner|human) (?P<adverb>(?:now|currently|recently|just) )?"
    r"(?P<verb>is|isn['’]t|has|lives|works|moved|resides|joined|prefers|reports|quit|stopped|relocated|does|doesn['’]t)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = {
    "is": "am",
    "isn't": "am not",
    "has": "have",
    "lives": "live",
    "works": "work",
    "resides": "reside",
    "prefers": "prefer",
    "reports": "report",
    "does": "do",
    "doesn't": "don't",
}


def claims_of(text: str) -> list[tuple[str, str, bool]]:
    """Return the key and value of each fact that a text states about the user, and whether it says that it ended."""
    beginning = text[:MOST_CHARACTERS]
    rewritten = _DOES.sub(_as_first_person, _OWNED.sub("my", beginning))
    if rewritten == beginning:
        return []
    return [
        (key, fact.value, fact.ended)
        for fact in read_facts(rewritten[:1].upper() + rewritten[1:], MOST_CLAIMS)
        for key in dict.fromkeys((fact.key, fact.key.rsplit("/", 1)[0] if fact.keyed_by_value else fact.key))
    ]


def _as_first_person(match: re.Match[str]) -> str:
    verb = match["verb"].lower().replace("’", "'")
    return f"I {match['adverb'] or ''}{_FIRST_PERSON.get(verb, verb)}"
