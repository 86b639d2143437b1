"""An exchange is prepared before its transaction."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.memories.changes import Write
from keeps.memory.memories.service import MemoryService
from keeps.store.db.session import forbid_inside_transaction
from keeps_client.models import NewMemory
from tests.conversations.test_conversations import said


async def test_exchange_is_prepared_before_its_transaction(
    living: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an exchange is validated, stemmed and hashed, the other writers of its tenant need not wait."""
    prepared: list[int] = []
    prepare = MemoryService.prepare

    async def checked(
        self: MemoryService, scope: Scope, items: Sequence[NewMemory], *, index_now: bool, derived: bool = False
    ) -> list[Write]:
        forbid_inside_transaction("the preparation of memories")
        prepared.append(len(items))
        return await prepare(self, scope, items, index_now=index_now, derived=derived)

    monkeypatch.setattr(MemoryService, "prepare", checked)
    messages = said("I live in Leeds.", "I work at Acme. I'm allergic to peanuts.")
    receipt = await living.memory(Scope(tenant, "alice")).store_exchange(messages, session_id="s1")
    assert [each.status for each in (*receipt.messages, *receipt.facts)] == ["created"] * 5
    assert prepared == [2, 1, 2], "the messages, then the facts of each"


async def test_fact_of_repeated_message_names_stored_message(living: Keeps, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    message = {"role": "user", "content": "I live in Leeds.", "occurred_at": "2026-01-05T10:00:00Z"}
    first = await alice.store_exchange([message], session_id="s1")
    await alice.forget(first.facts[0].memory_id)
    again = await alice.store_exchange([message], session_id="s1")
    assert [each.status for each in again.messages] == ["unchanged"]
    assert again.messages[0].memory_id == first.messages[0].memory_id
    assert again.facts[0].memory.metadata["read_in"] == str(first.messages[0].memory_id)
