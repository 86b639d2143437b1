"""Turns in the inputs of hooks: Gemini CLI, Cursor and OpenClaw pass the messages themselves. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from keeps.sources.coding.transcripts import Agent, Turn, string_of, time_of, turn_text

NO_RESPONSE = "[no response text]"
"""Text of Gemini CLI for an answer without text."""


def turns_of(event: str, payload: Mapping[str, Any], now: datetime) -> list[Turn]:
    """Return the turns of an event.

    Gemini CLI's `AfterAgent` and OpenClaw's `agent_end` have the prompt, the answer and the time. Cursor has an event
    for each without a time, which gets `now`; an answer may have several parts of one generation.
    """
    session_id = string_of(payload.get("session_id"))
    if event in ("AfterAgent", "agent_end"):
        agent: Agent = "gemini-cli" if event == "AfterAgent" else "openclaw"
        turn = string_of(payload.get("generation_id")) or string_of(payload.get("timestamp"))
        answer = string_of(payload.get("prompt_response"))
        # A hook that rejects an answer makes the agent repeat the turn with the same prompt.
        prompt = "" if payload.get("stop_hook_active") else string_of(payload.get("prompt"))
        turns = [
            _turn(payload, agent, f"{session_id}/{turn}/user", "user", prompt),
            _turn(payload, agent, f"{session_id}/{turn}", "assistant", "" if answer == NO_RESPONSE else answer),
        ]
    elif event == "beforeSubmitPrompt":
        key = f"{session_id}/{string_of(payload.get('generation_id'))}/user"
        turns = [_turn(payload, "cursor", key, "user", string_of(payload.get("prompt")))]
    elif event == "afterAgentResponse":
        text = string_of(payload.get("text"))
        part = hashlib.sha256(text.encode()).hexdigest()[:12]
        key = f"{session_id}/{string_of(payload.get('generation_id'))}/{part}"
        turns = [_turn(payload, "cursor", key, "assistant", text)]
    else:
        turns = []
    return [replace(turn, at=turn.at or now) for turn in turns if turn.text and session_id]


def _turn(payload: Mapping[str, Any], agent: Agent, key: str, role: Literal["user", "assistant"], text: str) -> Turn:
    return Turn(
        key,
        role,
        turn_text(text),
        time_of(payload.get("timestamp")),
        string_of(payload.get("session_id")),
        string_of(payload.get("cwd")),
        agent,
    )
