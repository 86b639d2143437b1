"""Counts of things as text, such as "1 memory" or "4 memories"."""

from __future__ import annotations

from collections.abc import Mapping


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts of lines by their type as text, such as "4 memories, 1 session"."""
    return ", ".join(counted(number, name).replace("_", " ") for name, number in counts.items())


def _plural(noun: str) -> str:
    if noun == "working_memory":
        return "working_memory_keys"
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
