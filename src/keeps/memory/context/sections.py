"""Turn search results into the items of a context, each rendered as one line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice
from uuid import UUID

from pydantic import JsonValue

from keeps.base.scope import is_own
from keeps.base.text.asks import only_asks
from keeps.base.text.changes import places_told, stand_beside, stated
from keeps.base.text.fences import one_line, reads_like_an_instruction, shown
from keeps.base.text.secrets import holds_a_secret, public_texts, without_secrets
from keeps.base.text.small_talk import is_small_talk
from keeps.base.text.trust import OUTDATED, Origin, is_quotation, origin_of
from keeps.base.text.words import terms_of
from keeps.store.db.session import Row
from keeps_client.models import Hit, Memory, Passage, SessionNotes, Source
from keeps_client.models.context import SectionName

TITLES: dict[SectionName, str] = {
    "session": "This conversation so far",
    "long_term": "What is known",
    "temporal": "From the time in question",
    "skills": "How to act",
    "activity": "What the agent did",
    "knowledge": "Available sources",
    "conversations": "From conversations",
    "documents": "From documents",
}
ACTIVITIES = ("daily_log", "recipe", "task", "heartbeat", "summary")
RELEVANT_VALUE = 0.6
"""Minimum score of an activity, as a share of the best hit's, unless its time is asked about."""
TITLES_NAMED = 4
OTHERS_VALUE = 0.7
EARLIER = "(earlier) "
BY_AGENT = "(agent) "
"""Marks the agent's statements in a summary."""
SHORTEST_QUOTATION, LEAST_WORDS, MOST_OUTDATED = 20, 3, 20
_WORD = re.compile(r"\w+")
SEVERAL_VALUES = frozenset(("allergy", "health", "preference", "liking", "dislike", "tool", "statement"))
"""Attributes of facts that may have several values at the same time."""
PASSAGE_FROM = 600
"""Number of characters from which only the sentences of a memory nearest to the question are shown."""


@dataclass(slots=True)
class Item:
    """A line that a section could show.

    `at`: time of the statement.
    `heading`: replaces the title of the section.
    `relevance`: relevance of the hit, None for items that no question found.
    """

    section: SectionName
    text: str
    value: float
    memory_id: UUID | None = None
    score: float | None = None
    trusted: bool = True
    at: datetime | None = None
    tokens: int = 0
    heading: str = ""
    relevance: float | None = None
    newer_id: UUID | None = None
    """A later memory about the same subject."""
    doubles: set[UUID | None] = field(default_factory=set[UUID | None])
    """Further memories with the same statement."""
    changed_by: Item | None = None
    """The item of a later statement about the same subject."""
    terms: frozenset[str] = frozenset()
    """Stems of an appointment, which identify a later one."""
    subject: tuple[str, str] | None = None
    """Entity and attribute of a fact that has one value at a time."""
    said: str = ""
    """Speaker and content of a statement of the user's own; empty for others.

    A fact and its original message have the same value, so they become one line. Statements by others are compared
    with their mark.
    """

    @property
    def words(self) -> str:
        """Return the user's words, without the speaker; empty for others."""
        return self.said.partition(": ")[2]

    @property
    def statement(self) -> str:
        """The key that is equal for items with the same statement."""
        return (self.said or self.text).casefold().rstrip(" .!")


@dataclass(frozen=True, slots=True)
class Last:
    """The summary of the last conversation, with its time."""

    text: str
    trusted: bool
    at: datetime


@dataclass(slots=True)
class Gathered:
    """Items by section, in order of worth, and what was found and set aside, with the reason."""

    items: list[Item] = field(default_factory=list[Item])
    aside: list[tuple[Item, str]] = field(default_factory=list[tuple[Item, str]])


