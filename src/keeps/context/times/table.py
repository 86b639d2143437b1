"""The shape of a language's table of words for times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Value = int | str | tuple[int, int] | tuple[int, str]
"""What a phrase stands for: a number, a name, a range of counts, or a weekday with a part of the day."""
Table = Mapping[str, Mapping[Any, str]]
"""Kind of word, value, and the phrases that stand for it, separated by commas."""
