"""The provider `markdown`: a folder of files is the source of truth, and its history is in the log."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.telemetry.logs import log
from keeps.base.text.secrets import without_secrets
from keeps.base.text.words import count_terms
from keeps.memory.providers.markdown import pipeline
from keeps.memory.providers.markdown.folder import Edit, MarkdownFolder
from keeps.memory.providers.markdown.format import Category, Section
from keeps.memory.providers.markdown.vectors import TextVectors
from keeps.memory.recall.relevance import nearness_of
from keeps.models.chat import ChatModel
from keeps.providers.contract import Filters, Match, text_of
from keeps_client.checked import validated
from keeps_client.errors import KeepsError
from keeps_client.models import Entry, NewEntry, ProviderCapabilities
from keeps_client.models.common import NAME_PATTERN
from keeps_client.validation import named

Told = Callable[[Sequence[Edit]], Awaitable[None]]
"""Logs changes: edits of people, or writes of Keeps."""
InThread = Callable[..., Awaitable[Any]]
"""Runs a function with its arguments in a thread, in turn."""
DEFAULT_CATEGORY = "fact"
LEAST_SIMILARITY = 0.45
"""Minimum cosine at which an entry that shares no word with the query is found."""
MEANING_WEIGHT = 2.0
"""Score of cosine 1; a word that one of two entries contains scores 1.1, less in a long entry."""
_CAPABILITIES = ProviderCapabilities(
    provider_id="markdown", tier="persistent", content_types=("profile", "activity", "event", "*")
)


class MarkdownProvider:
    """One scope's Markdown. A key is unique over all categories; `metadata["content_type"]` chooses the file."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        told: Told,
        chat: ChatModel | None = None,
        in_thread: InThread = asyncio.to_thread,
        vectors: TextVectors | None = None,
    ) -> None:
        self._folder = MarkdownFolder(folder, lambda: str(new_id()), clock)
        self._clock = clock
        self._told = told
        self._chat = chat
        self._in_thread = in_thread
        self._vectors = vectors
        self._terms: dict[str, tuple[Section, Counter[str]]] = {}
        """Word counts of each entry, valid while its section is unchanged."""

    def capabilities(self) -> ProviderCapabilities:
        return _CAPABILITIES

    def exists(self) -> bool:
        """Return whether there are files, with one look at the disk."""
        return self._folder.exists()

    async def problems(self) -> dict[str, str]:
        """Return the unreadable files, with the reason; they are left alone."""
        await self._look()
        return dict(self._folder.problems)

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        new = validated(NewEntry, {"value": value, "metadata": dict(metadata or {})})
        name = named("key", key, 355)
        attributes = dict(new.metadata)
        kind = attributes.pop("content_type", None)
        attributes.pop("id", None)  # As `read` returns it.
        categories = await self._look()
        stored = _find(categories, name)
        category = (
            kind
            if isinstance(kind, str) and (kind in categories or re.fullmatch(NAME_PATTERN, kind))
            else stored[0]
            if stored
            else DEFAULT_CATEGORY
        )
        if any(name in other.sections for place, other in categories.items() if place != category):
            await self.delete(name)
            stored = None
        tags, links = (_names(attributes.pop(each, None)) for each in ("tags", "links"))
        now = self._clock()
        before = stored[1] if stored else None
        section = Section(
            name,
            new.value,
            identity=before.identity if before else str(new_id()),
            created_at=before.created_at if before else now,
            updated_at=now,
            tags=tags,
            links=links,
            metadata=attributes,
            extra=before.extra if before else {},
            heading=before.heading if before else "",
        )
        if before is not None and _same(before, section):
            return
        await self._change(category, lambda sections: sections.__setitem__(name, section))
        await self._tell([Edit("written", category, name, section)])

    async def append(self, text: str, request: UUID | None = None) -> list[Entry]:
        """Add the statements of a text as entries of profile, event and activity, with links to related ones.

        Returns the new entries; existing ones stay unchanged. With `request`, entries that the same request wrote
        before it was interrupted are not written twice.
        """
        named("text", text, 200_000)
        known = {key: text_of(section.value) for key, section in _all(await self._look()).items()}
        extracted = await self._in_thread(pipeline.run, await self._extracted(text), known)
        now = self._clock()
        identities = [
            str(new_id() if request is None else uuid5(request, str(number))) for number in range(len(extracted))
        ]
        made: dict[str, list[Section]] = {}
        for statement, identity in zip(extracted, identities, strict=True):
            made.setdefault(statement.category, []).append(
                Section(
                    statement.key,
                    statement.text,
                    identity=identity,
                    created_at=now,
                    updated_at=now,
                    tags=statement.tags,
                    links=statement.links,
                    metadata={},
                )
            )
        for category, new in made.items():
            added: list[Section] = []
            await self._change(category, lambda sections, new=new, added=added: _add(sections, new, added))
            await self._tell([Edit("written", category, section.key, section) for section in added])
        return await self.identified(identities)

    async def identified(self, identities: Sequence[str]) -> list[Entry]:
        """Return the entries with these ids, in this order, without those that are gone."""
        entries = {
            section.identity: _entry(name, section)
            for name, category in (await self._look()).items()
            for section in category.sections.values()
        }
        return [entries[each] for each in identities if each in entries]

    async def _extracted(self, text: str) -> list[tuple[str, str]]:
        """Return the statements of a text with their categories.

        They come from the LLM, or from rules if there is no LLM or it fails.
        """
        if self._chat is not None:
            try:
                public = "\n".join(without_secrets(line) for line in text[:20_000].splitlines())
                said = await self._chat.answer(pipeline.INSTRUCTIONS, public, pipeline.Statements)
                if found := [(each.category, each.text.strip()) for each in said.statements if each.text.strip()]:
                    return found
            except KeepsError as error:
                log().warning("statements are extracted by rules", error=type(error).__name__)
        return await self._in_thread(pipeline.extract, text)

    async def suggestions(self) -> list[pipeline.Suggestion]:
        """Return pairs of entries that seem to say the same, for a person to merge."""
        known = {key: text_of(section.value) for key, section in _all(await self._look()).items()}
        return await self._in_thread(pipeline.suggest, known)

    async def read(self, key: str) -> Entry | None:
        held = _find(await self._look(), key)
        return None if held is None else _entry(*held)

    async def delete(self, key: str) -> bool:
        places = [category for category, held in (await self._look()).items() if key in held.sections]
        for category in places:
            await self._change(category, lambda sections: sections.pop(key, None))
            await self._tell([Edit("deleted", category, key, None)])
        return bool(places)

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        """Search by words, rare ones first and including those of the key, and by meaning if there is a model."""
        wanted = Filters.of(filters)
        categories = await self._look()
        similarities: Mapping[str, float] = {}
        if self._vectors is not None:
            similarities = await self._vectors.similarities(query, [_words(each) for each in _all(categories).values()])
        return await self._in_thread(self._found, categories, query, similarities, wanted, limit)

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        wanted = Filters.of(filters)
        categories = await self._look()
        return sorted(entry.key for entry, _ in _entries(categories) if wanted.pass_by(entry))

    async def rebuild(self) -> int:
        """Scan the files again; they are the source."""
        return len(_all(await self._look()))

    async def close(self) -> None:
        if self._vectors is not None:
            await self._vectors.close()

    def _found(
        self,
        categories: Mapping[str, Category],
        query: str,
        similarities: Mapping[str, float],
        wanted: Filters,
        limit: int,
    ) -> list[Match]:
        query_terms = count_terms(query)
        known, self._terms = self._terms, {}
        candidates: list[tuple[Entry, Counter[str], float | None]] = []
        for entry, section in _entries(categories):
            before = known.get(section.key)
            terms = before[1] if before is not None and before[0] is section else _terms(section)
            self._terms[section.key] = (section, terms)
            if wanted.pass_by(entry):
                candidates.append((entry, terms, similarities.get(_words(section))))
        found_in = Counter(term for _, terms, _ in candidates for term in query_terms if term in terms)
        matches: list[Match] = []
        for entry, terms, similarity in candidates:
            score = sum(math.log(1 + len(candidates) / found_in[term]) for term in query_terms if term in terms)
            score /= 1 + math.log(1 + len(terms))
            if score > 0 or (similarity is not None and similarity >= LEAST_SIMILARITY):
                relevance = None if similarity is None else nearness_of(similarity)
                matches.append(Match(entry, score + MEANING_WEIGHT * (relevance or 0.0), relevance))
        return sorted(matches, key=lambda each: (-each.score, each.entry.key))[:limit]

    async def _look(self) -> dict[str, Category]:
        categories, edits = await asyncio.to_thread(self._folder.look)
        await self._tell(edits)
        return categories

    async def _change(self, category: str, work: Callable[[dict[str, Section]], object]) -> None:
        change = cast("Callable[[dict[str, Section]], None]", work)
        await self._tell(await asyncio.to_thread(self._folder.change, category, change))

    async def _tell(self, edits: list[Edit]) -> None:
        if not edits:
            return
        try:
            await self._told(edits)
        except KeepsError:
            self._folder.retell(edits)  # The log is away; these edits are logged with the next scan.
            raise