def of_notes(notes: SessionNotes | None, last: Last | None, zone: tzinfo = UTC) -> list[Item]:
    """Return the notes of this conversation or, if it has just begun, of the last one; each statement once.

    Secrets are left out: a question for one finds its memory.
    """
    items: list[Item] = []
    seen: set[str] = set()

    def add(text: str, value: float, before: str = "", *, trusted: bool = True, heading: str = "") -> None:
        line = shown(text, "own" if trusted else "tool")
        if line.casefold() not in seen:
            seen.add(line.casefold())
            by_user = before == f"{_ROLES['user']}: " or (heading and not line.startswith("("))  # as "(agent) Noted."
            said_by_user = f"user: {line}" if trusted and by_user else ""
            items.append(Item("session", before + line, value, trusted=trusted, said=said_by_user, heading=heading))

    if last is not None:
        for line in _lines(without_secrets(without_head(last.text))):
            if is_small_talk(line.removeprefix(BY_AGENT)):
                continue
            add(line, 1.0, trusted=last.trusted, heading=f"Last conversation ({last.at.astimezone(zone):%Y-%m-%d})")
    if notes is None:
        return items
    messages = [note for note in notes.items if note.kind == "message"]
    texts = public_texts(note.text for note in messages)
    is_asked = False
    for position, (note, text) in enumerate(zip(messages, texts, strict=True), 1):
        if text and (is_asked or not is_small_talk(text)):  # If they do not all fit, the newest are kept.
            add(text, 1.0 + position / len(messages), f"{_ROLES[note.role]}: ", trusted=note.role != "tool")
        is_asked = note.text.rstrip().endswith("?")  # "Yes" then says something.
    for kind, title in (("decision", "Decided: "), ("action_item", "To do: "), ("tool_result", "Result: ")):
        for note in [note for note in notes.items if note.kind == kind][-6:]:
            if text := without_secrets(note.text):
                add(text, 0.9, title, trusted=note.role != "tool")
    for line in _lines(without_secrets(notes.summary)):
        add(line, 1.0)
    return items


def of_hits(
    gathered: Gathered,
    hits: Sequence[Hit],
    *,
    asking: str,
    temporal: bool,
    in_session: Iterable[str],
    session_id: str | None,
    zone: tzinfo = UTC,
    with_questions: bool = False,
) -> None:
    """Add the hits of recall to their sections. Hits that the conversation still contains are set aside."""
    top = max((hit.score for hit in hits), default=0.0) or 1e-9
    least = 1.0
    """Lowest relevance so far: hits are used in their order, and relevance only decides how many."""
    present = set(in_session)
    told_sessions = {hit.memory.session_id for hit in hits if hit.memory.content_type != "session_summary"}
    for hit in hits:
        memory = hit.memory
        if memory.content_type == "source":
            continue  # Sources have a section of their own.
        if memory.content_type == "session_summary" and memory.session_id in told_sessions:
            continue  # Its messages are shown in their own words.
        share = max(0.0, hit.score / top)
        least = min(least, share if hit.relevance is None else hit.relevance)
        item = as_item(memory, asking, least, hit.score, passage=hit.passage, zone=zone)
        item.relevance, item.newer_id = least, hit.newer_id
        if memory.session_id == session_id and session_id is not None and memory.content[:200] in present:
            gathered.aside.append((item, "in_session"))
        elif (item.section == "activity" and not temporal and share < RELEVANT_VALUE) or (
            memory.kind == "episodic" and not with_questions and says_nothing(memory.content)
        ):
            gathered.aside.append((item, "not_relevant"))
        else:
            gathered.items.append(item)


def says_nothing(content: str) -> bool:
    """Return whether a message states nothing: small talk, or only questions."""
    return is_small_talk(content) or only_asks(content)


