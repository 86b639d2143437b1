"""The format of a language's table of words for times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Value = int | str | tuple[int, int] | tuple[int, str]
"""The meaning of a phrase: a number, a name, a range of counts, or a weekday with a part of the day."""
Table = Mapping[str, Mapping[Any, str]]
"""Maps each kind of word to values, and each value to its phrases, separated by commas."""
