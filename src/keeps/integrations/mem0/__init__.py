"""mem0's API, answered from Keeps: `/mem0` in `keeps serve`. Needs no package of mem0's."""

from __future__ import annotations

from keeps.integrations.mem0.http import Mem0Mount

__all__ = ["Mem0Mount"]
