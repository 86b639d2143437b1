"""Build one SQL condition from the arguments of recall that select memories. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from keeps.base.scope import Scope
from keeps.base.text.trust import LEVELS
from keeps.memory.memories.filters import compile_filters
from keeps.memory.recall.rows import Rows, moment_of
from keeps.store.db.statements import Condition
from keeps_client.models import RecallRequest


@dataclass(frozen=True, slots=True)
class Selection:
    """The memories that may answer: their lives, by index, and whether a further condition applies."""

    lives: tuple[str, ...]
    request: RecallRequest
    scope: Scope
    now: datetime
    always: bool

    def condition(self, first_parameter: int) -> Condition | None:
        """Return the condition with values bound from `$first_parameter` on; None if the lives are sufficient.

        Also None for a request about the past: it searches today's rows, and `past` has the condition for that moment.
        """
        if self.request.as_of is not None:
            return None
        return (
            _condition(self.request, self.scope, self.now, first_parameter)
            if self.always or self.scope.agent_bound or self.scope.memories_only or _selects(self.request)
            else None
        )

    @property
    def filters(self) -> bool:
        """Return whether a further condition applies."""
        return self.condition(1) is not None

    def past(self, first_parameter: int) -> Condition:
        """Return the condition that a memory must have met at `as_of`."""
        return _condition(self.request, self.scope, self.request.as_of or self.now, first_parameter)

    def current(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which candidates are valid and unexpired now.

        The arms without a filter cannot check this: time passes without writing rows.
        """
        moment = moment_of(self.request.valid_at or self.now)
        table = rows.table
        begun = table["begins"] <= moment
        if self.request.valid_at is None:
            # Accept rows written by a clock that has since been set back.
            begun |= table["begins"] <= table["used"]
        here = begun & (table["expires"] > moment_of(self.now))
        return here if self.request.include_superseded else here & (table["ends"] > moment)


def select(request: RecallRequest, scope: Scope, now: datetime, *, always: bool = False) -> Selection:
    if request.as_of is not None:
        return Selection(("current", "superseded", "archived", "deleted"), request, scope, now, always)
    lives = ["current"]
    if request.include_superseded or request.valid_at is not None:
        lives.append("superseded")
    if request.include_archived:
        lives.append("archived")
    return Selection(tuple(lives), request, scope, now, always)


def least_trust(request: RecallRequest) -> int | None:
    """Return the place of the least level of trust that may answer, in LEVELS; None if any may."""
    return None if request.min_trust in (None, LEVELS[-1]) else LEVELS.index(request.min_trust)


def _selects(request: RecallRequest) -> bool:
    """Return whether the request narrows the selection beyond the lives."""
    narrowed = (
        request.kinds,
        request.layers,
        request.content_types,
        request.agent_id,
        request.session_id,
        request.namespace,
        request.tags,
        request.filters,
        request.min_importance,
        least_trust(request),
        request.since,
        request.until,
        request.valid_at,
        request.spaces,
    )
    return any(each is not None for each in narrowed) or request.scope in ("own", "shared")


def _condition(request: RecallRequest, scope: Scope, now: datetime, first_parameter: int) -> Condition:
    filters = compile_filters(request.filters, first_parameter)
    sql = [f"({filters.sql})"]
    values = list(filters.values)

    def add(template: str, value: object) -> None:
        values.append(value)
        sql.append(template.format(f"${first_parameter + len(values) - 1}"))

    for column, wanted in (("kind", request.kinds), ("layer", request.layers), ("content_type", request.content_types)):
        if wanted is not None:
            add(f"memories.{column} = ANY ({{}}::text[])", list(wanted))
    for column, one in (
        ("agent_id", request.agent_id),
        ("session_id", request.session_id),
        ("namespace", request.namespace),
    ):
        if one is not None:
            add(f"memories.{column} = {{}}::text", one)
    if request.tags is not None:
        add(
            "memories.tags @> {}::text[]" if request.tags_match == "all" else "memories.tags && {}::text[]",
            list(request.tags),
        )
    if request.min_importance is not None:
        add("memories.importance >= {}::double precision", request.min_importance)
    if (level := least_trust(request)) is not None:
        trusted = "keeps.memory_trust(memories.layer, memories.role, memories.source, memories.metadata)"
        add(trusted + " <= {}::integer", level)
        if level < LEVELS.index("shared"):
            add("memories.user_id = {}::text", "" if scope.space_id else scope.user_id)
    if request.since is not None:
        add("memories.valid_from >= {}::timestamptz", request.since)
    if request.until is not None:
        add("memories.valid_from < {}::timestamptz", request.until)
    if request.scope in ("own", "shared"):
        add("memories.user_id = {}::text" if request.scope == "own" else "memories.user_id <> {}::text", scope.user_id)
    if scope.grant is not None:
        for column, covered in (("kind", scope.grant.kinds), ("namespace", scope.grant.namespaces)):
            if covered is not None:
                add(f"memories.{column} = ANY ({{}}::text[])", list(covered))
    if request.spaces is not None:
        spaces = list(scope.open_spaces)
        add("(NOT starts_with(memories.user_id, '(space) ') OR memories.user_id = ANY ({}::text[]))", spaces)
    if scope.agent_bound:
        add(
            "(memories.kind = 'semantic' OR memories.agent_id = {}::text OR starts_with(memories.user_id, '(space) '))",
            scope.agent_id,
        )
    add("(memories.expires_at IS NULL OR memories.expires_at > {}::timestamptz)", now)
    # A memory that was valid when it was written stays valid if the clock has since been set back.
    since_written = "" if request.valid_at or request.as_of else " OR memories.valid_from <= memories.updated_at"
    add("(memories.valid_from <= {}::timestamptz" + since_written + ")", request.valid_at or now)
    if not request.include_superseded:
        add("(memories.valid_to IS NULL OR memories.valid_to > {}::timestamptz)", request.valid_at or now)
    return Condition(" AND ".join(sql), tuple(values))
