"""Finds the route of a request by its method and path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from starlette.datastructures import URL
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from keeps.doors.server.problems import encode, problem_of
from keeps_client.endpoint import Endpoint
from keeps_client.errors import NotFoundError, ValidationFailedError

_UUID = re.compile("-?".join(f"[0-9a-fA-F]{{{length}}}" for length in (8, 4, 4, 4, 12)))
_ANY = "{}"
"""Replaces a path parameter in the key of a template."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """An app that answers the methods of a path template, such as `/v1/plans/{plan_id}`.

    - `uuid_names`: the path parameters that match only a UUID.
    - `query_names`: the query parameters that are known; None: they are not checked.
    """

    path: str
    methods: tuple[str, ...]
    app: ASGIApp
    endpoint: Endpoint[Any, Any, Any] | None = None
    uuid_names: frozenset[str] = frozenset()
    query_names: frozenset[str] | None = None

    @cached_property
    def parameters(self) -> tuple[tuple[int, str, bool], ...]:
        """Return the path parameters: the segment of each, its name, and whether it is a UUID."""
        segments = enumerate(self.path.split("/"))
        names = ((place, segment[1:-1]) for place, segment in segments if segment.startswith("{"))
        return tuple((place, name, name in self.uuid_names) for place, name in names)

    def match(self, segments: list[str]) -> dict[str, Any] | None:
        """Return the values of the path parameters, or None if one does not match."""
        values: dict[str, Any] = {}
        for place, name, is_uuid in self.parameters:
            segment = segments[place]
            if not segment or (is_uuid and not _UUID.fullmatch(segment)):
                return None
            values[name] = UUID(segment) if is_uuid else segment
        return values


class Router:
    """Routes by the key of their template. A literal segment is preferred to a parameter."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes: dict[str, dict[str, Route]] = {}
        positions: dict[int, set[tuple[int, ...]]] = {}
        for route in routes:
            segments = route.path.split("/")
            places = tuple(place for place, _, _ in route.parameters)
            positions.setdefault(len(segments), set()).add(places)
            self._routes.setdefault(_key(segments, places), {}).update(dict.fromkeys(route.methods, route))
        self._positions = {
            length: sorted(places, key=lambda each: (len(each), each)) for length, places in positions.items()
        }
        """Positions of parameters in the templates of each number of segments."""

    def find(self, method: str, path: str) -> tuple[Route, dict[str, Any]] | None:
        """Return the route and its path parameters, or None."""
        segments = path.split("/")
        for routes in self._candidates(segments):
            route = routes.get(method)
            if route is not None and (values := route.match(segments)) is not None:
                return route, values
        return None

    def at(self, path: str) -> dict[str, Route]:
        """Return the routes of a path by method."""
        segments = path.split("/")
        return {
            method: route
            for routes in self._candidates(segments)
            for method, route in routes.items()
            if route.match(segments) is not None
        }

    async def reject(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request without a route: 405, a redirect if a slash is too much, or NotFoundError."""
        path = scope["path"]
        if routes := self.at(path):
            scope["route"] = next(iter(routes.values()))
            await _method_not_allowed(scope, sorted(routes))(scope, receive, send)
        elif path.endswith("/") and self.at(shorter := path.rstrip("/")):
            await RedirectResponse(str(URL(scope={**scope, "path": shorter})))(scope, receive, send)
        else:
            raise NotFoundError("no such path, or an id in it is not a UUID; see /docs")

    def _candidates(self, segments: list[str]) -> Iterator[dict[str, Route]]:
        for places in self._positions.get(len(segments), ()):
            if (routes := self._routes.get(_key(segments, places))) is not None:
                yield routes


def _key(segments: list[str], places: tuple[int, ...]) -> str:
    if not places:
        return "/".join(segments)
    key = segments.copy()
    for place in places:
        key[place] = _ANY
    return "/".join(key)


def _method_not_allowed(scope: Scope, methods: list[str]) -> Response:
    allow = ", ".join(methods)
    error = ValidationFailedError(f"this path does not support {scope['method']}, only {allow}")
    _, headers, body = encode({**problem_of(error, scope["keeps.request_id"]), "status": 405})
    response = Response(body, 405)
    response.raw_headers = [*headers, (b"allow", allow.encode())]
    return response
