"""Runs Hindsight's calls on memories, for one bank: the memory of one user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.budgets import tokens
from keeps.integrations.hindsight.shapes import (
    SOURCE,
    FactType,
    RecallRequest,
    ReflectRequest,
    RetainItem,
    RetainRequest,
    check_settings,
    disposition_of,
    kinds_of,
    shown_fact,
    shown_profile,
    shown_unit,
    type_of,
)
from keeps.integrations.marks import marked
from keeps.integrations.product_api import administers, forget_all, own_memories, without_passages
from keeps.memory.memories.counts import MemoryCounts
from keeps.sources.importing.records import MAX_SECTION_CHARACTERS, fitted, pieces
from keeps_client.checked import validated
from keeps_client.errors import NotFoundError
from keeps_client.memory.admin import Admin
from keeps_client.models import Filters, Hit, NewMemory
from keeps_client.models.common import MAX_LIMIT

_PROFILE = ("hindsight", "bank")
_KEY = "profile"
_QUERY_CHARACTERS = 10_000
_HITS = {"low": 10, "mid": 25, "high": 50}
_LEAST_TOKENS, _MOST_TOKENS = 50, 200_000
_SUBJECTS = 10_000


class Calls:
    """The calls of one bank: `scope` is its user, whom the credentials may act for."""

    def __init__(self, keeps: Keeps, scope: Scope) -> None:
        self._keeps, self._scope = keeps, scope
        self._memory = keeps.memory(scope)

    @property
    def bank_id(self) -> str:
        return self._scope.user_id

    async def profile(self) -> dict[str, Any]:
        return shown_profile(self.bank_id, await self._settings())

    async def change_profile(self, changes: dict[str, Any]) -> dict[str, Any]:
        return shown_profile(self.bank_id, await self._change(changes))

    async def config(self) -> dict[str, Any]:
        return self._shown_config(await self._settings())

    async def change_config(self, updates: dict[str, Any]) -> dict[str, Any]:
        return self._shown_config(await self._change(updates))

    async def clear_config(self) -> dict[str, Any]:
        await self._memory.delete_item(_PROFILE, _KEY)
        return self._shown_config({})

    async def delete(self) -> dict[str, Any]:
        """Forget the memories and the profile of the bank. The memories can be restored for 30 days."""
        deleted = await self.clear(None)
        await self._memory.delete_item(_PROFILE, _KEY)
        return {**deleted, "message": f"Bank {self.bank_id!r} was deleted"}

    async def clear(self, types: list[FactType] | None) -> dict[str, Any]:
        """Forget the memories of the bank, or those of some types."""
        count = await forget_all(self._keeps, self._scope, without_passages(self._own(_filter_of_kinds(types))))
        return {"success": True, "message": f"{count} memories were deleted", "deleted_count": count}

    async def retain(self, body: RetainRequest) -> dict[str, Any]:
        """Store texts as they are, long ones in parts; a document that is retained again replaces its old parts."""
        items = [item for item in body.items if item.text().strip()]
        news = [new for item in items for new in _memories_of(item, body.document_tags or [])]
        appended = {_document(item) for item in items if item.update_mode == "append"}
        replaced = {_document(item) for item in items} - appended - {None}
        # Read before writing: the parts of a concurrent call are not among them, so it does not lose them.
        before = [memory_id for document in replaced for memory_id in await self._parts(str(document))]
        receipts = await self._memory.remember_many(news)
        kept = {receipt.memory_id for receipt in receipts}
        for memory_id in before:
            if memory_id not in kept:
                with suppress(NotFoundError):  # A concurrent call forgot it.
                    await self._memory.forget(memory_id)
        return {"success": True, "bank_id": self.bank_id, "items_count": len(items), "async": False}

    async def recall(self, body: RecallRequest) -> dict[str, Any]:
        """Return the memories nearest to a query, best first, within `max_tokens`."""
        limit = _HITS[body.budget or "mid"]
        hits = await self._hits(body.query, limit, body.filters(), body.types, body.min_relevance())
        results = [
            {**shown_fact(hit.memory, text, type_of(hit.memory, body.types)), "scores": _scores(hit)}
            for hit, text in _within(hits, body.max_tokens)
        ]
        return {"results": results}

    async def reflect(self, body: ReflectRequest) -> dict[str, Any]:
        """Return what is known for a question as text: Keeps asks no model for an answer."""
        body.refuse("response_schema")
        budget = min(max(body.max_tokens, _LEAST_TOKENS), _MOST_TOKENS)
        facts: list[dict[str, Any]]
        filters = body.filters()
        if filters is None and not body.fact_types:
            context = await self._memory.context(body.query[-_QUERY_CHARACTERS:], budget_tokens=budget)
            text = context.text
            items = [item for section in context.sections for item in section.items if item.memory_id is not None]
            facts = [{"id": str(item.memory_id), "text": item.text, "type": "world"} for item in items]
        else:
            limit = _HITS[body.budget or "low"]
            hits = await self._hits(body.query, limit, filters, body.fact_types, None)
            chosen = list(_within(hits, budget))
            text = "\n".join(f"- {marked(hit.memory, line)}" for hit, line in chosen)
            facts = [shown_fact(hit.memory, line, type_of(hit.memory, body.fact_types)) for hit, line in chosen]
        wants_facts = (body.include or {}).get("facts") is not None
        return {"text": text, "based_on": {"memories": facts} if wants_facts else None}

    async def page(self, filters: Filters | None, offset: int, limit: int) -> dict[str, Any]:
        """Return a page of the bank's own memories, newest first."""
        counts, chosen = self._keeps.service(MemoryCounts), without_passages(self._own(filters))
        memories = await counts.window(self._scope, chosen, offset, limit)
        total = await counts.count(self._scope, chosen)
        return {"items": [shown_unit(memory) for memory in memories], "total": total, "limit": limit, "offset": offset}

    def _own(self, filters: Filters | None) -> Filters:
        return own_memories(self.bank_id, filters)

    async def _hits(
        self,
        query: str,
        limit: int,
        filters: Filters | None,
        types: list[FactType] | None,
        min_relevance: float | None,
    ) -> list[Hit]:
        result = await self._memory.recall(
            query[-_QUERY_CHARACTERS:],
            limit=limit,
            kinds=kinds_of(types),
            filters=self._own(filters),
            scope="own",
            min_relevance=min_relevance,
        )
        return result.hits

    async def _parts(self, document: str) -> list[UUID]:
        """Return the parts of a document."""
        filters = self._own({"AND": [{"session_id": {"eq": document}}, {"source": {"eq": SOURCE}}]})
        counts, parts = self._keeps.service(MemoryCounts), list[UUID]()
        while page := await counts.window(self._scope, filters, len(parts), MAX_LIMIT):
            parts += [memory.memory_id for memory in page]
        return parts

    async def _settings(self) -> dict[str, Any]:
        item = await self._memory.get_item(_PROFILE, _KEY)
        return {} if item is None else dict(item.value)

    async def _change(self, changes: dict[str, Any]) -> dict[str, Any]:
        stored = {**await self._settings(), **check_settings(changes)}
        await self._memory.put_item(_PROFILE, _KEY, stored, index=False)
        return stored

    def _shown_config(self, stored: dict[str, Any]) -> dict[str, Any]:
        traits = {f"disposition_{trait}": value for trait, value in disposition_of(stored).items()}
        return {"bank_id": self.bank_id, "config": traits | stored, "overrides": stored}


