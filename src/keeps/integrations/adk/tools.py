"""Tools by which a model stores, retrieves and deletes memories."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from keeps.engine import Keeps
from keeps.integrations.adk.memory import (
    CONVERSATION,
    check_namespace,
    find_by_key,
    find_of_model,
    forget_one,
    namespace_of,
    of_app,
    own,
)
from keeps.integrations.arguments import ToolArguments, WrongArgumentsError
from keeps.integrations.budgets import LEAST_TOKENS, MOST_ALLOWED, MOST_TOKENS
from keeps.integrations.lines import lines_of
from keeps.integrations.owners import Owners
from keeps.integrations.sentences import FOR_OPERATORS, sentence
from keeps_client.errors import KeepsError, NotFoundError
from keeps_client.memory.whole import Memory
from keeps_client.models import Memory as Stored
from keeps_client.validation import given

NOT_THE_MODELS = ("self", "tool_context")
NAMES = {"hard": "hard_delete", "expires_at": "ttl_days"}
KEYLESS = "memory"
"""Shown in place of a missing key."""


@dataclass(frozen=True, slots=True)
class _Given:
    """The arguments of a call, unchecked, as a model passes them."""

    arguments: object


class _Tool(FunctionTool):
    """A tool whose arguments Keeps reads, including those that ADK would drop or refuse."""

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await self.func(_Given(args), tool_context=tool_context)


def _for_models(work: Callable[..., Coroutine[Any, Any, str]]) -> Callable[..., Coroutine[Any, Any, str]]:
    """Decorate a method of KeepsTools: read the arguments of a model, and return a sentence also for errors."""
    readable = ToolArguments.of_function(work, without=NOT_THE_MODELS)
    names = list(inspect.signature(work).parameters)[1:]

    @functools.wraps(work)
    async def called(self: KeepsTools, *positional: Any, **named: Any) -> str:
        bound = {**dict(zip(names, positional, strict=False)), **named}
        context = bound.pop("tool_context")
        given = positional[0].arguments if positional and isinstance(positional[0], _Given) else bound
        try:
            arguments = readable.read(given)
        except WrongArgumentsError as error:
            return _not_done(work.__name__, error)
        return await self.answered(work.__name__, work(self, tool_context=context, **arguments))

    return called


def _not_done(tool: str, error: WrongArgumentsError) -> str:
    return f"Nothing was done: {error}. Correct that and call {tool} again."


class KeepsTools:
    """Tools by which a model stores, retrieves and deletes memories of the user that it talks to.

    agent = LlmAgent(tools=KeepsTools().tools, …)

    ADK sets the user, never the model. While memory is unavailable, the tools return a sentence and count it in
    `failures`.
    """

    def __init__(
        self, keeps: Keeps | str | None = None, *, tenant_id: str | None = None, token: str | None = None
    ) -> None:
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def tools(self) -> list[FunctionTool]:
        return [_Tool(each) for each in (self.store_memory, self.retrieve_memories, self.delete_memory)]

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of calls for which memory was unavailable or access denied, by tool."""
        return self._owners.failures

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    @_for_models
    async def store_memory(
        self,
        content: str,
        namespace: str,
        key: str,
        tool_context: ToolContext,
        tags: list[str] | None = None,
        importance: float | None = None,
        ttl_days: float | None = None,
    ) -> str:
        """Remember something about the user for later conversations. The same namespace and key again replaces it;
        tags and importance that are left out stay.

        Args:
          content: What to remember, as a sentence.
          namespace: A category, such as preferences, facts or research.
          key: A short name within the category, such as citation_style.
          tags: Words to find it by.
          importance: From 0.0 to 1.0; what must never be forgotten is 0.9 or more.
          ttl_days: After so many days it is forgotten; leave it out, or give 0, to keep it.
        """
        app = tool_context.session.app_name
        check_namespace(namespace)

        async def store(memory: Memory) -> str:
            fields = {
                "namespace": namespace_of(app, namespace),
                "key": key,
                "metadata": {**of_app(app), "namespace": namespace},
                **given(tags=tags or None, importance=importance),
                **given(session_id=tool_context.session.id, agent_id=getattr(tool_context, "agent_name", None)),
                "ttl_days": ttl_days or 0,  # 0 removes the expiry of a known text, too
            }
            (receipt,) = await memory.remember_many([{"content": content, **fields}], index="now")
            done = {"created": "Stored", "updated": "Replaced", "unchanged": "Already stored"}
            done["held"] = "Waits in the user's inbox"
            return f"{done.get(receipt.status, 'Stored')}: {namespace}/{key} (id {receipt.memory_id})."

        return await self._owners.ask(tool_context.user_id, store)

    @_for_models
    async def retrieve_memories(
        self,
        tool_context: ToolContext,
        query: str | None = None,
        namespace: str | None = None,
        tags: list[str] | None = None,
        all_tags: bool = False,
        min_importance: float = 0.0,
        limit: int = 10,
        max_tokens: int = MOST_TOKENS,
    ) -> str:
        """Find what is remembered about the user. Without a query: the most important first.

        Args:
          query: What to look for, as a question or words.
          namespace: Only of this category.
          tags: Only with one of these tags.
          all_tags: Only with all of these tags.
          min_importance: Only what is at least so important, from 0.0 to 1.0.
          limit: How many at most, 1 to 50.
          max_tokens: How long the answer may be, 200 to 8000.
        """
        if min_importance > 1:
            raise WrongArgumentsError([f"min_importance: must be from 0.0 to 1.0, not {min_importance:g}"])
        app = tool_context.session.app_name
        most = min(max(limit, 1), 50)
        conditions: list[dict[str, Any]] = [own(app, tool_context.user_id)]
        if namespace is not None:
            places = [namespace_of(app, namespace)]
            if namespace in (CONVERSATION, KEYLESS):
                places.append(namespace_of(app))  # the names that lines show for it
            conditions.append({"namespace": {"in": places}})
        if tags:
            within = [{"tags": {"contains": tag}} for tag in tags]
            conditions.append({"AND" if all_tags else "OR": within})
        if min_importance > 0:
            conditions.append({"importance": {"gte": min_importance}})

        async def find(memory: Memory) -> list[tuple[Stored, float | None]]:
            if query and query.strip():
                filters: Any = {"AND": conditions}
                recalled = await memory.recall(query[:10_000], limit=most, filters=filters)
                return [(hit.memory, hit.relevance) for hit in recalled.hits]
            filters = {"AND": [*conditions, {"archived_at": {"exists": False}}]}
            page = await memory.list(filters=filters, order="importance", limit=most)
            return [(stored, None) for stored in page.items]

        hits = await self._owners.ask(tool_context.user_id, find)
        if not hits:
            return "No memory matches."
        return lines_of(hits, min(max(max_tokens, LEAST_TOKENS), MOST_ALLOWED), _place)

    @_for_models
    async def delete_memory(
        self,
        tool_context: ToolContext,
        memory_id: str | None = None,
        namespace: str | None = None,
        key: str | None = None,
        hard_delete: bool = False,
    ) -> str:
        """Forget one memory, by its id or by its namespace and key.

        Args:
          memory_id: The id that retrieve_memories gave.
          namespace: With key, in place of the id.
          key: With namespace, in place of the id.
          hard_delete: Remove it for good. Otherwise it can be restored for 30 days.
        """
        app = tool_context.session.app_name

        async def forget(memory: Memory) -> str:
            if memory_id is not None:
                stored = await find_of_model(memory, app, memory_id)
            elif namespace is not None and key is not None:
                stored = await find_by_key(memory, app, namespace, key)
                if stored is None:
                    raise NotFoundError(f"no memory is stored under {namespace}/{key}")
            else:
                return "Give memory_id, or namespace and key. retrieve_memories shows them."
            await forget_one(memory, app, stored, hard=hard_delete)
            return "Deleted permanently." if hard_delete else "Deleted. It can be restored for 30 days."

        return await self._owners.ask(tool_context.user_id, forget)

    async def answered(self, tool: str, work: Awaitable[str]) -> str:
        """Return the answer of a tool, or a sentence about its error that the model can act on."""
        try:
            return await work
        except WrongArgumentsError as error:
            return _not_done(tool, error)
        except KeepsError as error:
            if isinstance(error, FOR_OPERATORS):
                self._owners.failed(tool, error)
            return sentence(error, missing="No such memory. retrieve_memories lists the memories.", names=NAMES)


def _place(memory: Stored) -> str:
    return f"{memory.metadata.get('namespace', CONVERSATION)}/{memory.key}" if memory.key else KEYLESS
