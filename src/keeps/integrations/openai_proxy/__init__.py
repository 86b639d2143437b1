"""An OpenAI-compatible proxy that adds memory: `/openai/v1` in `keeps serve`. It needs no package of OpenAI."""

from __future__ import annotations

from keeps.integrations.openai_proxy.mount import OpenAIMount

__all__ = ["OpenAIMount"]
