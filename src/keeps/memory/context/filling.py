"""Choose the contents of a prompt within its token budget."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from keeps.base.text.changes import may_change_something
from keeps.base.text.secrets import public_texts
from keeps.base.text.sentences import sentence_gaps
from keeps.memory.context import pinned, sections
from keeps.memory.context.asking import Asking
from keeps.memory.context.budget import Offer, allocate, shares
from keeps.memory.context.sections import TITLES, Gathered, Item, Last
from keeps.memory.context.signals import Signals
from keeps.memory.conversations.service import CONTEXT_BEGIN, CONTEXT_END
from keeps.memory.recall.service import CLEAR_RELEVANCE
from keeps.models.tokens import TokenCounter
from keeps_client.models import (
    ContextItem,
    ContextResult,
    ContextSection,
    LeftOut,
    RecallResult,
    SessionNotes,
    Source,
)
from keeps_client.models.context import SectionName

LEFT_OUT_TOLD = 50
TOKENS, LIST_TOKENS = 400, 1_500
"""Maximum tokens of memories for a question, and for a list, an overview or a comparison."""
LEAST_MEMORIES = 5
"""Minimum number of memories shown, however irrelevant, so that the answer is likely among them."""
UNANSWERED, NEAR_SHARE = 0.05, 0.5
"""Limits for messages once an answer is almost surely shown.

