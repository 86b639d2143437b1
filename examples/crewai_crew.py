"""A crew of CrewAI that remembers its user in the next run, without any service but this process.

pip install 'keeps[crewai]' && OPENAI_API_KEY=… python examples/crewai_crew.py

Run it in an environment of its own: CrewAI pins older versions of common packages.
"""

from __future__ import annotations

import sys

from crewai import LLM, Agent, Crew, Memory, Task
from crewai.llms.base_llm import BaseLLM

from keeps.integrations.crewai import KeepsStorage, text_vectors

REQUESTS = ("Answer: I'm allergic to peanuts, so what should I avoid?", "Answer: which snack is safe for me?")


def main(llm: BaseLLM, storage: KeepsStorage) -> list[str]:
    """Two runs of a crew; the answer of each."""
    answers: list[str] = []
    for request in REQUESTS:
        memory = Memory(storage=storage, embedder=text_vectors, llm=llm)
        cook = Agent(role="cook", goal="Feed the guest safely", backstory="You cook for a hotel.", llm=llm)
        task = Task(description=request, expected_output="One sentence.", agent=cook)
        answers.append(str(Crew(agents=[cook], tasks=[task], memory=memory).kickoff()))
        memory.close()  # waits for what is still being saved
    return answers


if __name__ == "__main__":
    for line in main(LLM(model=sys.argv[1] if sys.argv[1:] else "gpt-5-mini"), KeepsStorage(user_id="alice")):
        print(line)
