"""Pydantic AI: tools by which a model uses the memory of its user, and the user's context before each run.

    agent = Agent(
        model,
        deps_type=Deps,
        toolsets=[KeepsToolset(user_id=lambda ctx: ctx.deps.user_id)],
        capabilities=[KeepsContext(user_id=lambda ctx: ctx.deps.user_id)],
    )

`keeps.integrations.pydantic_ai_harness` has a store for the harness's `Memory`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

try:
    from pydantic_ai import FunctionToolset, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, TextContent, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
except ImportError as error:
    raise ImportError("keeps.integrations.pydantic_ai needs Pydantic AI: pip install 'keeps[pydantic-ai]'") from error

from keeps.engine import Keeps
from keeps.integrations.memory_tools import INSTRUCTIONS, ModelTool, model_tools
from keeps.integrations.owners import Owners, UserOf, context_for, user_from

_Owner = UserOf[RunContext[Any]]


class KeepsToolset(FunctionToolset[Any]):
    """The tools `remember`, `recall` and `forget`.

    A failure is a sentence for the model, as a failed tool result; `failures` counts those that no model can fix. A
    model can forget only what can be restored for 30 days.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: Whose memory it is: an id, or a function of the run. Without it: the user of the token.
        id: The id of the toolset, which durable execution needs.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: _Owner = None,
        tenant_id: str | None = None,
        token: str | None = None,
        id: str = "keeps",  # noqa: A002  Pydantic AI's name
    ) -> None:
        super().__init__(id=id, instructions=INSTRUCTIONS)
        self._user_id = user_id
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)
        for tool in model_tools():
            self.add_tool(
                Tool.from_schema(self._call_of(tool), tool.name, tool.description, tool.schema, takes_ctx=True)
            )

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by tool."""
        return self._owners.failures

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    def close_now(self) -> None:
        """Close what this object opened, without await."""
        self._owners.close_now()

    def _call_of(self, tool: ModelTool) -> Callable[..., Any]:
        async def call(ctx: RunContext[Any], /, **arguments: Any) -> dict[str, Any]:
            answer, is_done = await tool.call(self._owners, user_from(self._user_id, ctx), arguments)
            if not is_done:
                raise ToolFailed(str(answer))
            assert isinstance(answer, dict)
            return answer

        return call


class KeepsContext(AbstractCapability[Any]):
    """Adds what is known for the question of a run: facts before the conversation, the rest before the question.

    It is read once a run, and added only to what the model gets: the history of messages stays as it is. While memory
    is unavailable, nothing is added; `failures` counts that.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: Whose memory it is: an id, or a function of the run. Without it: the user of the token.
        session_id: The conversation, or a function of the run.
        budget_tokens: Maximum tokens of the context.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: _Owner = None,
        tenant_id: str | None = None,
        token: str | None = None,
        session_id: _Owner = None,
        budget_tokens: int = 2_000,
        id: str = "keeps_context",  # noqa: A002  Pydantic AI's name
    ) -> None:
        self.id = id
        self._user_id = user_id
        self._session_id = session_id
        self._budget_tokens = budget_tokens
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)
        self._context: tuple[str, str] | None = None

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    async def for_run(self, ctx: RunContext[Any]) -> Self:
        """Return a copy that reads the context once for this run."""
        del ctx
        own = copy.copy(self)
        own._context = None
        return own

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return the request with the context of the user."""
        position = _last_prompt(request_context.messages)
        if position is None:
            return request_context
        if self._context is None:
            question = _text(ctx.prompt) or _prompt_text(request_context.messages[position])
            session_id = None if self._session_id is None else user_from(self._session_id, ctx)
            context = await context_for(
                self._owners,
                user_from(self._user_id, ctx),
                question,
                session_id=session_id,
                budget_tokens=self._budget_tokens,
            )
            self._context = ("", "") if context is None else (context.stable, context.volatile)
        return replace(request_context, messages=_with_context(request_context.messages, position, *self._context))

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    def close_now(self) -> None:
        """Close what this object opened, without await."""
        self._owners.close_now()


def _with_context(messages: Sequence[ModelMessage], position: int, stable: str, volatile: str) -> list[ModelMessage]:
    """Return messages with `stable` before the conversation and `volatile` before the prompt at a position."""
    changed = list(messages)
    if volatile:
        request = changed[position]
        assert isinstance(request, ModelRequest)
        at = next(place for place, part in enumerate(request.parts) if isinstance(part, UserPromptPart))
        parts = [*request.parts[:at], UserPromptPart(volatile), *request.parts[at:]]
        changed[position] = replace(request, parts=parts)
    first = changed[0]
    if stable and isinstance(first, ModelRequest):
        at = next(
            (place for place, part in enumerate(first.parts) if not isinstance(part, SystemPromptPart)),
            len(first.parts),
        )
        changed[0] = replace(first, parts=[*first.parts[:at], SystemPromptPart(stable), *first.parts[at:]])
    elif stable:
        changed.insert(0, ModelRequest(parts=[SystemPromptPart(stable)]))
    return changed


def _last_prompt(messages: Sequence[ModelMessage]) -> int | None:
    """Return the position of the last message with a prompt of the user."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts):
            return position
    return None


def _prompt_text(message: ModelMessage) -> str:
    return "\n".join(_text(part.content) for part in message.parts if isinstance(part, UserPromptPart))


def _text(content: object) -> str:
    """Return the text of a prompt; images and files are left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "\n".join(
        part.content if isinstance(part, TextContent) else part
        for part in content
        if isinstance(part, str | TextContent)
    )
