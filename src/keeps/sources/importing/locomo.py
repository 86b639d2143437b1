"""LoCoMo's JSON: samples with a `conversation` of dated sessions between two speakers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.records import JSON_FILES, NAMESPACE, Format, Record, Source
from keeps_client.errors import ValidationFailedError


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each turn. Raises ValidationFailedError for a file that is not LoCoMo's JSON."""
    for number, entry in enumerate(values(source)):
        sample = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        conversation = sample.get("conversation")
        if not isinstance(conversation, dict):
            if number == 0:
                raise ValidationFailedError(f"{source.name} is not LoCoMo's JSON: it must be a list of samples")
            yield Record(f"{source.name}{entry.place}", None, entry.problem or "has no conversation")
            continue
        name = str(sample.get("sample_id", number))
        yield from _sample(source, name, cast("dict[str, Any]", conversation))


def _sample(source: Source, name: str, conversation: dict[str, Any]) -> Iterator[Record]:
    names = [key for key, value in conversation.items() if isinstance(value, list)]
    for session in sorted((key for key in names if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])):
        begun = _time(str(conversation.get(f"{session}_date_time", "")))
        for position, turn in enumerate(conversation[session]):
            if not isinstance(turn, dict):
                yield Record(f"{name} {session}:{position}", None, "is not a turn: an object with speaker and text")
                continue
            place = f"{name} {turn.get('dia_id', f'{session}:{position}')}"
            text = str(turn.get("text", ""))
            if turn.get("blip_caption"):
                text += f" [shares image: {turn['blip_caption']}]"
            if not text.strip():
                yield Record(place, None, "has no text")
                continue
            memory: dict[str, Any] = {
                "content": text,
                "kind": "episodic",
                "content_type": "message",
                "namespace": NAMESPACE,
                "key": source.key(f"{name}/{session}/{position}"),
                "session_id": source.scoped(f"{name}/{session}"),
                "source": place,
                "metadata": {"speaker": str(turn.get("speaker", ""))},
            }
            if begun is not None:
                memory["valid_from"] = begun + timedelta(seconds=position)
            yield Record(place, memory)


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


FORMAT = Format(
    "locomo",
    "samples of the benchmark LoCoMo",
    records,
    JSON_FILES,
    lambda source: {"conversation", "speaker_a"} <= source.names(),
)
