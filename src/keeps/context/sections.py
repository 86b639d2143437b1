"""From what the sources found to the items of sections, each rendered as one line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from uuid import UUID

from keeps.db.session import Row
from keeps.text.fences import one_line, reads_like_an_instruction, shown
from keeps.text.trust import Origin, is_quotation, origin_of
from keeps_client.models import Hit, Memory, SessionNotes, Source
from keeps_client.models.context import SectionName

TITLES: dict[SectionName, str] = {
    "session": "This conversation so far",
    "long_term": "What is known",
    "temporal": "From the time asked about",
    "skills": "How to act",
    "activity": "What the agent did",
    "knowledge": "What can be looked up",
    "conversations": "Said in conversations",
    "documents": "From documents",
}
ACTIVITIES = ("daily_log", "recipe", "task", "heartbeat", "summary")
LONG_TERM_TOP = 5
RELEVANT_VALUE = 0.6
"""An activity is shown when it scores so much of the best hit, or its time is asked about."""
LAST_MESSAGES, TITLES_NAMED = 4, 4
OTHERS_VALUE = 0.7
LEAST_VALUE, SPARE_VALUE = 0.4, 0.15
"""Of the best hit's score: below the first it is shown only if tokens are left over, below the second not at all."""


@dataclass(slots=True)
class Item:
    """A line that a section could show. `at` orders lines that belong to a time."""

    section: SectionName
    text: str
    value: float
    memory_id: UUID | None = None
    score: float | None = None
    trusted: bool = True
    at: datetime | None = None
    tokens: int = 0
    spare: bool = False
    """Whether it is shown only if tokens are left over."""
    said: str = ""
    """Who of one's own side said it, and what, where that is a person's own statement: a fact and the message that it
    was read in are one line. What others say is compared with its mark."""

    @property
    def statement(self) -> str:
        """The same for all items that say the same."""
        return (self.said or self.text).casefold().rstrip(" .!")

    @property
    def is_dated(self) -> bool:
        return self.at is not None and self.section in ("temporal", "conversations")


@dataclass(frozen=True, slots=True)
class Last:
    """What the last conversation was about."""

    text: str
    trusted: bool


@dataclass(slots=True)
class Gathered:
    """Items by section, in order of worth, and what was found and set aside, with the reason."""

    items: list[Item] = field(default_factory=list[Item])
    aside: list[tuple[Item, str]] = field(default_factory=list[tuple[Item, str]])


def of_notes(notes: SessionNotes | None, last: Last | None) -> list[Item]:
    """The notes of this conversation; or, where it has just begun, of the last one. What says the same is said once."""
    items: list[Item] = []
    said: set[str] = set()

    def add(text: str, value: float, before: str = "", *, trusted: bool = True) -> None:
        line = shown(text, "own" if trusted else "tool")
        if line.casefold() not in said:
            said.add(line.casefold())
            by_user = before in (f"{_ROLES['user']}: ", _LAST) and not line.startswith("(")  # as "(agent) Noted."
            said_by_user = f"user: {line}" if trusted and by_user else ""
            items.append(Item("session", before + line, value, trusted=trusted, said=said_by_user))

    for line in _lines(last.text if last else ""):
        add(line, 1.0, _LAST, trusted=last is not None and last.trusted)
    if notes is None:
        return items
    for kind, title in (("decision", "Decided: "), ("action_item", "To do: "), ("tool_result", "Result: ")):
        for note in [note for note in notes.items if note.kind == kind][-6:]:
            add(note.text, 0.9, title, trusted=note.role != "tool")
    for line in _lines(notes.summary):
        add(line, 1.0)
    for note in [note for note in notes.items if note.kind == "message"][-LAST_MESSAGES:]:
        add(note.text, 0.5, f"{_ROLES[note.role]}: ", trusted=note.role != "tool")
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
) -> None:
    """What recall found, each in its section. What the conversation itself still holds is set aside."""
    if not hits:
        return
    top = max(hits[0].score, 1e-9)
    present = set(in_session)
    told = {hit.memory.session_id for hit in hits if hit.memory.content_type != "session_summary"}
    for hit in hits:
        memory = hit.memory
        if memory.content_type == "source":
            continue  # told of in a section of its own
        if memory.content_type == "session_summary" and not temporal and memory.session_id in told:
            continue  # what was said is there in its own words
        item = as_item(memory, asking, max(0.0, hit.score / top), hit.score, zone=zone)
        if memory.session_id == session_id and session_id is not None and memory.content[:200] in present:
            gathered.aside.append((item, "in_session"))
        elif (item.value < SPARE_VALUE and item.section not in ("skills", "long_term")) or (
            item.section == "activity" and not temporal and item.value < RELEVANT_VALUE
        ):
            gathered.aside.append((item, "not_relevant"))
        elif item.value < LEAST_VALUE and item.section not in ("skills", "long_term"):
            item.spare = True
            gathered.items.append(item)
        else:
            gathered.items.append(item)