When the chance that no shown memory answers is below UNANSWERED, a message is added only if it is at least NEAR_SHARE
as relevant as the best, or may change what the best says. Facts and notes are few and may matter beside the answer: an
allergy for a menu. Lists, overviews and comparisons have many answers and show all.
"""
FADED_RELEVANCE = 0.25
"""After the first memories, memories less relevant than this share of the best are omitted."""
LINE_TOKENS = 150
"""Maximum tokens of a memory; a longer one is cut at a sentence."""
CUT = " […]"
FENCE_END, SENTENCE_ENDS = "»]", tuple(".!?。！？")
CHARACTERS_A_TOKEN = 12
"""Maximum number of characters that are considered per token of the limit."""
RANKED: tuple[SectionName, ...] = ("long_term", "conversations", "activity", "skills")
"""Sections whose memories compete for the same tokens, by their rank."""
WIDE = frozenset(("list", "multi_step", "identity", "data"))
BEGIN = f"{CONTEXT_BEGIN} -->"


def gather(
    asking: Asking,
    read: Signals,
    notes: SessionNotes | None,
    last: Last | None,
    answers: Sequence[RecallResult],
    temporal: RecallResult | None,
    facts: Sequence[Item],
    known: Sequence[tuple[Source, bool]],
) -> Gathered:
    """Return everything that the sources found, as items of sections."""
    gathered = Gathered()
    begun = notes is not None and notes.message_count > 0
    in_span = temporal is not None and bool(temporal.hits)
    shown_last = None if begun or in_span or _is_clear(answers) else last
    gathered.items += sections.of_notes(notes, shown_last, asking.zone)
    gathered.items += facts
    if temporal is not None and temporal.hits:
        top = max(temporal.hits[0].score, 1e-9)
        heading = "" if read.since is None or read.until is None else span_name(read.since, read.until, asking.zone)
        told_sessions = {hit.memory.session_id for hit in temporal.hits if hit.memory.content_type != "session_summary"}
        for hit in temporal.hits:
            repeated = hit.memory.content_type == "session_summary" and hit.memory.session_id in told_sessions
            empty = hit.memory.kind == "episodic" and sections.says_nothing(hit.memory.content)
            if repeated or (empty and "asked" not in read):
                continue
            value = hit.score / top
            item = sections.as_item(
                hit.memory, asking.scope.user_id, value, hit.score, "temporal", hit.passage, asking.zone
            )
            item.heading = heading
            gathered.items.append(item)
    messages = [note.text for note in notes.items if note.kind == "message"] if notes else []
    shown = public_texts(messages)
    present = [text[:200] for text, public in zip(messages, shown, strict=True) if text == public]
    for answer in answers:
        sections.of_hits(
            gathered,
            [hit for hit in answer.hits if shown_last is None or hit.memory.content != shown_last.text],
            asking=asking.scope.user_id,
            temporal="temporal" in read,
            with_questions="asked" in read,
            in_session=present,
            session_id=asking.request.session_id,
            zone=asking.zone,
        )
    gathered.items += sections.of_sources(known, data_first="data" in read)
    gathered.items += sections.of_titles(asking.passages)
    if asking.request.sections is not None:
        gathered.items = [item for item in gathered.items if item.section in asking.request.sections]
    sections.without_doubles(gathered)
    gathered.items = sections.newest_first(gathered.items)
    return gathered


def _is_clear(answers: Sequence[RecallResult]) -> bool:
    """Return whether a memory answers the question; then the last conversation has nothing to add to it."""
    return any((hit.relevance or 0.0) >= CLEAR_RELEVANCE for answer in answers for hit in answer.hits)


def span_name(since: datetime, until: datetime, zone: tzinfo) -> str:
    """Return the days of a span, such as "From 2026-11-01 to 2026-11-05"."""
    first, last = since.astimezone(zone).date(), (until - timedelta(microseconds=1)).astimezone(zone).date()
    return f"On {first}" if first == last else f"From {first} to {last}"


class Filler:
    """Fills budgets, measured by a token counter."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._warm = False

    async def warm(self) -> None:
        """Load the tokenizer, which takes time once."""
        if not self._warm:
            await asyncio.to_thread(self._counter.count, [CONTEXT_END])
            self._warm = True

    def fill(
        self, asking: Asking, read: Signals, gathered: Gathered, said: str, *, chosen: bool = False
    ) -> tuple[ContextResult, list[Item]]:
        """Choose what to show, render it and count its tokens; return the result with the items shown.

        `said`: a sentence that comes first.
        `chosen`: the items are already selected; show as many as fit.
        """
        budget = asking.request.budget_tokens
        headings = [f"## {title}\n" for title in TITLES.values()]
        begin = f"{BEGIN}\n{said}" if said else BEGIN
        frame, *counts = self._counter.count([f"{begin}\n{CONTEXT_END}", *headings])
        titles = dict(zip(TITLES, counts, strict=True))
        self._count(gathered.items)
        self._shorten(gathered.items, min(LINE_TOKENS, budget - frame - max(titles.values())))
        most = LIST_TOKENS if WIDE & {*read.names} else TOKENS
        ranked, irrelevant = (
            (gathered.items, list[Item]()) if chosen else _by_rank(gathered.items, most, wide=most == LIST_TOKENS)
        )
        sections.mark_earlier(ranked)
        self._count(ranked)
        offers = [
            Offer(item.section, position, item.tokens, item.value, item.memory_id)
            for position, item in enumerate(ranked)
        ]
        fitting = allocate(offers, max(0, budget - frame), titles)
        shown_items = [ranked[offer.position] for offer in fitting]
        text, tokens, items = self._fitted(shown_items, budget, begin, always=bool(said) and frame <= budget)
        shown = {id(item) for item in items}
        missed = sorted((item for item in ranked if id(item) not in shown), key=lambda item: -item.value)
        aside = [(item, "budget") for item in missed] + [(item, "not_relevant") for item in irrelevant]
        aside = [*aside, *gathered.aside][:LEFT_OUT_TOLD]
        limits = shares(budget)
        result = ContextResult.model_construct(
            text=text,
            tokens=tokens,
            budget_tokens=budget,
            tokenizer=self._counter.name,
            signals=read.names,
            since=read.since,
            until=read.until,
            sections=tuple(
                ContextSection.model_construct(
                    name=name,
                    title=title,
                    tokens=sum(item.tokens for item in mine),
                    share_tokens=limits[name],
                    items=tuple(map(_told, mine)),
                )
                for name, title in TITLES.items()
                if (mine := [item for item in items if item.section == name])
            ),
            left_out=tuple(
                LeftOut.model_construct(
                    section=item.section, memory_id=item.memory_id, tokens=item.tokens, reason=reason, score=item.score
                )
                for item, reason in aside
            ),
            degraded=bool(asking.failed),
            degraded_sources=tuple(asking.failed),
        )
        return result, items

    def tell(
        self, asking: Asking, read: Signals, gathered: Gathered, offered: Sequence[Item], said: str
    ) -> ContextResult:
        """Return the context as a whole, and in two parts within the same budget.

        `stable` stays the same until something is written; `volatile` adds what this question found.
        `offered`: items for `stable`.
        """
        result, items = self.fill(asking, read, gathered, said)
        budget = asking.request.budget_tokens
        self._count(offered)
        stable, taken, stable_items = self._fitted(pinned.within(offered, budget), budget, BEGIN, always=False)
        rest = Gathered(pinned.rest(items, stable_items))
        request = asking.request.model_copy(update={"budget_tokens": budget - taken})
        less = Asking(asking.scope, request, asking.now, asking.zone)
        volatile = self.fill(less, read, rest, said, chosen=True)[0]
        stable_ids = {item.memory_id for item in stable_items if item.memory_id is not None}
        return result.model_copy(
            update={
                "stable": stable,
                "stable_tokens": taken,
                "stable_items": tuple(map(_told, stable_items)),
                "volatile": volatile.text,
                "volatile_tokens": volatile.tokens,
                "left_out": tuple(item for item in result.left_out if item.memory_id not in stable_ids),
            }
        )

    def _count(self, items: Sequence[Item]) -> None:
        """Set the tokens of items that have none yet, including the line break that ends each."""
        new = [item for item in items if not item.tokens]
        for item, tokens in zip(new, self._counter.count([f"- {item.text}\n" for item in new]), strict=True):
            item.tokens = tokens

    def _shorten(self, items: Sequence[Item], most: int) -> None:
        """Cut items longer than `most` tokens at the end of a sentence, or else of a word."""
        for item in items:
            if item.tokens > most and item.section in (*RANKED, "temporal", "documents"):
                item.text, item.tokens = self._cut(item.text, max(most, 1))

    def _cut(self, text: str, most: int) -> tuple[str, int]:
        """Return the longest beginning that ends at a sentence or a word and fits, with its tokens.

        A fence stays closed. Where not even the first word fits, the whole text is returned.
        """
        close = FENCE_END if text.endswith(FENCE_END) else ""
        text = text.removesuffix(close)
        beginning = text[: most * CHARACTERS_A_TOKEN]
        ends = [match.end() for match in _CUTS.finditer(beginning)]

        def counted(end: int) -> int:
            return self._counter.count([f"- {text[:end].rstrip()}{CUT}{close}\n"])[0]

        fitting = bisect_right(ends, most, key=counted)
        if not fitting:
            return text + close, self._counter.count([f"- {text}{close}\n"])[0]
        end = ends[fitting - 1]
        stops = (stop for stop, _ in sentence_gaps(beginning))
        whole = max((stop for stop in stops if stop <= end and text[stop - 1] in SENTENCE_ENDS), default=0)
        end = whole if 2 * whole >= end else end
        return f"{text[:end].rstrip()}{CUT}{close}", counted(end)

    def _fitted(self, items: list[Item], budget: int, begin: str, *, always: bool) -> tuple[str, int, list[Item]]:
        """Return the rendered text, its tokens and its items.

        The items of least value are dropped while the headings make the text too long.
        """
        while True:
            text = sections.render(items, begin, CONTEXT_END)
            if not items and always:
                text = f"{begin}\n{CONTEXT_END}"
            tokens = (
                sum(self._counter.count(text.split("\n"))) if self._counter.adds_up else self._counter.count([text])[0]
            )
            if tokens <= budget or not items:
                return text, tokens, items
            excess = tokens - budget
            going: set[int] = set()
            for item in sorted(items, key=lambda each: each.value):
                going.add(id(item))
                excess -= item.tokens
                if excess <= 0:
                    break
            items = [item for item in items if id(item) not in going]


