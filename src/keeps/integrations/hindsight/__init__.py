"""Hindsight's API on Keeps: `/hindsight` in `keeps serve`. It needs no package of Hindsight."""

from __future__ import annotations

from keeps.integrations.hindsight.http import HindsightMount

__all__ = ["HindsightMount"]
