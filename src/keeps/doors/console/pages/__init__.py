"""Every page of the console, by its path."""

from __future__ import annotations

from starlette.routing import Route

from keeps.doors.console.mount import Page
from keeps.doors.console.pages import (
    admin,
    context,
    conversations,
    costs,
    demo,
    events,
    graph,
    inbox,
    insights,
    items,
    knowledge,
    memories,
    memory,
    moments,
    operations,
    pick,
    playground,
    requests,
    search,
    spaces,
    transcripts,
    workspace,
)


def _route(said: str, page: Page) -> tuple[Route, Page]:
    method, path = said.split(" ")
    # Matched here, and served by `keeps.doors.console.mount`.
    return Route(path, page, methods=[method]), page


PAGES: dict[str, Page] = {
    **search.PAGES,
    **memories.PAGES,
    **memory.PAGES,
    **inbox.PAGES,
    **spaces.PAGES,
    **conversations.PAGES,
    **transcripts.PAGES,
    **items.PAGES,
    **context.PAGES,
    **graph.PAGES,
    **moments.PAGES,
    **events.PAGES,
    **workspace.PAGES,
    **operations.PAGES,
    **insights.PAGES,
    **requests.PAGES,
    **pick.PAGES,
    **playground.PAGES,
    **knowledge.PAGES,
    **costs.PAGES,
    **admin.PAGES,
    **demo.PAGES,
}
"""Pages by method and path, such as `GET /ui/memories`."""
ROUTES = [_route(said, page) for said, page in PAGES.items()]
