"""Resources and prompts of the memory server, and ids as models write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, InputRequiredResult

from keeps.integrations.marks import marked
from keeps.integrations.mcp.answers import sentence
from keeps.integrations.memory_tools import WrongIdError, id_of
from keeps_client.errors import KeepsError, NotFoundError
from keeps_client.memory.whole import Memory

MemoryOf = Callable[[], Memory]
"""Returns the caller's memory."""


class PromptServer(MCPServer[Any]):
    """A server with helpful errors for unknown prompts and missing arguments; the SDK reports internal errors."""

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {name[:100]!r}; the prompts are {', '.join(prompts)}")
        for argument in prompts[name].arguments or []:
            if argument.required and not (arguments or {}).get(argument.name):
                raise MCPError(INVALID_PARAMS, f"the prompt {name} needs the argument {argument.name}")
        return await super().get_prompt(name, arguments, context)


def add_resources(server: MCPServer[Any], memory_of: MemoryOf) -> None:
    @server.resource("memory://{memory_id}", title="A memory", mime_type="text/plain")
    async def one(memory_id: str) -> str:
        """A memory by its id."""
        return await _read(f"memory://{memory_id}", _memory_text(memory_of(), memory_id))

    @server.resource("session://{session_id}/notes", title="Notes of a session", mime_type="text/plain")
    async def notes(session_id: str) -> str:
        """The topics of a conversation so far."""
        return await _read(f"session://{session_id}/notes", _notes_text(memory_of(), session_id))


async def _memory_text(memory: Memory, memory_id: str) -> str:
    held = await memory.get(id_of(memory_id))
    if held.deleted_at is not None:
        raise ResourceNotFoundError(f"memory://{memory_id} is forgotten")
    return marked(held)


async def _notes_text(memory: Memory, session_id: str) -> str:
    notes = await memory.session_notes(session_id)
    if notes is None:
        raise ResourceNotFoundError(f"the session {session_id!r} has no messages")
    lines = [f"- {each.kind}: {each.text}" for each in notes.items]
    return "\n".join([notes.summary, *lines]).strip()


async def _read(uri: str, work: Any) -> str:
    try:
        return str(await work)
    except (NotFoundError, WrongIdError):
        raise ResourceNotFoundError(f"{uri} does not exist, or you may not read it") from None
    except KeepsError as error:
        raise ResourceError(sentence(error)) from None


def add_prompts(server: MCPServer[Any]) -> None:
    @server.prompt(title="What do you remember?")
    def what_do_you_remember(topic: str) -> list[Message]:
        """Answer from memory alone."""
        return [UserMessage(f"Call recall about {topic!r}, and tell me what you remember, with dates. Add nothing.")]

    @server.prompt(title="Remember this conversation")
    def remember_this_conversation() -> list[Message]:
        """Store the parts of this conversation that will matter later."""
        return [
            UserMessage(
                "Go through our conversation. For each fact, preference or decision of mine that will matter later,"
                " call recall to see whether it is stored, then remember it, or correct the stored memory with"
                " update_memory. Then list what you stored."
            )
        ]
