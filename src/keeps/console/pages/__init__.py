"""Every page of the console, by its path."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keeps.console.mount import Page
from keeps.console.pages import (
    admin,
    context,
    conversations,
    demo,
    events,
    graph,
    insights,
    knowledge,
    memories,
    memory,
    moments,
    operations,
    search,
    workspace,
)


async def _unused(_: Request) -> Response:
    """Routes are matched here and served by `keeps.console.mount`."""
    raise NotImplementedError


def _route(said: str, page: Page) -> tuple[Route, Page]:
    method, path = said.split(" ")
    return Route(path, _unused, methods=[method]), page


PAGES: dict[str, Page] = {
    **search.PAGES,
    **memories.PAGES,
    **memory.PAGES,
    **conversations.PAGES,
    **context.PAGES,
    **graph.PAGES,
    **moments.PAGES,
    **events.PAGES,
    **workspace.PAGES,
    **operations.PAGES,
    **insights.PAGES,
    **knowledge.PAGES,
    **admin.PAGES,
    **demo.PAGES,
}
"""By method and path, such as `GET /ui/memories`."""
ROUTES = [_route(said, page) for said, page in PAGES.items()]