async def list_banks(keeps: Keeps, caller: Scope, offset: int, limit: int) -> dict[str, Any]:
    """Return the banks that a caller may use: all of the tenant for an administrator, else the caller's own."""
    counts = keeps.service(MemoryCounts)
    if administers(caller):
        subjects = await counts.subjects_of_tenant(caller, _SUBJECTS)
        created = [user_id async for user_id in _users_with_profile(keeps.memory(caller).admin)]
    else:
        subjects, created = await counts.subjects(caller, _SUBJECTS), [caller.user_id]
    by_name = {subject.name: subject for subject in subjects if subject.type == "user"}
    names = sorted({*by_name, *created})
    banks: list[dict[str, Any]] = []
    for name in names[offset : offset + limit]:
        subject = by_name.get(name)
        times = {} if subject is None else {"created_at": subject.first_at, "last_write_at": subject.last_at}
        banks.append(
            {
                "bank_id": name,
                "name": name,
                "disposition": disposition_of({}),
                "fact_count": 0 if subject is None else subject.total,
                **{field: at.isoformat() for field, at in times.items()},
            }
        )
    return {"banks": banks, "total": len(names), "limit": limit, "offset": offset}


async def _users_with_profile(admin: Admin) -> AsyncIterator[str]:
    after = ""
    while after is not None:
        page = await admin.list_namespaces(after=after)
        for user in page.items:
            if _PROFILE in user.namespaces:
                yield user.user_id
        after = page.next_cursor


def _document(item: RetainItem) -> str | None:
    return fitted(item.document_id) if item.document_id else None


def _memories_of(item: RetainItem, document_tags: list[str]) -> Iterator[NewMemory]:
    """Yield the parts of an item as memories with only the fields of the call: a known text keeps its others."""
    fields: dict[str, Any] = {
        "source": SOURCE,
        "session_id": _document(item),
        "valid_from": item.happened_at(),
        "tags": [*(item.tags or []), *document_tags] or None,
        "metadata": item.stored_metadata() or None,
    }
    named = {name: value for name, value in fields.items() if value is not None}
    whole = item.text()
    for text in [whole] if len(whole) <= MAX_SECTION_CHARACTERS else pieces(whole):
        yield validated(NewMemory, {**named, "content": text})


def _within(hits: Sequence[Hit], budget: int) -> Iterator[tuple[Hit, str]]:
    """Yield the hits that fit into a token budget; of a long memory the sentences nearest to the question."""
    for hit in hits:
        passage = hit.passage
        texts = [hit.text] if passage is None else [hit.text, hit.text[passage.start : passage.end]]
        for text in texts:
            if (needed := tokens(text)) <= budget:
                budget -= needed
                yield hit, text
                break


def _filter_of_kinds(types: list[FactType] | None) -> Filters | None:
    kinds: Any = kinds_of(types)
    return None if kinds is None else {"kind": {"in": list(kinds)}}


def _scores(hit: Hit) -> dict[str, float | None]:
    return {"final": hit.score if hit.relevance is None else hit.relevance, "semantic": hit.similarity}
