"""Checks of the results of providers: types, sizes, text.

Pure. An invalid result raises BadAnswerError, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from numbers import Real
from typing import Any, cast

from keeps.providers.contract import Match
from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Entry, ProviderCapabilities
from keeps_client.models.common import Json, Metadata, Text, UtcTime, Wire, check_storable, small_json
from keeps_client.models.providers import EntryKey

MAX_ANSWER_BYTES = 16 << 20
MAX_ANSWER_VALUES = 200_000
MAX_KEYS = 1_000_000


class BadAnswerError(Exception):
    """A provider returned something that its contract does not allow."""


class _CheckedEntry(Wire):
    key: EntryKey
    value: Json
    metadata: Metadata
    updated_at: UtcTime | None


class _CheckedCapabilities(ProviderCapabilities):
    content_types: tuple[Text, ...] = ("*",)


def checked_capabilities(answer: object, provider_id: str) -> ProviderCapabilities:
    """Return capabilities under the name by which the provider was installed, whatever name it reports."""
    if not isinstance(answer, ProviderCapabilities):
        raise BadAnswerError(f"capabilities returned {_kind(answer)} instead of ProviderCapabilities")
    fields = {name: getattr(answer, name, None) for name in ProviderCapabilities.model_fields}
    try:
        checked = validated(_CheckedCapabilities, fields | {"provider_id": provider_id})
    except ValidationFailedError as error:
        raise BadAnswerError(f"capabilities returned a wrong value: {error.detail}") from None
    return ProviderCapabilities.model_construct(**{name: getattr(checked, name) for name in fields})


def checked_entry(answer: object, key: str) -> Entry | None:
    """Return the checked result of `read`."""
    if answer is None:
        return None
    (entry,) = _entries("read", [answer])
    if entry.key != key:
        raise BadAnswerError("read returned the entry of another key")
    return entry


def checked_matches(answer: object, limit: int) -> list[Match]:
    """Return the checked result of `search`, with finite numbers as scores."""
    matches = _list("search", answer)
    if len(matches) > limit:
        raise BadAnswerError(f"search returned {len(matches):,} matches for limit={limit}")
    for match in matches:
        if not isinstance(match, Match):
            raise BadAnswerError(f"search returned {_kind(match)} instead of Match")
    typed = cast("Sequence[Match]", matches)
    scores = [_score(match.score) for match in typed]
    relevances = [None if match.relevance is None else _score(match.relevance) for match in typed]
    if not all(each is None or 0 <= each <= 1 for each in relevances):
        raise BadAnswerError("search returned a relevance that is not between 0 and 1")
    entries = _entries("search", [match.entry for match in typed])
    return [Match(*fields) for fields in zip(entries, scores, relevances, strict=True)]


def checked_keys(answer: object) -> list[str]:
    """Return the checked result of `list_keys`."""
    keys = _list("list_keys", answer)
    if len(keys) > MAX_KEYS:
        raise BadAnswerError(f"list_keys returned {len(keys):,} keys; the maximum is {MAX_KEYS:,}")
    for key in keys:
        if not isinstance(key, str) or not 1 <= len(key) <= 355:
            raise BadAnswerError(f"list_keys returned {_kind(key)} that is not a key of 1 to 355 characters")
        try:
            check_storable(key)
        except ValueError as error:
            raise BadAnswerError(f"list_keys returned a key that {error}") from None
    return list(cast("Sequence[str]", keys))


def checked_bool(answer: object) -> bool:
    """Return the checked result of `delete`."""
    if not isinstance(answer, bool):
        raise BadAnswerError(f"delete returned {_kind(answer)} instead of bool")
    return answer


def checked_count(answer: object) -> int:
    """Return the checked result of `rebuild`."""
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < 1 << 63:
        raise BadAnswerError(f"rebuild returned {_kind(answer)} that is not a count")
    return answer


def _list(method: str, answer: object) -> Sequence[object]:
    if not isinstance(answer, list | tuple):
        raise BadAnswerError(f"{method} returned {_kind(answer)} instead of a list")
    return cast("Sequence[object]", answer)


def _entries(method: str, answers: Sequence[object]) -> list[Entry]:
    """Return entries that can be stored. Their total size is checked before anything is copied."""
    for answer in answers:
        if not isinstance(answer, Entry):
            raise BadAnswerError(f"{method} returned {_kind(answer)} instead of Entry")
    given = [_fields(cast("Entry", answer)) for answer in answers]
    try:
        small_json([[entry["value"], entry["metadata"]] for entry in given], MAX_ANSWER_BYTES, MAX_ANSWER_VALUES)
        checked = [validated(_CheckedEntry, entry) for entry in given]
    except ValidationFailedError as error:
        raise BadAnswerError(f"{method} returned a wrong entry: {error.detail}") from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadAnswerError(f"{method} returned entries that cannot be read ({type(error).__name__})") from None
    return [
        Entry.model_construct(key=entry.key, value=entry.value, metadata=entry.metadata, updated_at=entry.updated_at)
        for entry in checked
    ]


def _fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry.

    Numbers are rejected as times and bytes as text, although pydantic accepts them.
    """
    key, updated_at = getattr(entry, "key", None), getattr(entry, "updated_at", None)
    if not isinstance(key, str):
        raise BadAnswerError(f"an entry has {_kind(key)} as its key")
    if updated_at is not None and not isinstance(updated_at, datetime):
        raise BadAnswerError(f"an entry has {_kind(updated_at)} as its updated_at")
    return {
        "key": key,
        "value": getattr(entry, "value", None),
        "metadata": getattr(entry, "metadata", {}),
        "updated_at": updated_at,
    }


def _score(score: object) -> float:
    """Return a score as a float; numpy numbers are accepted, too."""
    if isinstance(score, bool) or not isinstance(score, Real):
        raise BadAnswerError(f"search returned {_kind(score)} as a score")
    try:
        number = float(score)
    except (OverflowError, ValueError):
        number = math.inf
    if not math.isfinite(number):
        raise BadAnswerError("search returned a score that is not a finite number")
    return number


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
