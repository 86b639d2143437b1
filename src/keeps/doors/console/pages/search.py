"""Search: recall while typing, with every number of a score."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import stacked
from keeps_client.models import Hit

SHOWN, MISSES = 10, 10
"""Hits, and near misses below them."""


async def search(call: Call) -> Response:
    query = call.asked("q")
    result = None
    if query:
        result = await call.memory.recall(
            query,
            limit=SHOWN + MISSES,
            kinds=call.chosen("kind"),  # pyright: ignore[reportArgumentType]
            layers=call.chosen("layer"),  # pyright: ignore[reportArgumentType]
            tags=call.chosen("tag"),
            as_of=call.moment("as_of"),
            include_archived=True if call.asked("archived") else None,
            include_superseded=bool(call.asked("superseded")),
            explain=True,
        )
    hits = [] if result is None else result.hits
    most = max((_points(hit) for hit in hits), default=1.0)
    bars = {hit.memory.memory_id: stacked(_parts(hit), most) for hit in hits}
    explained = [hit.explanation for hit in hits if hit.explanation is not None]
    terms = list(dict.fromkeys(term for each in explained for term in each.matched_terms))
    return call.page(
        "hits.html" if call.request.headers.get("hx-target") == "hits" else "search.html",
        found=result,
        hits=hits[:SHOWN],
        misses=hits[SHOWN:],
        bars=bars,
        terms=terms,
        arms=_arms(hits),
    )


async def welcome(_: Call) -> Response:
    """Answer the sign-in check of a key or token: whoever gets here is authenticated, and may read."""
    return Response(status_code=204)


def _parts(hit: Hit) -> list[tuple[str, float]]:
    return [] if hit.explanation is None else [(each.name, each.points) for each in hit.explanation.parts]


def _points(hit: Hit) -> float:
    return sum(max(0.0, points) for _, points in _parts(hit))


def _arms(hits: list[Hit]) -> list[tuple[str, int]]:
    """Return the number of hits that each arm of recall supports."""
    counts: dict[str, int] = {}
    for hit in hits:
        for name, points in _parts(hit):
            counts[name] = counts.get(name, 0) + (points > 0)
    return [(name, count) for name, count in counts.items() if count]


PAGES = {"GET /ui/": search, "GET /ui/welcome": welcome}
