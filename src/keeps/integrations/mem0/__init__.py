"""mem0's API on Keeps: `/mem0` in `keeps serve`. It needs no package of mem0."""

from __future__ import annotations

from keeps.integrations.mem0.http import Mem0Mount

__all__ = ["Mem0Mount"]
