"""An agent of Google's ADK that remembers, without any service but this process.

    pip install 'keeps[adk]' && GOOGLE_API_KEY=… python examples/adk_agent.py

The first conversation tells it something; the second, days later and with an empty session, is answered from memory.
"""

from __future__ import annotations

import asyncio
import sys

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.runners import Runner
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from keeps.integrations.adk import KeepsMemoryService, KeepsSessionService, KeepsTools

APP, USER = "concierge", "alice"


async def main(
    model: str | BaseLlm, memory: KeepsMemoryService, tools: KeepsTools, sessions: KeepsSessionService
) -> list[str]:
    """Two conversations; what the agent said in each."""
    agent = LlmAgent(
        name="concierge",
        model=model,
        instruction="Help the guest. Store what they prefer with store_memory.",
        tools=[PreloadMemoryTool(), *tools.tools],
    )
    runner = Runner(agent=agent, app_name=APP, session_service=sessions, memory_service=memory)
    said: list[str] = []
    for text in ("I'm allergic to peanuts, and I love the sea.", "What should the kitchen know about my allergy?"):
        session = await sessions.create_session(app_name=APP, user_id=USER)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        events = [each async for each in runner.run_async(user_id=USER, session_id=session.id, new_message=message)]
        last = next(each.content for each in reversed(events) if each.is_final_response())
        said.append("".join(part.text or "" for part in (last.parts if last and last.parts else [])))
        over = await sessions.get_session(app_name=APP, user_id=USER, session_id=session.id)
        if over is not None:
            await memory.add_session_to_memory(over)  # as an after_agent_callback would
    await runner.close()
    return said


async def _alone() -> None:
    memory, tools, sessions = KeepsMemoryService(), KeepsTools(), KeepsSessionService()
    try:
        for line in await main(sys.argv[1] if len(sys.argv) > 1 else "gemini-flash-latest", memory, tools, sessions):
            print(line)
    finally:
        await memory.close()
        await tools.close()
        await sessions.close()


if __name__ == "__main__":
    asyncio.run(_alone())