def as_item(
    memory: Memory,
    asking: str,
    value: float,
    score: float | None,
    section: SectionName | None = None,
    passage: Passage | None = None,
    zone: tzinfo = UTC,
) -> Item:
    """Return a memory as a line with its speaker and date. `asking`: the user; other users' words are marked."""
    origin: Origin = origin_of(
        memory.role,
        memory.source,
        memory.metadata,
        own=is_own(memory.user_id, asking),
        in_space=memory.space_id is not None,
        layer=memory.layer,
    )
    chosen = section or _section_of(memory)
    content = memory.content
    agent_said = False
    if memory.content_type == "session_summary":
        lines = _lines(without_head(content))
        agent_said = all(line.startswith(BY_AGENT) for line in lines)
        content = " ".join(line.removeprefix(BY_AGENT) if agent_said else line for line in lines)
    elif passage is not None and len(content) > PASSAGE_FROM:
        content = _cut_out(content, passage)
    if origin == "own":
        content = _with_ends(content, memory.metadata)
    who, statement = "", ""
    if is_quotation(memory.metadata):
        # "I am allergic to nuts" of somebody else must not read as the user's.
        who = _speaker(memory.metadata) or (_ROLES["user"] if origin == "own" else memory.user_id)
    elif memory.content_type == "session_summary":
        who = _ROLES["assistant"] if agent_said else "Conversation"
    elif memory.kind == "episodic" and memory.content_type not in ACTIVITIES:
        who = _speaker(memory.metadata) or _ROLES.get(memory.role or "", "")
    if origin == "own" and (memory.kind == "semantic" or memory.role == "user" or is_quotation(memory.metadata)):
        statement = f"{_speaker(memory.metadata) or 'user'}: {one_line(memory.content)}"
    if memory.kind == "procedural" and memory.trigger_condition:
        content = f"When {memory.trigger_condition}: {content}"
    at = memory.valid_from.astimezone(zone)
    before = "" if memory.kind == "procedural" else f"{who} ({at:%Y-%m-%d}): " if who else f"({at:%Y-%m-%d}) "
    # Everything that others wrote, including their names, comes after the mark.
    text = before + shown(content) if origin == "own" else shown(before + content, origin)
    worth = value if origin == "own" else OTHERS_VALUE * value
    subject = _subject(memory.value) if origin == "own" and is_quotation(memory.metadata) else None
    dated = origin == "own" and is_quotation(memory.metadata) and memory.expires_at is not None
    return Item(
        chosen,
        text,
        worth,
        memory.memory_id,
        score,
        origin == "own",
        at,
        terms=frozenset(terms_of(content)) if dated else frozenset(),
        subject=subject,
        said=statement,
    )


def of_documents(hits: Sequence[Hit]) -> list[Item]:
    """Return passages, each after its title and headings. All are treated as data, regardless of their author."""
    top = max((hit.score for hit in hits), default=0.0) or 1e-9
    return [
        Item(
            "documents",
            shown(f"{hit.memory.metadata.get('under', '')}: {hit.memory.content}", "document"),
            OTHERS_VALUE * hit.score / top,
            hit.memory.memory_id,
            hit.score,
            trusted=False,
        )
        for hit in hits
    ]


def of_facts(rows: Sequence[Row], metadata: Sequence[Mapping[str, object]], zone: tzinfo = UTC) -> list[Item]:
    """Return facts about the user, for a question about who they are."""
    origins: list[Origin] = [
        origin_of(row["role"], row["source"], fields, own=True) for row, fields in zip(rows, metadata, strict=True)
    ]
    return [
        Item(
            "long_term",
            shown(f"{who}: {row['content']}" if who else row["content"], origin),
            1.0 + row["importance"],
            row["memory_id"],
            trusted=origin == "own",
            said=f"{_speaker(fields) or 'user'}: {one_line(row['content'])}" if origin == "own" else "",
        )
        for row, fields, origin in zip(rows, metadata, origins, strict=True)
        if not holds_a_secret(row["content"])
        for at in (row["valid_from"].astimezone(zone),)
        for who in (f"{_speaker(fields) or _ROLES['user']} ({at:%Y-%m-%d})" if is_quotation(fields) else "",)
    ]


def of_sources(sources: Sequence[tuple[Source, bool]], *, data_first: bool) -> list[Item]:
    """Return sources with their purposes, best match first.

    Each comes with a flag: whether the asking user added it.
    `data_first`: databases come before all others, for questions about figures.
    """
    ordered = sorted(sources, key=lambda pair: pair[0].kind != "database") if data_first else sources
    return [
        Item(
            "knowledge",
            shown(f"{each.name} ({each.kind}): {each.purpose}", "own" if own else "shared"),
            0.8,
            each.memory_id,
            trusted=own,
        )
        for each, own in ordered
    ]


