"""An agent of Strands that remembers its users across conversations, without any service but this process.

    pip install 'keeps[strands]' 'strands-agents[gemini]'
    GOOGLE_API_KEY=… python examples/strands_agent.py gemini-flash-latest

The first agent is told something; the second, which has no message of the first, answers from memory.
"""

from __future__ import annotations

import sys

from strands.memory import MemoryManager
from strands.models import Model

from keeps.integrations.strands import KeepsMemoryStore
from strands import Agent


def main(model: Model) -> list[str]:
    """Two conversations; what the model said in each."""
    answers: list[str] = []
    for text in ("I'm allergic to peanuts.", "What should the kitchen know about my allergy?"):
        store = KeepsMemoryStore(user_id="alice")
        agent = Agent(model=model, memory_manager=MemoryManager(stores=[store]), callback_handler=None)
        answers.append(str(agent(text)).strip())
        store.close_now()
    return answers


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    from strands.models.gemini import GeminiModel

    for line in main(GeminiModel(model_id=sys.argv[1])):
        print(line)
