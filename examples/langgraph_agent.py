"""A graph of LangGraph that remembers its users across threads, without any service but this process.

    pip install 'keeps[langgraph]' langgraph 'langchain[google-genai]'
    GOOGLE_API_KEY=… python examples/langgraph_agent.py google_genai:gemini-flash-latest

The first conversation tells it something; the second, in a thread of its own, is answered from memory.
"""

from __future__ import annotations

import sys
import uuid

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from keeps.integrations.langgraph import KeepsStore


def main(model: BaseChatModel, store: KeepsStore) -> list[str]:
    """Two conversations; what the model said in each."""

    def answer(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> MessagesState:
        place = ("memories", config["configurable"]["user_id"])  # the label that names the user
        said = str(state["messages"][-1].text)
        known = "\n".join(f"- {each.value['text']}" for each in store.search(place, query=said, limit=5))
        store.put(place, str(uuid.uuid4()), {"text": said})
        instruction = SystemMessage(f"Help the guest. What they said before:\n{known or '(nothing)'}")
        return {"messages": [model.invoke([instruction, *state["messages"]])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(store=store)
    answers: list[str] = []
    for text in ("I'm allergic to peanuts, and I love the sea.", "What should the kitchen know about my allergy?"):
        done = graph.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"user_id": "alice"}})
        answers.append(str(done["messages"][-1].text))
    return answers


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    from langchain.chat_models import init_chat_model

    with KeepsStore(user_label=1) as opened:
        for line in main(init_chat_model(sys.argv[1]), opened):
            print(line)
