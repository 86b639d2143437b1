"""In-process working memory: the scratchpad of a session. No I/O, bounded, lost on restart."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log

from pydantic import JsonValue

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.base.text.words import count_terms
from keeps.providers.contract import Filters, Match, text_of
from keeps_client.checked import validated
from keeps_client.models import Entry, NewEntry, ProviderCapabilities
from keeps_client.validation import named

SESSION_BYTES, TENANT_BYTES, TOTAL_BYTES = 1 << 20, 16 << 20, 64 << 20
_CAPABILITIES = ProviderCapabilities(provider_id="working", tier="working")
Session = tuple[str, str, str]
SHORT = 5_000
"""Characters whose words are counted in less than ten milliseconds, in any script; longer texts use a thread."""


@dataclass(frozen=True, slots=True)
class _Held:
    entry: Entry
    terms: Counter[str]
    size: int


@dataclass(slots=True)
class _Shelf:
    entries: OrderedDict[str, _Held] = field(default_factory=OrderedDict[str, _Held])
    size: int = 0


class WorkingShelves:
    """The working memory of all sessions of this process.

    The least recently used is evicted first: entries within a session beyond 1 MiB, whole sessions of a tenant beyond
    16 MiB, and beyond 64 MiB in all, sessions of the tenant that has most.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        session_bytes: int = SESSION_BYTES,
        tenant_bytes: int = TENANT_BYTES,
        total_bytes: int = TOTAL_BYTES,
    ) -> None:
        self._clock = clock
        self._session_bytes = session_bytes
        self._tenant_bytes = tenant_bytes
        self._total_bytes = total_bytes
        self._shelves: dict[str, OrderedDict[Session, _Shelf]] = {}
        self._sizes: Counter[str] = Counter()
        """Sizes by tenant, like the shelves."""

    def has(self, scope: Scope, session_id: str | None) -> bool:
        return self._shelf(_session(scope, session_id)) is not None

    def of(self, scope: Scope, session_id: str | None = None) -> WorkingProvider:
        return WorkingProvider(self, _session(scope, session_id))

    def put(self, session: Session, entry: Entry) -> None:
        """Store an entry at once, so that a concurrent erasure removes it; its words follow (`count`)."""
        size = len(entry.key.encode()) + len(json.dumps([entry.value, entry.metadata], ensure_ascii=False).encode())
        tenant_id = session[0]
        shelf = self._shelves.setdefault(tenant_id, OrderedDict()).setdefault(session, _Shelf())
        self.remove(session, entry.key, keep_empty=True)
        shelf.entries[entry.key] = _Held(entry, Counter(), size)
        shelf.size += size
        self._sizes[tenant_id] += size
        while shelf.size > self._session_bytes and len(shelf.entries) > 1:
            self.remove(session, next(iter(shelf.entries)))
        self._shelves[tenant_id].move_to_end(session)
        while self._sizes[tenant_id] > self._tenant_bytes and len(self._shelves[tenant_id]) > 1:
            self._drop(next(iter(self._shelves[tenant_id])))
        while self._sizes.total() > self._total_bytes:
            most = self._sizes.most_common(1)[0][0]
            oldest = next(iter(self._shelves[most]))
            if oldest == session:
                return
            self._drop(oldest)

    def count(self, session: Session, entry: Entry, terms: Counter[str]) -> None:
        """Store the words of an entry, if it is still present."""
        shelf = self._shelf(session)
        held = shelf.entries.get(entry.key) if shelf is not None else None
        if shelf is not None and held is not None and held.entry is entry:
            shelf.entries[entry.key] = replace(held, terms=terms)

    def entry(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None) -> Entry:
        """Return an entry as it would be stored. Raises ValidationFailedError for an invalid one."""
        new = validated(NewEntry, {"value": value, "metadata": dict(metadata or {})})
        return Entry(key=named("key", key, 355), value=new.value, metadata=new.metadata, updated_at=self._clock())

    def get(self, session: Session, key: str) -> Entry | None:
        shelf = self._shelf(session)
        if shelf is None or key not in shelf.entries:
            return None
        shelf.entries.move_to_end(key)
        self._shelves[session[0]].move_to_end(session)
        return shelf.entries[key].entry

    def remove(self, session: Session, key: str, *, keep_empty: bool = False) -> bool:
        shelf = self._shelf(session)
        entry = shelf.entries.pop(key, None) if shelf is not None else None
        if shelf is None or entry is None:
            return False
        shelf.size -= entry.size
        self._sizes[session[0]] -= entry.size
        if not shelf.entries and not keep_empty:
            self._drop(session)
        return True

    def remove_user(self, scope: Scope) -> int:
        """Remove all sessions of a user; return the number of entries."""
        places = [place for place in self._shelves.get(scope.tenant_id, ()) if place[1] == scope.user_id]
        return sum(self._drop(place) for place in places)

    def _shelf(self, session: Session) -> _Shelf | None:
        return self._shelves.get(session[0], {}).get(session)

    def _drop(self, session: Session) -> int:
        """Remove a session; return the number of its entries."""
        of_tenant = self._shelves[session[0]]
        shelf = of_tenant.pop(session)
        self._sizes[session[0]] -= shelf.size
        if not of_tenant:
            del self._shelves[session[0]], self._sizes[session[0]]
        return len(shelf.entries)

    def held(self, session: Session) -> list[_Held]:
        shelf = self._shelf(session)
        return [] if shelf is None else list(shelf.entries.values())


class WorkingProvider:
    """The working memory of one session."""

    def __init__(self, shelves: WorkingShelves, session: Session) -> None:
        self._shelves = shelves
        self._session = session

    def capabilities(self) -> ProviderCapabilities:
        return _CAPABILITIES

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        entry = self._shelves.entry(key, value, metadata)
        self._shelves.put(self._session, entry)
        text = f"{entry.key} {text_of(entry.value)}"
        terms = count_terms(text) if len(text) <= SHORT else await asyncio.to_thread(count_terms, text)
        self._shelves.count(self._session, entry, terms)

    async def read(self, key: str) -> Entry | None:
        return self._shelves.get(self._session, key)

    async def delete(self, key: str) -> bool:
        return self._shelves.remove(self._session, key)

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        """Search by words, rare ones first; a query equal to a key finds that entry first."""
        wanted = Filters.of(filters)
        entries = [item for item in self._shelves.held(self._session) if wanted.pass_by(item.entry)]
        terms = count_terms(query)
        found_in = Counter(term for item in entries for term in terms if term in item.terms)
        matches = [
            Match(
                item.entry,
                sum(log(1 + len(entries) / found_in[term]) for term in terms if term in item.terms)
                + 100.0 * (query.strip() == item.entry.key),
            )
            for item in entries
        ]
        return sorted((each for each in matches if each.score > 0), key=lambda each: -each.score)[:limit]

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        wanted = Filters.of(filters)
        return sorted(each.entry.key for each in self._shelves.held(self._session) if wanted.pass_by(each.entry))

    async def rebuild(self) -> int:
        return 0

    async def close(self) -> None: ...


def _session(scope: Scope, session_id: str | None) -> Session:
    return scope.tenant_id, scope.user_id, session_id or scope.session_id or ""