def _by_rank(items: Sequence[Item], most_tokens: int, *, wide: bool) -> tuple[list[Item], list[Item]]:
    """Split items into those to show and those that the question does not need.

    Memories are shown by rank until `most_tokens` are used, relevance falls off or, unless the question is `wide`, the
    answer is almost surely shown. If the question names a time, its memories come first, with few others.
    """
    ranked = sorted(
        (item for item in items if item.section in RANKED), key=lambda item: -(item.relevance or item.value)
    )
    best = max((item.relevance or 0.0 for item in ranked), default=0.0)
    temporal = [item for item in items if item.section == "temporal"]
    enough = LEAST_MEMORIES if not temporal else 0
    taken = sum(item.tokens for item in temporal)
    unanswered = 1.0
    dropped: set[int] = set()
    for position, item in enumerate(ranked):
        relevance = best if item.relevance is None else item.relevance
        faded = relevance < FADED_RELEVANCE * best
        spare = item.section == "conversations" and not wide and unanswered < UNANSWERED
        spare = spare and relevance < NEAR_SHARE * best and not (position < enough and _may_change(item, ranked[0]))
        if spare or (position >= enough and (taken + item.tokens > most_tokens or faded)):
            dropped.add(id(item))
        else:
            taken += item.tokens
            # Other users' words must not displace the user's own.
            unanswered *= 1.0 - relevance if item.trusted else 1.0
    others = [item for item in items if item.section not in RANKED]
    return (
        others + [item for item in ranked if id(item) not in dropped],
        [item for item in ranked if id(item) in dropped],
    )


def _may_change(item: Item, best: Item) -> bool:
    """Return whether a memory may change what a better hit says: it is no older, and has a word of change."""
    older = item.at is not None and best.at is not None and item.at < best.at
    return not older and may_change_something(item.text)


_CUTS = re.compile(r"[.!?。！？](?=\s|$)|[。！？]|\s+|$")


def _told(item: Item) -> ContextItem:
    return ContextItem.model_construct(
        memory_id=item.memory_id, text=item.text, tokens=item.tokens, score=item.score, trusted=item.trusted
    )
