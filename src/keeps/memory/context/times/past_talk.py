"""References to an earlier conversation that do not say when it was."""

from __future__ import annotations

import re

_LAST_TIME = re.compile(
    r"\b(?:(?:our|the|my) (?:last|previous|earlier|most recent)"
    r" (?:conversation|chat|talk|session|discussion|call|meeting)|last time(?: we|"
    r" i)?|(?:talk(?:ing|ed)?|discuss(?:ed|ing)?|said|told"
    r"|mentioned|speaking|spoke)(?: about)?(?: it| that)? (?:before|earlier|previously)|letzten?"
    r" (?:gespräch|mal|unterhaltung|sitzung)|beim letzten mal"
    r"|(?:nuestra )?última (?:conversación|charla|vez|sesión)|(?:notre )?dernière"
    r" (?:conversation|discussion|fois|session))\b"
)


def speaks_of_last_time(text: str) -> bool:
    """Return whether a message refers to an earlier conversation without saying when it was."""
    return _LAST_TIME.search(text.lower()) is not None
