"""Tools by which a model stores, retrieves and deletes memories."""

from __future__ import annotations

from typing import Any

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from keeps.engine import Keeps
from keeps.integrations.adk.memory import forget_one, namespace_of, of_app, of_this_app, own
from keeps.integrations.owners import Owners
from keeps_client.errors import (
    KeepsError,
    NotFoundError,
    UnavailableError,
)
from keeps_client.memory.whole import Memory
from keeps_client.models import Memory as Stored
from keeps_client.models.recall import WEAK_RELEVANCE
from keeps_client.validation import given


class KeepsTools:
    """Tools by which a model stores, retrieves and deletes memories of the user that it talks to.

    agent = LlmAgent(tools=KeepsTools().tools, …)

    Whose they are is ADK's to say, never the model's. Where memory is away they answer in a sentence.
    """

    def __init__(
        self, keeps: Keeps | str | None = None, *, tenant_id: str | None = None, token: str | None = None
    ) -> None:
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def tools(self) -> list[FunctionTool]:
        return [FunctionTool(each) for each in (self.store_memory, self.retrieve_memories, self.delete_memory)]

    async def close(self) -> None:
        """Let go of what was opened here."""
        await self._owners.close()

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

        async def store(memory: Memory) -> str:
            fields = {
                "namespace": namespace_of(app, namespace),
                "key": key,
                "metadata": {**of_app(app), "namespace": namespace},
                **given(tags=tags or None, importance=importance),
                "ttl_days": ttl_days or 0,  # 0: without an end, also where the text is known and had one
            }
            (receipt,) = await memory.remember_many([{"content": content, **fields}], index="now")
            done = {"created": "Stored", "updated": "Replaced", "unchanged": "Known already"}
            return f"{done.get(receipt.status, 'Stored')}: {namespace}/{key} (id {receipt.memory_id})."

        return await self._answered("store_memory", tool_context, store)

    async def retrieve_memories(
        self,
        tool_context: ToolContext,
        query: str | None = None,
        namespace: str | None = None,
        tags: list[str] | None = None,
        all_tags: bool = False,
        min_importance: float = 0.0,
        limit: int = 10,
    ) -> str:
        """Find what is remembered about the user. Without a query: the most important first.

        Args:
          query: What to look for, as a question or words.
          namespace: Only of this category.
          tags: Only with one of these tags.
          all_tags: Only with all of these tags.
          min_importance: Only what is at least so important, from 0.0 to 1.0.
          limit: How many at most, 1 to 50.
        """
        app = tool_context.session.app_name

        async def find(memory: Memory) -> str:
            most = min(max(int(limit), 1), 50)
            conditions: list[dict[str, Any]] = [own(app, tool_context.user_id)]
            if namespace is not None:
                conditions.append({"namespace": {"eq": namespace_of(app, namespace)}})
            if tags:
                within = [{"tags": {"contains": each}} for each in tags]
                conditions.append({"AND" if all_tags else "OR": within})
            if min_importance > 0:
                conditions.append({"importance": {"gte": min_importance}})
            filters: Any = {"AND": conditions}
            if query and query.strip():
                asked = await memory.recall(query[:10_000], limit=most, filters=filters)
                lines = [_line(hit.memory, hit.relevance) for hit in asked.hits]
            else:
                page = await memory.list(filters=filters, order="importance", limit=most)
                lines = [_line(each) for each in page.items]
            return "\n".join(lines) or "Nothing is stored that fits."

        return await self._answered("retrieve_memories", tool_context, find)

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
                held = await of_this_app(memory, app, memory_id)
            elif namespace is not None and key is not None:
                found = await memory.find(namespace_of(app, namespace), key)
                if found is None:
                    raise NotFoundError(f"nothing is remembered under {namespace}/{key}")
                held = found
            else:
                return "Say which: give memory_id, or namespace and key. retrieve_memories shows them."
            await forget_one(memory, app, held, hard=hard_delete)
            return "Deleted for good." if hard_delete else "Deleted. It can be restored for 30 days."

        return await self._answered("delete_memory", tool_context, forget)

    async def _answered(self, what: str, context: ToolContext, work: Any) -> str:
        """A sentence that the model can act on, whatever happens."""
        try:
            return await self._owners.ask(context.user_id, work)
        except UnavailableError as error:
            self._owners.failed(what, error)
            return "Memory cannot be reached right now, so nothing was done. Go on without it, and try again later."
        except NotFoundError:
            return "There is no such memory. retrieve_memories shows what there is."
        except KeepsError as error:
            return f"That was not done: {error.detail}. Change it and call again."
        except (TypeError, ValueError):  # a model gives what it likes
            return "That was not done: an argument is of the wrong type. Change it and call again."


def _line(memory: Stored, relevance: float | None = None) -> str:
    """One memory. What is weakly relevant to the question is marked."""
    weak = "(may be related) " if relevance is not None and relevance < WEAK_RELEVANCE else ""
    place = f"{memory.metadata.get('namespace', 'conversation')}/{memory.key}" if memory.key else "memory"
    tags = f", tags {', '.join(memory.tags)}" if memory.tags else ""
    content = " ".join(memory.content.split())
    return f"- {place}: {weak}{content} (importance {memory.importance:g}{tags}, id {memory.memory_id})"
