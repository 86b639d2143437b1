"""Messages of people and agents, as Keeps stores them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from keeps.integrations.owners import NOT_ALLOWED, Owners
from keeps.integrations.storable import storable
from keeps_client.errors import KeepsError
from keeps_client.memory.whole import Memory
from keeps_client.values import MAX_CONTENT_CHARACTERS

Turn = dict[str, Any]
"""A message: its role, user or assistant, its content, and other fields of `store_exchange`."""
MESSAGES_AT_ONCE, CHARACTERS_AT_ONCE = 100, 1_000_000
"""Limits of one write: the number of messages, and their characters."""
SAID = ("user", "assistant")
"""Roles of messages that are remembered: instructions and tool output are not what somebody said."""


def turns_of(messages: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Return messages as they are stored: long texts in parts, without empty ones and other roles."""
    turns: list[Turn] = []
    for message in messages:
        if message["role"] in SAID:
            whole = storable(str(message["content"]))
            parts = (whole[i : i + MAX_CONTENT_CHARACTERS] for i in range(0, len(whole), MAX_CONTENT_CHARACTERS))
            turns += [{**message, "content": part} for part in parts if part.replace("\ufffd", "").strip()]
    return turns


async def learn_from(
    owners: Owners, user_id: str | None, messages: Iterable[Mapping[str, Any]], *, session_id: str
) -> None:
    """Store messages as a conversation, with the facts in them. A failure is counted. Raises NOT_ALLOWED."""
    turns = turns_of(messages)
    if not turns:
        return
    try:
        await owners.ask(user_id, lambda memory: store_turns(memory, turns, session_id))
    except NOT_ALLOWED:
        raise
    except KeepsError as error:
        owners.failed("store_exchange", error)


async def store_turns(memory: Memory, turns: Sequence[Turn], session_id: str, *, key: str | None = None) -> None:
    """Store messages as a conversation, with the facts that the user states.

    Args:
        key: Names this write: the same key and messages again within 24 hours change nothing.
    """
    for batch in _batches(turns):
        if key is None:
            await memory.store_exchange(batch, session_id=session_id)
        else:
            with memory.idempotent(key):
                await memory.store_exchange(batch, session_id=session_id)


def key_of(*parts: object) -> str:
    """Return the key of a write that these values determine."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def _batches(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    characters = 0
    for turn in turns:
        size = len(turn["content"])
        if batch and (len(batch) == MESSAGES_AT_ONCE or characters + size > CHARACTERS_AT_ONCE):
            yield batch
            batch, characters = [], 0
        batch.append(turn)
        characters += size
    if batch:
        yield batch
