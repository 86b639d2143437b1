"""Verification of the chain of hashes over a log. Pure: it takes the events in order, page by page."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from keeps.store.db.session import Row
from keeps_client.models.proof import Anchor, ChainBreak, ChainProblem, ChainVerification

_STATES: dict[str, ChainProblem] = {"changed": "contents changed", "hidden": "contents removed without a record"}


@dataclass(slots=True)
class ChainCheck:
    """The state of a verification. Its memory does not grow with the log.

    Attributes:
        last: Number of the log's last event.
        retired: Up to here retention has removed events; of those that it kept only the contents are linked.
        head: Stored hash of the last event.
    """

    tenant_id: str
    last: int
    retired: int
    head: bytes | None
    anchors: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    broken: ChainBreak | None = None
    position: int = 0
    """Number of the last event that was taken."""
    _hash: bytes | None = None
    _first: int | None = None
    _joined: bool = False
    """True if the chain goes on after events that retention removed, whose record must follow."""
    _kept: Any = field(default_factory=hashlib.sha256)
    _kept_events: int = 0
    _record: dict[str, Any] | None = None
    _counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @staticmethod
    def of(tenant_id: str, last: int, retired: int, head: bytes | None, anchors: Iterable[Anchor]) -> ChainCheck:
        """Return a check of one tenant's chain that also looks for its anchors."""
        wanted = defaultdict[int, set[str]](set)
        for anchor in anchors:
            if anchor.tenant_id == tenant_id:
                wanted[anchor.sequence].add(anchor.hash)
        return ChainCheck(tenant_id, last, retired, head, dict(wanted))

    def take(self, row: Row) -> None:
        """Check the next event; `broken` says what is wrong with it."""
        sequence: int = row["sequence"]
        problem = self._problem(row)
        if problem is None and sequence in self.anchors:
            found = None if row["previous_hash"] is None else row["hash"].hex()
            problem = self._matches(sequence, found)
        if problem is not None:
            at = max(self.position, self.retired) + 1 if problem == "missing" else sequence
            self.broken = ChainBreak(sequence=at, problem=problem)
            return
        if row["type"] == "log.retired" and row["data"] is not None:
            self._record = json.loads(row["data"])
        self.position = sequence

    def finish(self) -> ChainVerification:
        """Return the result, after the last event or the first break."""
        if self.broken is None and (problem := self._problem_at_end()) is not None:
            self.broken = problem
        return ChainVerification(
            tenant_id=self.tenant_id,
            intact=self.broken is None,
            first=self._first,
            last=self.position,
            hash=None if self._hash is None else self._hash.hex(),
            events=self._counts["events"],
            older=self._counts["open"],
            redacted=self._counts["redacted"],
            retired_through=self.retired,
            anchors=self._counts["anchors"],
            anchors_retired=sum(len(hashes) for sequence, hashes in self.anchors.items() if sequence <= self.retired),
            broken=self.broken,
        )

    def _problem(self, row: Row) -> ChainProblem | None:
        sequence: int = row["sequence"]
        if sequence > self.last:
            return "head differs"
        if row["state"] in _STATES:
            return _STATES[row["state"]]
        self._counts["events"] += 1
        self._counts[row["state"]] += 1
        if sequence <= self.retired:
            if row["previous_hash"] is not None:
                self._kept.update(row["hash"])
                self._kept_events += 1
            return None
        if sequence != max(self.position, self.retired) + 1:
            return "missing"
        if row["previous_hash"] is None:
            return None if self._hash is None else "outside the chain"
        if self._hash is None:
            self._first = sequence
            if not row["starts"]:
                if sequence != self.retired + 1:
                    return "not linked"
                self._joined = True
                if (anchor := self._matches(self.retired, row["previous_hash"].hex())) is not None:
                    return anchor
        elif row["previous_hash"] != self._hash:
            return "not linked"
        self._hash = row["hash"]
        return None

    def _matches(self, sequence: int, found: str | None) -> ChainProblem | None:
        wanted = self.anchors.pop(sequence, set())
        if wanted - {found}:
            return "anchor differs"
        self._counts["anchors"] += len(wanted)
        return None

    def _problem_at_end(self) -> ChainBreak | None:
        position = max(self.position, self.retired)
        if position < self.last:
            return ChainBreak(sequence=position + 1, problem="missing")
        if self._hash != self.head:
            return ChainBreak(sequence=self.last, problem="head differs")
        if self._joined or self._kept_events:
            if self._record is None or self._record.get("through") != self.retired:
                return ChainBreak(sequence=self.retired, problem="removed without a record")
            if self._record.get("kept") != self._kept.hexdigest():
                return ChainBreak(sequence=self.retired, problem="kept events differ")
        if ahead := [sequence for sequence in self.anchors if sequence > self.last]:
            return ChainBreak(sequence=min(ahead), problem="older than an anchor")
        return None
