"""The Markdown folders of all scopes under one root, with their history in the log."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from keeps.base.clock import Clock, new_id
from keeps.base.fairness import TextWorker, acting_for
from keeps.base.scope import Scope
from keeps.memory.providers.markdown.folder import Edit
from keeps.memory.providers.markdown.provider import MarkdownProvider, entry_data
from keeps.memory.providers.markdown.vectors import TextVectors
from keeps.models.counted import CountedChat
from keeps.models.embedder import Embedder
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps.store.tenants.service import Introducer

QUERIES = Statements("keeps.memory.providers")
MAX_OPEN = 1_000
MAX_FOLDER = 200

FoundT = TypeVar("FoundT")


class MarkdownFolders:
    """Opens the folders `root/<tenant>/<user>`, whose names are readable, so that people find theirs."""

    def __init__(
        self,
        root: Path,
        introducer: Introducer,
        chat: CountedChat | None,
        clock: Clock,
        embedder: Embedder | None = None,
    ) -> None:
        self._root = root
        self._introducer = introducer
        self._chat = chat
        self._clock = clock
        self._embedder = embedder
        self._closing: set[asyncio.Task[None]] = set()
        self._open: OrderedDict[tuple[str, str], MarkdownProvider] = OrderedDict()
        self._texts = TextWorker()

    async def close(self) -> None:
        while self._open:
            self._close_later(self._open.popitem()[1])
        await asyncio.gather(*self._closing)
        await self._texts.close()

    def _close_later(self, held: MarkdownProvider) -> None:
        """Stop the background work of a provider without waiting for it."""
        task = asyncio.get_running_loop().create_task(held.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _in_thread(self, scope: Scope, work: Callable[..., FoundT], *arguments: object) -> FoundT:
        with acting_for(scope.tenant_id):
            (found,) = await self._texts.map(lambda _: work(*arguments), [None])
        return found

    def path(self, scope: Scope) -> Path:
        """Return the folder of a scope."""
        return _within(_within(self._root, scope.tenant_id), scope.user_id)

    def remove_tenant(self, tenant_id: str) -> None:
        """Remove the folders of a tenant."""
        for place in [place for place in self._open if place[0] == tenant_id]:
            self._close_later(self._open.pop(place))
        shutil.rmtree(_within(self._root, tenant_id), ignore_errors=True)

    def remove_user(self, scope: Scope) -> int:
        """Remove the folder of a user; return the number of files."""
        if held := self._open.pop((scope.tenant_id, scope.user_id), None):
            self._close_later(held)
        count = len(list(self.path(scope).glob("*.md")))
        shutil.rmtree(self.path(scope), ignore_errors=True)
        return count

    def has(self, scope: Scope) -> bool:
        return self.path(scope).is_dir()

    def of(self, scope: Scope) -> MarkdownProvider:
        place = (scope.tenant_id, scope.user_id)
        provider = self._open.get(place)
        if provider is None:
            owner = Scope(scope.tenant_id, scope.user_id)
            provider = MarkdownProvider(
                self.path(scope),
                self._clock,
                lambda edits: self._tell(owner, edits),
                None if self._chat is None else self._chat.of(owner),
                partial(self._in_thread, owner),
                None if self._embedder is None else TextVectors(self._embedder, scope.tenant_id),
            )
            self._open[place] = provider
            if len(self._open) > MAX_OPEN:
                self._close_later(self._open.popitem(last=False)[1])
        self._open.move_to_end(place)
        return provider

    async def _tell(self, scope: Scope, edits: Sequence[Edit]) -> None:
        """Log edits.

        Deleted contents are erased from the log, too, since the file was the only place that kept them.
        """
        async for attempt in self._introducer.writing(scope):
            async with attempt as tx:
                now = self._clock()
                news: list[NewEvent] = []
                for edit in edits:
                    subject = f"markdown/{edit.key}"
                    if edit.kind == "deleted":
                        await tx.execute(QUERIES["provider_redact"], subject)
                    kind = "memory.written" if edit.kind == "written" else "memory.deleted"
                    news.append(NewEvent(new_id(), kind, subject, now, "private", scope.agent_id, entry_data(edit)))
                await events.append(tx, news)


def _within(parent: Path, name: str) -> Path:
    """Return the folder of a tenant or user; one that an earlier version named differently is renamed first."""
    folder, before = parent / _folder(name), quote(name, safe=" @+=,")
    before = before.replace(".", "%2E") if before.startswith(".") else before
    # With a tilde it could be another user's shortened name.
    if (
        before != folder.name
        and "~" not in before
        and not folder.exists()
        and parent.is_dir()
        and before in os.listdir(parent)
    ):
        (parent / before).rename(folder)
    return folder


def _folder(name: str) -> str:
    """Return the name of a tenant or user encoded as one folder, which cannot act as a path."""
    encoded = quote(name, safe=" @+=,").replace("~", "%7E")
    # On a case-insensitive file system Alice and alice stay distinct, and only shortened names end like this.
    if len(encoded) > MAX_FOLDER or encoded != encoded.lower():
        encoded = f"{encoded[:100]}~{hashlib.sha256(name.encode()).hexdigest()[:40]}"
    return encoded.replace(".", "%2E") if encoded.startswith(".") else encoded