def entry_data(edit: Edit) -> dict[str, JsonValue]:
    """Return the data of the event for a change."""
    data: dict[str, JsonValue] = {"key": edit.key, "provider_id": "markdown", "content_type": edit.category}
    if edit.section is not None:
        data |= {"value": edit.section.value, "value_type": "text" if isinstance(edit.section.value, str) else "json"}
        data |= {
            name: list(held) for name, held in (("tags", edit.section.tags), ("links", edit.section.links)) if held
        }
    return data


def _same(one: Section, other: Section) -> bool:
    def told(section: Section) -> object:
        return json.dumps(
            [section.value, list(section.tags), list(section.links), dict(section.metadata)], sort_keys=True
        )

    return told(one) == told(other)


def _add(sections: dict[str, Section], new: Sequence[Section], added: list[Section]) -> None:
    """Add sections that are missing, under keys that are free. `added` is rebuilt when this runs again."""
    added.clear()
    there = {section.identity for section in sections.values()}
    for section in new:
        if section.identity in there:
            continue
        key = section.key if section.key not in sections else pipeline.key_for(text_of(section.value), sections, {})
        sections[key] = replace(section, key=key)
        added.append(sections[key])


def _find(categories: Mapping[str, Category], key: str) -> tuple[str, Section] | None:
    for name, held in categories.items():
        if key in held.sections:
            return name, held.sections[key]
    return None


def _all(categories: Mapping[str, Category]) -> dict[str, Section]:
    return {section.key: section for _, section in _entries(categories)}


def _entries(categories: Mapping[str, Category]) -> list[tuple[Entry, Section]]:
    """Return every entry; for a key in two files the one that `read` returns."""
    first: dict[str, tuple[str, Section]] = {}
    for name, category in categories.items():
        for key, section in category.sections.items():
            first.setdefault(key, (name, section))
    return [(_entry(name, section), section) for name, section in first.values()]


def _words(section: Section) -> str:
    return f"{section.key} {text_of(section.value)}"


def _terms(section: Section) -> Counter[str]:
    return count_terms(_words(section))


def _entry(category: str, section: Section) -> Entry:
    metadata: dict[str, JsonValue] = {**section.metadata, "content_type": category, "id": section.identity}
    metadata |= {name: list(value) for name, value in (("tags", section.tags), ("links", section.links)) if value}
    return Entry.model_construct(key=section.key, value=section.value, metadata=metadata, updated_at=section.updated_at)


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list) else ()
