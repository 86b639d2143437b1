"""LangChain: a retriever for memories and documents, and the history of a chat.

    retriever = KeepsRetriever(user_id="alice")
    history = KeepsChatMessageHistory("session-1", user_id="alice")

In a chain, each call may set the user: `config={"configurable": {"user_id": "alice"}}`. The tenant comes from the
settings or the token.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables.config import RunnableConfig, ensure_config
except ImportError as error:
    raise ImportError("keeps.integrations.langchain needs langchain-core: pip install 'keeps[langchain]'") from error

from pydantic import Field, PrivateAttr

from keeps.base.text.fences import shown
from keeps.engine import Keeps
from keeps.integrations.marks import marked
from keeps.integrations.owners import NOT_ALLOWED, Owners
from keeps.integrations.transcripts import delete_session, read_entries
from keeps_client.checked import validated
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.memory.whole import Memory
from keeps_client.models import DocumentHits, NewTranscriptEntry, RecallResult

AT_ONCE = 500


class KeepsRetriever(BaseRetriever):
    """Retrieves memories or passages for a question, best first.

    While memory is unavailable, it finds nothing, which is logged and counted in `failures`.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        source: The memories of the user, or the documents of the organisation.
        k: Maximum number of results, also for one call (`invoke(question, k=3)`).
        min_relevance: From 0 to 1: leave out less relevant results. Without it the nearest are returned, each with its
            `relevance` in the metadata.
        options: More arguments of `recall` or `search_documents`.
    """

    keeps: Any = None
    tenant_id: str | None = None
    token: str | None = Field(default=None, repr=False, exclude=True)
    user_id: str | None = None
    source: Literal["memories", "documents"] = "memories"
    k: int = 10
    min_relevance: float | None = None
    options: dict[str, Any] = {}  # noqa: RUF012  pydantic copies it

    _owners: Owners = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        self._owners = Owners(self.keeps, tenant_id=self.tenant_id, token=self.token)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002
        return super().invoke(input, config, **{"user_id": _user_of(config), **kwargs})

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002
        return await super().ainvoke(input, config, **{"user_id": _user_of(config), **kwargs})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        user_id: str | None = None,
    ) -> list[Document]:
        del run_manager
        return self._owners.now(self._found(query, k, user_id))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        user_id: str | None = None,
    ) -> list[Document]:
        del run_manager
        return await self._owners.run(self._found(query, k, user_id))

    async def _found(self, query: str, k: int | None, user_id: str | None) -> list[Document]:
        if not query.strip():
            return []
        limit = self.k if k is None else k

        async def work(memory: Memory) -> list[Document]:
            if self.source == "documents":
                return _passages(await memory.search_documents(query[:10_000], limit=limit, **self.options), self)
            found = await memory.recall(query[:10_000], limit=limit, min_relevance=self.min_relevance, **self.options)
            return _memories(found)

        try:
            return await self._owners.ask(user_id or self.user_id, work)
        except (*NOT_ALLOWED, ValidationFailedError):
            raise
        except KeepsError as error:
            self._owners.failed("retrieve", error)
            return []

    async def aclose(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    def close(self) -> None:
        """Close what this object opened, without await."""
        self._owners.close_now()


class KeepsChatMessageHistory(BaseChatMessageHistory):
    """The messages of a chat, verbatim and in order, separate for each user.

    Concurrent writers lose no messages. While memory is unavailable, there are no messages, which is logged and counted
    in `failures`; adding messages raises.

    Args:
        app: The application of the chats.
        remember: Store the messages of people and models as memories, too.
    """

    def __init__(
        self,
        session_id: str,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
        app: str = "langchain",
        remember: bool = False,
    ) -> None:
        self.session_id, self._user_id, self._app, self._remember = session_id, user_id, app, remember
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]  as LangChain does
        """The messages, oldest first."""
        return self._owners.now(self._read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._owners.now(self._add(messages))

    def clear(self) -> None:
        """Erase the messages."""
        self._owners.now(self._clear())

    async def aget_messages(self) -> list[BaseMessage]:
        return await self._owners.run(self._read())

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await self._owners.run(self._add(messages))

    async def aclear(self) -> None:
        await self._owners.run(self._clear())

    async def aclose(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    def close(self) -> None:
        """Close what this object opened, without await."""
        self._owners.close_now()

    async def _read(self) -> list[BaseMessage]:
        async def work(memory: Memory) -> list[BaseMessage]:
            entries, _ = await read_entries(memory, self._app, self.session_id)
            told: list[Any] = [each.entry for each in entries]
            return messages_from_dict(told)

        try:
            return await self._owners.ask(self._user_id, work)
        except (*NOT_ALLOWED, ValidationFailedError):
            raise
        except KeepsError as error:
            self._owners.failed("messages", error)
            return []

    async def _add(self, messages: Sequence[BaseMessage]) -> None:
        entries = [
            validated(
                NewTranscriptEntry, {"entry_id": message.id or str(uuid.uuid4()), "entry": message_to_dict(message)}
            )
            for message in messages
        ]

        async def work(memory: Memory) -> None:
            for start in range(0, len(entries), AT_ONCE):
                part = entries[start : start + AT_ONCE]
                await memory.append_to_transcript(self._app, self.session_id, part, create=True)
            turns: list[Any] = [
                {"role": {"human": "user", "ai": "assistant"}[message.type], "content": text}
                for message in messages
                if message.type in ("human", "ai") and (text := str(message.text)).strip()
            ]
            if self._remember and turns:
                await memory.store_exchange(turns, session_id=self.session_id)

        if entries:
            await self._owners.ask(self._user_id, work)

    async def _clear(self) -> None:
        await self._owners.ask(self._user_id, lambda memory: delete_session(memory, self._app, self.session_id))


def _user_of(config: RunnableConfig | None) -> str | None:
    """Return the user that a call names in its configuration, or None."""
    found = ensure_config(config).get("configurable", {}).get("user_id")
    return None if found is None else str(found)


def _memories(found: RecallResult, asking: str | None = None) -> list[Document]:
    return [
        Document(
            id=str(hit.memory.memory_id),
            page_content=marked(hit.memory, asking=asking),
            metadata={
                **hit.memory.metadata,
                "kind": hit.memory.kind,
                "user_id": hit.memory.user_id,
                "visibility": hit.memory.visibility,
                "archived": hit.memory.archived_at is not None,
                "tags": list(hit.memory.tags),
                "valid_from": hit.memory.valid_from.isoformat(),
                "score": hit.score,
                "relevance": hit.relevance,
            },
        )
        for hit in found.hits
    ]


def _passages(found: DocumentHits, retriever: KeepsRetriever) -> list[Document]:
    least = retriever.min_relevance
    return [
        Document(
            id=str(hit.memory_id),
            page_content=shown(hit.content, "document"),
            metadata={
                "title": hit.citations[0].title if hit.citations else None,
                "source": hit.citations[0].source if hit.citations else None,
                "page": hit.citations[0].page if hit.citations else None,
                "score": hit.score,
                "relevance": hit.relevance,
            },
        )
        for hit in found.hits
        if least is None or hit.relevance is None or hit.relevance >= least
    ]
