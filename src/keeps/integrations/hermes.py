"""Hermes: a memory provider.

python -m keeps.integrations.hermes     # writes $HERMES_HOME/plugins/keeps
hermes config set memory.provider keeps

Each turn is stored as a conversation, with the facts that the user states, and the prompt gets what is known for the
message. Three tools let the model recall, remember and forget.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

try:
    from agent.memory_provider import MemoryProvider
except ImportError as error:
    raise ImportError("keeps.integrations.hermes needs hermes-agent: pip install 'keeps[hermes]'") from error

from pydantic import BaseModel, Field, ValidationError

from keeps.engine import Keeps
from keeps.integrations.arguments import ToolArguments, WrongArgumentsError
from keeps.integrations.budgets import LEAST_TOKENS, MOST_ALLOWED, MOST_TOKENS
from keeps.integrations.lines import lines_of
from keeps.integrations.owners import Owners
from keeps.integrations.sentences import FOR_OPERATORS, sentence
from keeps.integrations.storable import storable
from keeps.integrations.turns import key_of, store_turns, turns_of
from keeps_client.errors import KeepsError, NotFoundError, ValidationFailedError
from keeps_client.memory.whole import Memory
from keeps_client.models import Filters
from keeps_client.models.context import SectionName

NAME = "keeps"
SOURCE = "hermes"
"""The source of memories that Hermes' own memory tool also wrote into its files."""
QUERY_CHARACTERS = 10_000
CONTEXT_TOKENS = 1_500
SECTIONS: tuple[SectionName, ...] = ("long_term", "temporal", "conversations", "activity", "skills", "knowledge")
"""All but `session`: Hermes sends the messages of the session itself."""
WRITING = ("primary", "")
"""Contexts whose turns are stored: not those of subagents and scheduled jobs."""
ANYBODY = "*"
AnswerT = TypeVar("AnswerT")
_INIT = '''"""Keeps as a MemoryProvider of Hermes."""

from keeps.integrations.hermes import register

__all__ = ["register"]
'''
_MANIFEST = "name: keeps\nversion: 1.0.0\ndescription: Keeps remembers what users say, in PostgreSQL, without an LLM\n"


class Settings(BaseModel):
    """`$HERMES_HOME/keeps.json`. The environment says the rest: KEEPS_URL, KEEPS_TENANT_ID and others.

    `user_id`: the user of calls without a user of a platform, as on the command line; else KEEPS_USER_ID. `users`: the
    users in Keeps of those of platforms, such as `telegram:4711`; `*` stands for all others.
    """

    url: str | None = None
    tenant_id: str | None = None
    user_id: str | None = None
    users: dict[str, str] = Field(default_factory=dict[str, str])


class Recall(BaseModel):
    """Find what is remembered about the user from earlier conversations, best first."""

    query: str = Field(description="What to look for, as a question or words")
    limit: int = Field(default=10, description="How many at most, 1 to 50")
    max_tokens: int = Field(default=MOST_TOKENS, description="How long the answer may be, 200 to 8000")


class Remember(BaseModel):
    """Remember something about the user for later conversations. The same text again changes nothing."""

    content: str = Field(description="What to remember, as a sentence")
    tags: list[str] = Field(default_factory=list[str], description="Words to find it by")
    importance: float | None = Field(default=None, description="From 0.0 to 1.0; what must never be forgotten is 0.9")


class Forget(BaseModel):
    """Forget one memory. It can be restored for 30 days."""

    memory_id: str = Field(description="The id that keeps_recall gave")


TOOLS: dict[str, type[BaseModel]] = {"keeps_recall": Recall, "keeps_remember": Remember, "keeps_forget": Forget}