def of_titles(passages: Sequence[Hit]) -> list[Item]:
    """Return the documents about the question, with the headings to look up."""
    by_title: dict[str, Item] = {}
    for hit in passages:
        title, _, headings = str(hit.memory.metadata.get("under", "")).partition(" > ")
        where = f"{title} (document): {headings}" if headings else f"{title} (document)"
        by_title.setdefault(title, Item("knowledge", shown(where, "document"), 0.7, trusted=False))
    return list(by_title.values())[:TITLES_NAMED]


def newest_first(items: Sequence[Item]) -> list[Item]:
    """Put newer statements before older ones on the same subject, and link the older to the newer.

    Both are shown: it is not certain that the newer one changed the older.
    """
    result = list(items)
    by_id = {memory_id: item for item in items for memory_id in (item.memory_id, *item.doubles)}
    facts: dict[tuple[str, str], Item] = {}
    places: dict[int, Item] = {}
    """The newest statement of where the user lives, and works."""
    for item in items:
        if item.at is None:
            continue
        if item.subject is not None:
            facts[item.subject] = _later(facts.get(item.subject), item)
        for place in places_told(item.words):
            places[place] = _later(places.get(place), item)
    dated = [item for item in items if item.terms]
    for older in items:
        newer = by_id.get(older.newer_id) if older.newer_id is not None else None
        if newer is None and older.subject is not None:
            newer = facts.get(older.subject)
        if newer is None and older.terms:
            newer = next((item for item in dated if _changes(item, older)), None)
        if newer is None and older.at is not None:
            later = [places[place] for place in places_told(older.words)]
            newer = later[0] if later and all(item is not older for item in later) else None  # No part still holds.
        if newer is None or newer is older or newer.statement == older.statement:
            continue
        older.changed_by = newer
        if newer.section == older.section and result.index(newer) > result.index(older):
            result.remove(newer)
            result.insert(result.index(older), newer)
            newer.relevance = newer.value = max(newer.value, older.value)
    return result


def mark_earlier(items: Sequence[Item]) -> None:
    """Mark statements as earlier if they are shown together with what may have changed them."""
    shown_ids = {id(item) for item in items}
    for item in items:
        if item.changed_by is not None and id(item.changed_by) in shown_ids and not item.text.startswith(EARLIER):
            item.text, item.tokens = EARLIER + item.text, 0


def _later(one: Item | None, other: Item) -> Item:
    return other if one is None or (one.at is not None and other.at is not None and one.at < other.at) else one


def _changes(newer: Item, older: Item) -> bool:
    """Return whether an appointment may replace an older one: they share two words, and are not of two subjects."""
    if newer.at is None or older.at is None or newer.at <= older.at or len(newer.terms & older.terms) < 2:
        return False
    return not stand_beside(stated(older.words), stated(newer.words))


def without_doubles(gathered: Gathered) -> None:
    """Keep the first item of each memory and of each statement."""
    by_id: dict[UUID, Item] = {}
    by_statement: dict[str, Item] = {}
    distinct: list[Item] = []
    for item in gathered.items:
        first = by_id.get(item.memory_id) if item.memory_id is not None else None
        if first is None and (first := by_statement.get(item.statement)) is not None:
            gathered.aside.append((item, "duplicate"))
        if first is None:
            first = item
            distinct.append(item)
        by_statement.setdefault(item.statement, first)
        if item.memory_id is not None:
            by_id[item.memory_id] = first
        first.newer_id = first.newer_id or item.newer_id
        first.doubles.add(item.memory_id)
    gathered.items = without_quotations(distinct, distinct)