def as_item(
    memory: Memory,
    asking: str,
    value: float,
    score: float | None,
    section: SectionName | None = None,
    zone: tzinfo = UTC,
) -> Item:
    """A memory as a line. Only what was said or done has a time that matters. `asking`: the user; others' words are not
    theirs."""
    origin: Origin = origin_of(memory.role, memory.source, memory.metadata, own=memory.user_id == asking)
    chosen = section or _section_of(memory)
    content = memory.content
    who, said = "", ""
    if memory.kind == "episodic" and memory.content_type not in ACTIVITIES and memory.content_type != "session_summary":
        who = _speaker(memory.metadata) or _ROLES.get(memory.role or "", "")
    elif is_quotation(memory.metadata) and origin == "own":
        who = _quoted(memory.metadata, memory.valid_from.astimezone(zone))
    if origin == "own" and (memory.kind == "semantic" or (memory.kind == "episodic" and memory.role == "user")):
        said = f"{_speaker(memory.metadata) or 'user'}: {one_line(content)}"
    if origin == "own":
        text = shown(content)
        if memory.kind == "procedural" and memory.trigger_condition:
            text = f"When {shown(memory.trigger_condition)}: {text}"
        text = f"{who}: {text}" if who else text
    else:  # whatever others say, their names too, stands behind the mark
        if memory.kind == "procedural" and memory.trigger_condition:
            content = f"When {memory.trigger_condition}: {content}"
        text = shown(f"{who}: {content}" if who else content, origin)
    worth = value if origin == "own" else OTHERS_VALUE * value
    return Item(
        chosen,
        text,
        worth,
        memory.memory_id,
        score,
        origin == "own",
        memory.valid_from.astimezone(zone) if memory.kind == "episodic" else None,
        said=said,
    )


def of_documents(hits: Sequence[Hit]) -> list[Item]:
    """Passages, each behind the title and headings that it stands under. Whoever wrote them: they are data."""
    top = max((hit.score for hit in hits), default=0.0) or 1e-9
    return [
        Item(
            "documents",
            shown(f"{hit.memory.metadata.get('under', '')}: {hit.memory.content}", "tool"),
            OTHERS_VALUE * hit.score / top,
            hit.memory.memory_id,
            hit.score,
            trusted=False,
        )
        for hit in hits
    ]


def of_facts(rows: Sequence[Row], metadata: Sequence[Mapping[str, object]], zone: tzinfo = UTC) -> list[Item]:
    """What is known of the user, for one who asks who they are."""
    origins: list[Origin] = [
        origin_of(row["role"], row["source"], held, own=True) for row, held in zip(rows, metadata, strict=True)
    ]
    return [
        Item(
            "long_term",
            shown(f"{who}: {row['content']}" if who else row["content"], origin),
            1.0 + row["importance"],
            row["memory_id"],
            trusted=origin == "own",
            said=f"{_speaker(held) or 'user'}: {one_line(row['content'])}" if origin == "own" else "",
        )
        for row, held, origin in zip(rows, metadata, origins, strict=True)
        for who in (_quoted(held, row["valid_from"].astimezone(zone)) if is_quotation(held) else "",)
    ]


def of_sources(sources: Sequence[tuple[Source, bool]], *, data_first: bool) -> list[Item]:
    """What can be looked up, and what it is good for, best match first; with each, whether it is the asking user who
    told of it. Where figures are asked for, databases come before all others."""
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
    """Documents that speak of the question, and where: to be looked up, if it is worth it."""
    said: dict[str, Item] = {}
    for hit in passages:
        title, _, headings = str(hit.memory.metadata.get("under", "")).partition(" > ")
        where = f"{title} (document): {headings}" if headings else f"{title} (document)"
        said.setdefault(title, Item("knowledge", shown(where, "tool"), 0.7, trusted=False))
    return list(said.values())[:TITLES_NAMED]


def without_doubles(gathered: Gathered) -> None:
    """Nothing twice: of one memory, or of one statement, the first stays."""
    ids: set[UUID | None] = {None}
    texts: set[str] = set()
    kept: list[Item] = []
    for item in gathered.items:
        if item.memory_id in ids - {None}:
            continue  # several sources found it
        ids.add(item.memory_id)
        if item.statement in texts:
            gathered.aside.append((item, "duplicate"))
        else:
            texts.add(item.statement)
            kept.append(item)
    gathered.items = kept


def day_heading(at: datetime) -> str:
    return f"{at:%Y-%m-%d}:"


def render(items: Sequence[Item], begin: str, end: str) -> str:
    """Markdown: a heading for each section, the lines of a time under that time, in its order."""
    if not items:
        return ""
    parts = [begin]
    for name, title in TITLES.items():
        mine = [item for item in items if item.section == name]
        if not mine:
            continue
        parts.append(f"## {title}")
        parts += [f"- {item.text}" for item in mine if not item.is_dated]
        day = None
        for at, item in sorted(
            ((item.at, item) for item in mine if item.at and item.is_dated), key=lambda pair: pair[0]
        ):
            if at.date() != day:
                day = at.date()
                parts.append(day_heading(at))
            parts.append(f"- {item.text}")
    parts.append(end)
    return "\n".join(parts)


def _quoted(metadata: Mapping[str, object], said_at: datetime) -> str:
    """Who said a fact that is a quotation, and when."""
    return f"{_speaker(metadata) or _ROLES['user']} ({said_at:%Y-%m-%d})"


def _speaker(metadata: Mapping[str, object]) -> str:
    """The name of who said something, as it may stand in a prompt; empty where none is known."""
    speaker = metadata.get("speaker")
    if not isinstance(speaker, str) or reads_like_an_instruction(speaker):
        return ""
    name = one_line(speaker[:80]).replace(":", " ").strip()
    return "" if name.casefold() in _RESERVED else name


def _section_of(memory: Memory) -> SectionName:
    if memory.kind == "procedural":
        return "skills"
    if memory.content_type in ACTIVITIES:
        return "activity"
    return "long_term" if memory.kind == "semantic" else "conversations"


def _lines(text: str) -> list[str]:
    return [each.removeprefix("- ").strip() for each in text.splitlines() if each.strip(" -")]


_RESERVED = frozenset(("user", "agent", "assistant", "system", "tool", "developer"))
"""Names that mark a role in a prompt; no speaker may have one."""
_LAST = "(last conversation) "
_ROLES = {"user": "User", "assistant": "Agent", "system": "System", "tool": "Tool"}
