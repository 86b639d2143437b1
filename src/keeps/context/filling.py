"""From what the sources said to a prompt within its budget of tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from keeps.ai.tokens import TokenCounter
from keeps.context import sections, standing
from keeps.context.asking import Asking
from keeps.context.budget import Offer, allocate, shares
from keeps.context.sections import TITLES, Gathered, Item, Last
from keeps.context.signals import Signals
from keeps.conversations.service import CONTEXT_BEGIN, CONTEXT_END
from keeps_client.models import (
    ContextItem,
    ContextResult,
    ContextSection,
    LeftOut,
    RecallResult,
    SessionNotes,
    Source,
)

LEFT_OUT_TOLD = 50
SPARE = 100_000
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
    """All that the sources found, as items of sections."""
    gathered = Gathered()
    begun = notes is not None and notes.message_count > 0
    shown_last = None if begun else last
    gathered.items += sections.of_notes(notes, shown_last)
    gathered.items += facts
    if temporal is not None and temporal.hits:
        top = max(temporal.hits[0].score, 1e-9)
        gathered.items += [
            sections.as_item(hit.memory, asking.scope.user_id, hit.score / top, hit.score, "temporal")
            for hit in temporal.hits
        ]
    present = [note.text[:200] for note in notes.items if note.kind == "message"] if notes else []
    for answer in answers:
        sections.of_hits(
            gathered,
            [hit for hit in answer.hits if shown_last is None or hit.memory.content != shown_last.text],
            asking=asking.scope.user_id,
            temporal="temporal" in read,
            in_session=present,
            session_id=asking.request.session_id,
        )
    gathered.items += sections.of_sources(known, data_first="data" in read)
    gathered.items += sections.of_titles(asking.passages)
    if asking.request.sections is not None:
        gathered.items = [item for item in gathered.items if item.section in asking.request.sections]
    sections.without_doubles(gathered)
    lasting = [item for item in gathered.items if item.section == "long_term"]
    for item in lasting[sections.LONG_TERM_TOP :]:
        item.spare = "identity" not in read
    return gathered


class Filler:
    """Fills budgets, in the tokens that a counter counts."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._warm = False

    async def warm(self) -> None:
        """Have the tokenizer read, which takes its time once."""
        if not self._warm:
            await asyncio.to_thread(self._counter.count, [CONTEXT_END])
            self._warm = True

    def fill(self, asking: Asking, read: Signals, gathered: Gathered, said: str) -> ContextResult:
        """Choose what fits, render it, and count the whole text. `said`: what is told before all else."""
        budget = asking.request.budget_tokens
        headings = [f"## {title}\n" for title in TITLES.values()]
        begin = f"{BEGIN}\n{said}" if said else BEGIN
        frame, *counts = self._counter.count([f"{begin}\n{CONTEXT_END}", *headings])
        titles = dict(zip(TITLES, counts, strict=True))
        self._count(gathered.items)
        offers = [
            Offer(item.section, position + (SPARE if item.spare else 0), item.tokens, item.value, item.memory_id)
            for position, item in enumerate(gathered.items)
        ]
        chosen = allocate(offers, max(0, budget - frame), titles)
        shown_items = [gathered.items[offer.position % SPARE] for offer in chosen]
        text, tokens, items = self._fitted(shown_items, budget, begin, always=bool(said) and frame <= budget)
        shown = {id(item) for item in items}
        missed = sorted((item for item in gathered.items if id(item) not in shown), key=lambda item: -item.value)
        aside = [*((item, "budget") for item in missed), *gathered.aside][:LEFT_OUT_TOLD]
        limits = shares(budget)
        return ContextResult.model_construct(
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
            nothing_known=bool(said),
            degraded=bool(asking.failed),
            degraded_sources=tuple(asking.failed),
        )

    def apart(
        self, asking: Asking, result: ContextResult, found: Sequence[Item], offered: Sequence[Item], said: str
    ) -> ContextResult:
        """The same in two parts, within the same budget: what stays the same until something is written, and what this
        question found."""
        budget = asking.request.budget_tokens
        self._count(offered)
        stable, taken, kept = self._fitted(standing.within(offered, budget), budget, BEGIN, always=False)
        gathered = Gathered(standing.rest(found, kept))
        less = Asking(asking.scope, asking.request.model_copy(update={"budget_tokens": budget - taken}), asking.now)
        volatile = self.fill(less, Signals((), None, None), gathered, said).text
        return result.model_copy(update={"stable": stable, "volatile": volatile})

    def _count(self, items: Sequence[Item]) -> None:
        """Set the tokens of items that have none yet, with the line break that ends each."""
        new = [item for item in items if not item.tokens]
        for item, tokens in zip(new, self._counter.count([f"- {item.text}\n" for item in new]), strict=True):
            item.tokens = tokens

    def _fitted(self, items: list[Item], budget: int, begin: str, *, always: bool) -> tuple[str, int, list[Item]]:
        """The rendered text, its tokens, and its items: while headings of days make it too long, the least of them
        go."""
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


def _told(item: Item) -> ContextItem:
    return ContextItem.model_construct(
        memory_id=item.memory_id, text=item.text, tokens=item.tokens, score=item.score, trusted=item.trusted
    )