def without_quotations(items: Sequence[Item], told: Sequence[Item]) -> list[Item]:
    """Remove from longer statements what shorter ones of `told` quote, and drop empty statements.

    Messages of the running conversation stay whole; their content is removed from the rest.
    """
    messages = {item.text for item in items if item.section == "session" and not item.heading}
    quoted: dict[str, list[tuple[str, str]]] = {}
    """The statement and the words of each quotation, by speaker; longer ones first."""
    for statement in sorted(
        {item.said for item in told if len(item.said) >= SHORTEST_QUOTATION}, key=len, reverse=True
    ):
        speaker, _, words = statement.partition(": ")
        quoted.setdefault(speaker, []).append((statement, words))
    rest: list[Item] = []
    for item in items:
        if item.text in messages:
            rest.append(item)
            continue
        speaker, _, said = item.said.partition(": ")
        if item.said and any(said in message for message in messages):
            continue
        whole = item.text
        for statement, words in quoted.get(speaker, ()):
            if item.said != statement and words in item.text:
                item.text = item.text.replace(words, "…")
        body = item.text.partition("): ")[2] or item.text
        if item.text == whole or len(_WORD.findall(body)) >= LEAST_WORDS:
            rest.append(item)
    return rest


def render(items: Sequence[Item], begin: str, end: str) -> str:
    """Return Markdown: a heading for each section, then its lines; lines about a requested time in order of time."""
    if not items:
        return ""
    parts = [begin]
    for name, title in TITLES.items():
        mine = [item for item in items if item.section == name]
        if name == "temporal":
            mine.sort(key=lambda item: item.at or datetime.max.replace(tzinfo=UTC))
        for heading in dict.fromkeys(item.heading for item in mine):
            parts.append(f"## {heading or title}")
            parts += [f"- {item.text}" for item in mine if item.heading == heading]
    parts.append(end)
    return "\n".join(parts)


def without_head(summary: str) -> str:
    """Return the summary of a conversation without its first line, which counts messages."""
    return _HEAD.sub("", summary, count=1)


def _cut_out(content: str, passage: Passage) -> str:
    """Return a passage of a long text, with marks where text is left out."""
    before, after = "… " if passage.start else "", " …" if passage.end < len(content) else ""
    return f"{before}{content[passage.start : passage.end].strip()}{after}"


def _subject(value: JsonValue) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    entity, attribute = value.get("entity"), value.get("attribute")
    if not isinstance(entity, str) or not isinstance(attribute, str) or attribute in SEVERAL_VALUES:
        return None
    return entity, attribute


def _with_ends(content: str, metadata: Mapping[str, object]) -> str:
    """Return a message with an end date after each of its outdated sentences.

    Metadata may contain anything, so each sentence counts once, at its first occurrence, and their number is limited.
    """
    outdated = metadata.get(OUTDATED)
    if not isinstance(outdated, dict):
        return content
    ends: dict[int, str] = {}
    for sentence, until in islice(outdated.items(), MOST_OUTDATED):
        if isinstance(sentence, str) and isinstance(until, str) and sentence and (at := content.find(sentence)) >= 0:
            ends[at + len(sentence)] = until[:10]
    for end in sorted(ends, reverse=True):
        content = f"{content[:end]} (until {ends[end]}){content[end:]}"
    return content


def _speaker(metadata: Mapping[str, object]) -> str:
    """Return the speaker's name in a form that is safe in a prompt; empty if unknown."""
    speaker = metadata.get("speaker")
    if not isinstance(speaker, str) or reads_like_an_instruction(speaker):
        return ""
    name = re.sub(r"[:()\[\]*<>]", " ", one_line(speaker[:80])).strip()
    return "" if _RESERVED.intersection(re.findall(r"[^\W\d_]+", name.casefold())) else name


def _section_of(memory: Memory) -> SectionName:
    if memory.kind == "procedural":
        return "skills"
    if memory.content_type in ACTIVITIES:
        return "activity"
    return "long_term" if memory.kind == "semantic" or is_quotation(memory.metadata) else "conversations"


def _lines(text: str) -> list[str]:
    return [each.removeprefix("- ").strip() for each in text.splitlines() if each.strip(" -")]


_RESERVED = frozenset(("user", "agent", "assistant", "system", "tool", "developer"))
"""Names that mark a role in a prompt, which no speaker may use."""
_HEAD = re.compile(r"^Conversation .{0,300}: \d+ messages?\.\n?")
_ROLES = {"user": "User", "assistant": "Agent", "system": "System", "tool": "Tool"}
