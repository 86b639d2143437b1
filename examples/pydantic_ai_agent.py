"""An agent of Pydantic AI that remembers its users across runs, without any service but this process.

    pip install 'keeps[pydantic-ai]' 'pydantic-ai-slim[google]'
    GOOGLE_API_KEY=… python examples/pydantic_ai_agent.py google:gemini-flash-latest

The first run tells it something; the second, without the messages of the first, is answered from memory.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, RunContext

from keeps.integrations.pydantic_ai import KeepsContext, KeepsToolset


@dataclass
class Guest:
    """The application's data of a run: its user."""

    user_id: str


def user_of(ctx: RunContext[Guest]) -> str:
    return ctx.deps.user_id


def main(model: Any) -> list[str]:
    """Two runs; what the model said in each."""
    tools, context = KeepsToolset(user_id=user_of), KeepsContext(user_id=user_of)
    agent = Agent(model, deps_type=Guest, toolsets=[tools], capabilities=[context], instructions="Help the guest.")
    questions = ("Remember that I'm allergic to peanuts.", "What should the kitchen know about my allergy?")
    try:
        return [agent.run_sync(question, deps=Guest("alice")).output for question in questions]
    finally:
        tools.close_now()
        context.close_now()


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    for line in main(sys.argv[1]):
        print(line)
