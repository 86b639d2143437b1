"""A chat of LlamaIndex that remembers its user in the next session, without any service but this process.

pip install 'keeps[llama-index]' llama-index-llms-openai && OPENAI_API_KEY=… python examples/llama_index_agent.py
"""

from __future__ import annotations

import asyncio
import sys

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import LLM, ChatMessage
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from keeps.integrations.llama_index import KeepsMemoryBlock

SAID = ("I'm allergic to peanuts. Please remember that.", "What should the kitchen know about my allergy?")


async def main(llm: LLM, block: KeepsMemoryBlock, chats: AsyncEngine) -> list[str]:
    """Two sessions; what the model was told and answered in each."""
    answers: list[str] = []
    for session_id, message in zip(("monday", "tuesday"), SAID, strict=True):
        memory = Memory.from_defaults(session_id=session_id, memory_blocks=[block], async_engine=chats)
        engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
        answers.append(str(await engine.achat(message)))
        history: list[ChatMessage] = await memory.aget_all()  # what is still in the chat history at its end
        await block.aput(history, session_id=session_id)
    return answers


async def _alone() -> None:
    from llama_index.llms.openai import OpenAI  # pyright: ignore[reportMissingImports]  of a package of its own

    block, chats = KeepsMemoryBlock(user_id="alice"), create_async_engine("sqlite+aiosqlite:///chats.db")
    try:
        for line in await main(OpenAI(model=sys.argv[1] if sys.argv[1:] else "gpt-5-mini"), block, chats):
            print(line)
    finally:
        await block.aclose()
        await chats.dispose()


if __name__ == "__main__":
    asyncio.run(_alone())
