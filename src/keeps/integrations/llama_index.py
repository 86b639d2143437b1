"""LlamaIndex: a memory block.

    memory = Memory.from_defaults(session_id="monday", memory_blocks=[KeepsMemoryBlock(user_id="alice")])
    await agent.run("Plan a dinner.", memory=memory)

Messages that leave the chat history are stored as a conversation, with the facts that the user states. The block adds
what is known for the current message to the prompt, also from other sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

try:
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.utils import get_tokenizer
except ImportError as error:
    raise ImportError(
        "keeps.integrations.llama_index needs llama-index-core: pip install 'keeps[llama-index]'"
    ) from error

from pydantic import Field, PrivateAttr

from keeps.integrations.owners import NOT_ALLOWED, Owners
from keeps.integrations.storable import storable
from keeps.integrations.turns import key_of, store_turns, turns_of
from keeps.memory.conversations.service import CONTEXT_BEGIN, CONTEXT_END
from keeps_client.errors import KeepsError
from keeps_client.memory.whole import Memory

SESSION = "llama-index"
"""The conversation of messages that name no session."""
SESSION_ID = "session_id"
"""The key under which LlamaIndex puts the session into a message."""
QUERY_CHARACTERS = 10_000
LEAST_TOKENS = 50


class KeepsMemoryBlock(BaseMemoryBlock[str]):
    """The memory of one user as a block of LlamaIndex's `Memory`.

    While memory is unavailable the block is empty and stores nothing, which is logged and counted in `failures`.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner; without it the user of the token.
        token_budget: Maximum tokens of the block, counted by `tokenizer_fn`.
        priority: 0 is never truncated. With 1, the default, the block shrinks if the memory exceeds its `token_limit`.
    """

    name: str = "keeps"
    description: str | None = "What is known about the user from this and earlier conversations."
    priority: int = 1
    keeps: Any = Field(default=None, exclude=True)
    tenant_id: str | None = None
    token: str | None = Field(default=None, repr=False, exclude=True)
    user_id: str | None = None
    token_budget: int = Field(default=1_500, ge=LEAST_TOKENS)
    tokenizer_fn: Callable[[str], Sequence[Any]] = Field(default_factory=get_tokenizer, exclude=True)

    _owners: Owners = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        self._owners = Owners(self.keeps, tenant_id=self.tenant_id, token=self.token)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    async def aclose(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    def close(self) -> None:
        """Close what this object opened, without await."""
        self._owners.close_now()

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        """Return what is known for the last message of the user, within the token budget."""
        del block_kwargs
        texts = [storable(_text_of(message)).strip() for message in messages or [] if message.role == "user"]
        question = next((text for text in reversed(texts) if text), "")[-QUERY_CHARACTERS:]
        if not question:
            return ""

        async def read(memory: Memory) -> str:
            context = await memory.context(question, session_id=session_id, budget_tokens=self.token_budget)
            return context.text

        try:
            text = await self._owners.ask(self.user_id, read)
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("aget", error)
            return ""
        return self._shortened(text, self.token_budget)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store what the user and the agent said, by session. The same messages again within a day change nothing."""
        by_session: dict[str, list[ChatMessage]] = {}
        for message in messages:
            by_session.setdefault(str(message.additional_kwargs.get(SESSION_ID) or SESSION), []).append(message)

        async def store(memory: Memory) -> None:
            for session_id, said in by_session.items():
                turns = turns_of({"role": message.role.value, "content": _text_of(message)} for message in said)
                await store_turns(memory, turns, session_id, key=key_of(SESSION, session_id, turns))

        try:
            await self._owners.ask(self.user_id, store)
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("aput", error)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the content without its last lines, so that it has so many tokens fewer; None if nothing is left."""
        if not content:
            return None
        return self._shortened(content, self._tokens(content) - tokens_to_truncate) or None

    def _tokens(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

    def _shortened(self, text: str, budget: int) -> str:
        """Return the first lines of a context, and its end mark, within a number of tokens; not with a last heading."""
        if self._tokens(text) <= budget:
            return text
        lines = text.splitlines()
        end = [lines.pop()] if lines[-1] == CONTEXT_END else []
        fitting, beyond = 0, len(lines) + 1  # the first n lines fit, or do not
        while beyond - fitting > 1:
            middle = (fitting + beyond) // 2
            if self._tokens("\n".join(lines[:middle] + end)) <= budget:
                fitting = middle
            else:
                beyond = middle
        while fitting and (not lines[fitting - 1].strip() or lines[fitting - 1].startswith(("#", CONTEXT_BEGIN))):
            fitting -= 1
        return "\n".join(lines[:fitting] + end) if fitting else ""


def _text_of(message: ChatMessage) -> str:
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))
