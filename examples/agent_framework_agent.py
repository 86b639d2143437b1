"""An agent of Microsoft Agent Framework that remembers its users across sessions, without any service but this process.

    pip install 'keeps[agent-framework]' agent-framework-openai
    OPENAI_API_KEY=… python examples/agent_framework_agent.py gpt-5.6-mini

The first session tells it something; the second, which has no message of the first, is answered from memory.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agent_framework import Agent, AgentSession

from keeps.integrations.agent_framework import KeepsContextProvider, KeepsHistoryProvider


def user_of(session: AgentSession) -> str:
    """The application puts the user into the state of a session that it makes."""
    return session.state["user_id"]


async def main(client: Any) -> list[str]:
    """Two sessions; what the model said in each."""
    async with KeepsHistoryProvider(user_id=user_of) as history, KeepsContextProvider(user_id=user_of) as context:
        agent = Agent(client, instructions="Help the guest.", context_providers=[history, context])
        answers: list[str] = []
        for text in ("I'm allergic to peanuts.", "What should the kitchen know about my allergy?"):
            session = agent.create_session()
            session.state["user_id"] = "alice"
            answers.append((await agent.run(text, session=session)).text)
        return answers


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    from agent_framework.openai import OpenAIChatClient

    for line in asyncio.run(main(OpenAIChatClient(model=sys.argv[1]))):
        print(line)
