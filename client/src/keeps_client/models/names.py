"""Names of kinds, namespaces and tags: which characters they may contain."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from keeps_client.models.common import NAME_PATTERN, Text
from keeps_client.zones import zone_of

Trust = Literal["user", "agent", "shared", "document", "tool"]
"""Levels of trust, the highest first: the user's own words, their agents', other users', a document, a tool."""
HeldFor = Literal["instructions", "hidden_text", "flood", "contradiction", "trusted_source"]
"""Reasons for which a memory waits in the inbox. `trusted_source`: a source whose memories do not wait."""
MAX_NAME_CHARACTERS = 100
MAX_SPACE_CHARACTERS = 64
SPACE_PREFIX = "(space) "
"""Beginning of the user ids that own the rows of spaces, followed by the id of the space."""
_NAMESPACE_SIGNS = frozenset("_.:/-")
_CONTROLS = {"Cc", "Cf", "Zl", "Zp"}
NAMESPACE_RULE = (
    f"a namespace has 1 to {MAX_NAME_CHARACTERS} letters, digits and marks of any script, and _ . : / - but no spaces"
)
TAG_RULE = f"a tag is a text of 1 to {MAX_NAME_CHARACTERS} characters, none of them a line break or invisible"
_JOINERS = "\u200c\u200d"
"""Invisible, but needed in Persian words and emoji."""


def is_namespace(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME_CHARACTERS and all(
        each in _NAMESPACE_SIGNS or unicodedata.category(each)[0] in "LNM" for each in text
    )


def namespace_of(text: str) -> str:
    """Return a namespace in the one form in which it is stored, NFC. Raises ValueError."""
    name = unicodedata.normalize("NFC", text)
    if not is_namespace(name):
        raise ValueError(f"{name[:40]!r} is not valid: {NAMESPACE_RULE}")
    return name


def tag_of(text: str) -> str:
    """Return a tag in the one form in which it is stored: NFC, without space around it. Raises ValueError."""
    tag = unicodedata.normalize("NFC", text).strip()
    categories = {unicodedata.category(character) for character in tag if character not in _JOINERS}
    if not 0 < len(tag) <= MAX_NAME_CHARACTERS or categories & _CONTROLS:
        raise ValueError(f"{tag[:40]!r} is not valid: {TAG_RULE}")
    return tag


def _plain_name(text: str) -> str:
    if not re.fullmatch(NAME_PATTERN, text) or len(text) > MAX_NAME_CHARACTERS:
        raise ValueError(
            f"{text[:40]!r} is not valid: a name has 1 to {MAX_NAME_CHARACTERS} of the letters A to Z and a to z,"
            " digits and _ . : / - but no spaces"
        )
    return text


def _existing_zone(name: str) -> str:
    zone_of(name)
    return name


_BOUNDED = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS})
Name = Annotated[
    str,
    AfterValidator(_plain_name),
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS, "pattern": NAME_PATTERN}),
]
Namespace = Annotated[Text, AfterValidator(namespace_of), _BOUNDED]
Tag = Annotated[Text, AfterValidator(tag_of), _BOUNDED]
SpaceName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=MAX_SPACE_CHARACTERS, min_length=1)
]
"""The id of a space. It is sent in a header, so it has letters, digits and . _ - only."""
ZoneName = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_existing_zone)]
