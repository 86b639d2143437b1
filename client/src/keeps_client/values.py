"""Values that models and settings share. It imports no library."""

from __future__ import annotations

from typing import Literal

MAX_CONTENT_CHARACTERS = 50_000
Visibility = Literal["private", "tenant"]
