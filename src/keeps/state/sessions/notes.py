"""Layer 1: notes of a conversation, updated with each message. Pure.

Notes consist of a rolling summary (every five messages the most important sentences, in the order in which they were
said), decisions and action items, useful tool results, and the last messages: at most 50 items. They are derived from
the messages, which are stored as memories, so they can be rebuilt at any time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from keeps.base.text.fences import one_line
from keeps.base.text.forms import cut_at
from keeps.base.text.importance import estimate_importance
from keeps.base.text.secrets import public_texts, without_secrets
from keeps.base.text.sentences import split_sentences
from keeps.base.text.small_talk import is_small_talk
from keeps_client.models import Note, SessionNotes
from keeps_client.models.conversations import NoteKind

SUMMARISED_EVERY = 5
MAX_ITEMS = 50
RECENT = 8
DIGESTED = 4
KEPT = timedelta(hours=24)
CONSOLIDATED_AFTER_END = timedelta(hours=1)
SUMMARY_CHARACTERS = 1_600
"""About 400 tokens: a session's share of the context is 500."""
ITEM_CHARACTERS = 300

_DECISION = re.compile(
    r"\b(?:(?:we|i|they)(?:'ve| have)? (?:decided|agreed|chose|settled|picked)|let's (?:go with|use|do)|i(?:'ll| will)"
    r" (?:go with|take|choose)"
    r"|(?:the|our|my) decision|we(?:'ll| will) (?:go with|use)|it(?:'s| is) (?:decided|settled)|approved)\b",
    re.IGNORECASE,
)
_ACTION = re.compile(
    r"\b(?:to-?do|action item|remind me|don't forget|follow up"
    r"|(?<!everyone )(?<!everybody )(?<!nobody )(?<!people )(?<!you )(?:needs? to|has to|have to|must)"
    r"(?! (?:not|never))"
    r"|by"
    r" (?:monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|tomorrow|tonight|next week|the end of)|deadline|due (?:on|by|date))\b",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\b(?:error|exception|traceback|failed|not found|timed? ?out|denied|null|none)\b", re.IGNORECASE)


def empty(session_id: str, now: datetime, kept: timedelta = KEPT) -> SessionNotes:
    return SessionNotes(
        session_id=session_id, summary="", items=(), message_count=0, updated_at=now, expires_at=now + kept
    )


def fold(notes: SessionNotes, messages: Sequence[Note], now: datetime, kept: timedelta = KEPT) -> SessionNotes:
    """Return the notes with further messages, given as notes of kind `message` with their whole text."""
    items = list(notes.items)
    summary, count = notes.summary, notes.message_count
    for message in messages:
        items.append(message.model_copy(update={"text": _cut(message.text)}))
        highlight = _worth_noting(message)
        if highlight is not None and not any(
            item.text == highlight.text and item.kind == highlight.kind for item in items
        ):
            items.append(highlight)
        count += 1
        if count % SUMMARISED_EVERY == 0:
            summary = summarise(summary, [item for item in items if item.kind == "message"][-SUMMARISED_EVERY:])
    return SessionNotes(
        session_id=notes.session_id,
        summary=summary,
        items=tuple(_fitting(items)),
        message_count=count,
        updated_at=now,
        expires_at=now + kept,
    )


def summarise(summary: str, messages: Sequence[Note]) -> str:
    """Return the summary with the most important sentences of some messages.

    Above its maximum length, the least important lines are dropped.
    """
    lines = [line.removeprefix("- ") for line in summary.splitlines() if line]
    for message, text in zip(messages, public_texts(message.text for message in messages), strict=True):
        if message.role in ("system", "tool"):
            continue
        for sentence in _sentences(text):
            if _weight(sentence, message.role) > _PLAIN and sentence not in lines:
                lines.append(sentence if message.role == "user" else f"(agent) {sentence}")
    weights = [_weight_of_line(line) for line in lines]
    while sum(len(each) + 3 for each in lines) > SUMMARY_CHARACTERS:
        least = weights.index(min(weights))
        del lines[least], weights[least]
    return "\n".join(f"- {each}" for each in lines)


def digest(notes: SessionNotes) -> str:
    """Return a conversation in a few lines: its summary, decisions and action items, or else its last messages.

    Secrets are left out, since the lines are shown without a question about them.
    """
    lines = without_secrets(notes.summary).splitlines()
    for kind, title in (("decision", "Decided: "), ("action_item", "To do: ")):
        lines += [
            title + one_line(note.text) for note in notes.items if note.kind == kind and f"- {note.text}" not in lines
        ]
    if not lines:
        messages = [note for note in notes.items if note.kind == "message" and note.role in ("user", "assistant")]
        texts = public_texts(note.text for note in messages)
        lines = [
            one_line(text) if note.role == "user" else f"(agent) {one_line(text)}"
            for note, text in [*zip(messages, texts, strict=True)][-DIGESTED:]
            if text and not is_small_talk(text)
        ]
    return "\n".join(lines)


_PLAIN = 0.5
BY_AGENT = "(agent) "
"""Beginning of the agent's statements in a summary."""


def _weight(sentence: str, role: str) -> float:
    weight = estimate_importance(sentence)
    return weight if role == "user" else 0.85 * weight


def _weight_of_line(line: str) -> float:
    return 0.85 * estimate_importance(line) if line.startswith("(agent) ") else estimate_importance(line)


def _sentences(text: str) -> list[str]:
    return [stripped for each in split_sentences(text[:4_000]) if 20 <= len(stripped := each.strip(" -*\n\t")) <= 400]


def _worth_noting(message: Note) -> Note | None:
    kind: NoteKind
    if message.role == "tool":
        result = without_secrets(message.text)
        if len(result) < 3 or _FAILED.search(result[:500]):
            return None
        return message.model_copy(update={"kind": "tool_result", "text": _cut(result)})
    if message.role == "system":
        return None
    for sentence in _sentences(without_secrets(message.text)):
        if sentence.endswith("?"):
            continue
        kind = "decision" if _DECISION.search(sentence) else "action_item" if _ACTION.search(sentence) else "message"
        if kind != "message":
            return message.model_copy(update={"kind": kind, "text": _cut(sentence)})
    return None


def _fitting(items: list[Note]) -> list[Note]:
    """Return at most 50 items: only the last messages, then without the oldest of the others."""
    said = [each for each in items if each.kind == "message"]
    spare = set(map(id, said[:-RECENT]))
    kept = [each for each in items if id(each) not in spare]
    return kept[-MAX_ITEMS:]


def _cut(text: str) -> str:
    return text if len(text) <= ITEM_CHARACTERS else cut_at(text, ITEM_CHARACTERS - 1) + "…"