class KeepsMemoryProvider(MemoryProvider):
    """The memory of the user that Hermes talks to.

    Hermes names the user: `telegram:4711` on a platform, else the user of the settings. While memory is unavailable
    there is no context and nothing is stored, which is logged and counted in `failures`.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: the settings and the environment.
    """

    def __init__(
        self, keeps: Keeps | str | None = None, *, tenant_id: str | None = None, token: str | None = None
    ) -> None:
        self._keeps, self._tenant_id, self._token = keeps, tenant_id, token
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)
        self._user_id: str | None = None
        self._is_ready = False
        self._session_id = ""
        self._stores_turns = False

    @property
    def name(self) -> str:
        return NAME

    @property
    def user_id(self) -> str | None:
        """The owner of what is stored; None: the user of the token, or the default one."""
        return self._user_id

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    def is_available(self) -> bool:
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Read the settings, and whose memory it is. Nothing is connected before the first call."""
        settings = read_settings(kwargs.get("hermes_home"))
        if self._keeps is None and (settings.url or settings.tenant_id):
            tenant_id = self._tenant_id or settings.tenant_id
            self._owners = Owners(settings.url, tenant_id=tenant_id, token=self._token)
        self._session_id = session_id
        self._user_id = user_of(settings, str(kwargs.get("platform") or "cli"), kwargs.get("user_id"))
        self._stores_turns = kwargs.get("agent_context", "") in WRITING
        self._is_ready = True

    def system_prompt_block(self) -> str:
        return (
            "# Memory\nYou remember this user from earlier conversations. What is known for a message is added to it."
            " Call keeps_recall for more, keeps_remember for what the user wants you to keep, and keeps_forget for"
            " what they want forgotten."
        )

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what is known for a message; empty while memory is unavailable."""
        question = storable(query).strip()[-QUERY_CHARACTERS:]
        if not question:
            return ""

        async def read(memory: Memory) -> str:
            context = await memory.context(
                question, session_id=self._session(session_id), budget_tokens=CONTEXT_TOKENS, sections=SECTIONS
            )
            return context.text

        return self._tried("prefetch", read, "")

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        """Store a turn. The same turn again within 24 hours changes nothing."""
        said = ("user", user_content), ("assistant", assistant_content)
        turns = turns_of({"role": role, "content": text} for role, text in said)
        if not turns or not self._stores_turns:
            return
        session = self._session(session_id) or NAME
        key = key_of(NAME, session, len(messages or ()), turns)
        self._tried("sync_turn", lambda memory: store_turns(memory, turns, session, key=key), None)

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        self._session_id = new_session_id

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """End the conversation, so that its summary is stored."""
        session = self._session("")
        if session is None or not messages or not self._stores_turns:
            return

        async def end(memory: Memory) -> None:
            try:
                await memory.end_session(session)
            except NotFoundError:
                return

        self._tried("on_session_end", end, None)

    def on_memory_write(self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Do with the memories of `target` what Hermes' own memory tool did with its file."""
        text, old_text = storable(content).strip(), storable(str((metadata or {}).get("old_text") or "")).strip()
        if self._stores_turns:
            self._tried("on_memory_write", lambda memory: _mirror(memory, action, target, text, old_text), None)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "description": model.__doc__ or "", "parameters": model.model_json_schema()}
            for name, model in TOOLS.items()
        ]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **_: Any) -> str:
        """Return the answer of a tool as JSON, also a sentence about an error that the model can act on."""
        try:
            return json.dumps({"result": self._called(tool_name, args)}, ensure_ascii=False)
        except WrongArgumentsError as error:
            return _error(f"Nothing was done: {error}. Correct that and call {tool_name} again.")
        except KeepsError as error:
            if isinstance(error, FOR_OPERATORS):
                self._owners.failed(tool_name, error)
            return _error(sentence(error, missing="No such memory. keeps_recall lists the memories."))

    def shutdown(self) -> None:
        """Close what this object opened."""
        self._owners.close_now()

    def get_config_schema(self) -> list[dict[str, Any]]:
        return [
            {"key": "url", "description": "Address of a Keeps server; empty: in this process"},
            {"key": "token", "description": "Key of the server", "secret": True, "env_var": "KEEPS_TOKEN"},
            {"key": "user_id", "description": "Your user in Keeps", "default": "default"},
        ]

    def save_config(self, values: dict[str, Any], hermes_home: str) -> None:
        """Write the settings that are given, and keep the others."""
        kept = read_settings(hermes_home).model_dump(exclude_none=True)
        given = {name: value for name, value in values.items() if name in Settings.model_fields and value}
        settings = Settings.model_validate({**kept, **given})
        path = Path(hermes_home) / f"{NAME}.json"
        path.write_text(settings.model_dump_json(exclude_none=True, indent=2) + "\n", encoding="utf-8")

    def _session(self, session_id: str) -> str | None:
        return session_id or self._session_id or None

    def _tried(self, what: str, work: Callable[[Memory], Awaitable[AnswerT]], otherwise: AnswerT) -> AnswerT:
        """Return the result of `work`; count and log a failure."""
        if not self._is_ready:
            return otherwise
        try:
            return self._owners.now(self._owners.ask(self._user_id, work))
        except KeepsError as error:
            self._owners.failed(what, error)
            return otherwise

    def _called(self, tool_name: str, args: dict[str, Any]) -> str:
        model = TOOLS.get(tool_name)
        if model is None:
            raise ValidationFailedError(f"no tool is called {tool_name[:100]!r}")
        if not self._is_ready:  # the settings were refused, so nobody knows whose memory it is
            raise ValidationFailedError("the memory is not configured")
        arguments = ToolArguments(model).read(args)
        work = {Recall: _recall, Remember: _remember, Forget: _forget}[model]
        return self._owners.now(self._owners.ask(self._user_id, lambda memory: work(memory, **arguments)))


def register(ctx: Any) -> None:
    """Register the provider; Hermes calls this when it loads the plugin."""
    ctx.register_memory_provider(KeepsMemoryProvider())


def install(hermes_home: str | Path | None = None) -> Path:
    """Write the plugin by which Hermes finds the provider; return its folder.

    `hermes_home`: default HERMES_HOME, or else ~/.hermes.
    """
    home = Path(hermes_home or os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
    folder = home / "plugins" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(_INIT, encoding="utf-8")
    (folder / "plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    return folder


def read_settings(hermes_home: object) -> Settings:
    """Return the settings of a home; the default ones without a file. Raises ValidationFailedError."""
    path = None if not hermes_home else Path(str(hermes_home)) / f"{NAME}.json"
    if path is None or not path.exists():
        return Settings()
    try:
        return Settings.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValidationFailedError(f"{path}: {error.errors()[0]['msg']}") from None


def user_of(settings: Settings, platform: str, user_id: object) -> str | None:
    """Return the user in Keeps. The platform is part of it: the same number on two platforms is two people."""
    if user_id is None or user_id == "":
        return settings.user_id or os.environ.get("KEEPS_USER_ID") or None
    name = f"{platform}:{user_id}"
    return settings.users.get(name) or settings.users.get(ANYBODY) or name


async def _recall(memory: Memory, query: str, limit: int, max_tokens: int) -> str:
    if not query.strip():
        raise WrongArgumentsError(["query: must not be empty"])
    result = await memory.recall(query[:QUERY_CHARACTERS], limit=min(max(limit, 1), 50))
    if not result.hits:
        return "No memory matches."
    hits = [(hit.memory, hit.relevance) for hit in result.hits]
    return lines_of(hits, min(max(max_tokens, LEAST_TOKENS), MOST_ALLOWED), lambda stored: stored.kind)


async def _remember(memory: Memory, content: str, tags: list[str], importance: float | None) -> str:
    receipt = await memory.remember(content, tags=tuple(tags), importance=importance)
    done = {"created": "Stored", "unchanged": "Already stored", "held": "Waits in the user's inbox"}
    return f"{done.get(receipt.status, 'Stored')} (id {receipt.memory_id})."


async def _forget(memory: Memory, memory_id: str) -> str:
    await memory.forget(memory_id)
    return "Deleted. It can be restored for 30 days."


async def _mirror(memory: Memory, action: str, target: str, text: str, old_text: str) -> None:
    """Repeat a write of Hermes' own memory tool, which names an entry by a part of its text."""
    wanted: Filters = {
        "AND": [{"visibility": {"eq": "private"}}, {"source": {"eq": SOURCE}}, {"tags": {"contains": [target]}}]
    }
    part = old_text or text
    if action in ("replace", "remove") and part:
        page = await memory.list(filters={"AND": [wanted, {"content": {"substring": part}}]}, limit=2)
        if len(page.items) == 1:
            stored = page.items[0].memory_id
            await (memory.update(stored, content=text) if action == "replace" and text else memory.forget(stored))
            return
    if action in ("add", "replace") and text:
        await memory.remember(text, source=SOURCE, tags=[target])


def _error(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)


if __name__ == "__main__":
    print(install(sys.argv[1] if sys.argv[1:] else None))
