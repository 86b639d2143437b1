"""The pages, behind the edge, with the caller's roles; each takes its turn with the tenant's other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Match, Route

from keeps.base.door import through
from keeps.base.scope import Scope
from keeps.doors.console.views import menu_for, rendered
from keeps.doors.demo.story import story_tenants
from keeps.doors.server.admission import admit
from keeps.doors.server.authorized_memory import AuthorizedMemory
from keeps.doors.server.bodies import buffered_body, check_charset, replay_body
from keeps.doors.server.mounts import Mount
from keeps.doors.server.urls import SLASH
from keeps.engine import Keeps, LocalAdmin
from keeps.store.access.rates import Rates
from keeps.store.access.roles import permits, require
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import RoleName

MOST_FORM, MOST_FIELDS = 1 << 20, 1_000
"""Bytes of a form without a file: its longest field has 50,000 characters, each of at most 12 bytes."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the console: its fields, and the caller's memory."""

    request: Request
    keeps: Keeps
    memory: AuthorizedMemory
    scope: Scope
    rates: Rates | None
    body: bytes = b""

    @property
    def admin(self) -> LocalAdmin:
        return self.memory.admin

    @property
    def open_to_all(self) -> bool:
        """Return whether nobody signs in: KEEPS_AUTH is `none`, so only this machine is served."""
        return self.request.app.state.authenticator.mode == "none"

    def asked(self, name: str) -> str:
        """Return a query parameter without the space around it; empty if it is missing."""
        return self.request.query_params.get(name, "").strip()

    def given(self, name: str) -> str:
        """Return a path parameter."""
        found = self.request.path_params[name]
        return found.replace(SLASH, "/") if isinstance(found, str) else found

    def number(self, name: str) -> int | None:
        """Return a query parameter as a whole number. Raises ValidationFailedError."""
        return read_number(self.asked(name), name)

    def chosen(self, name: str) -> tuple[str, ...] | None:
        """Return the values of a query parameter that may occur several times; None if it is missing."""
        return tuple(filter(None, self.request.query_params.getlist(name))) or None

    def moment(self, name: str) -> datetime | None:
        return read_moment(self.asked(name), name)

    def may(self, role: RoleName) -> bool:
        return permits(self.scope, role)

    async def admit(self, role: RoleName) -> None:
        """Check the role and count a request that is no operation of the memory. Raises ForbiddenError."""
        reads = self.request.method == "GET"
        self.request.scope["keeps.allowance"] = await admit(self.rates, self.scope, role, reads=reads)

    async def form(self, role: RoleName = "writer") -> FormData:
        """Return the submitted form. Raises ForbiddenError for a missing role, ValidationFailedError."""
        require(self.scope, role)
        check_charset(self.request)
        try:
            if _is_multipart(self.request):
                sent = Request(self.request.scope, replay_body(self.body, self.request.receive))
                return await sent.form(max_files=1, max_fields=MOST_FIELDS)
            read = partial(parse_qsl, keep_blank_values=True, max_num_fields=MOST_FIELDS)
            fields = await asyncio.to_thread(read, self.body.decode("utf-8", "replace"))
            return FormData([(name, value) for name, value in fields])  # noqa: C416  another type
        except (HTTPException, ValueError) as error:
            detail = error.detail if isinstance(error, HTTPException) else str(error)
            raise ValidationFailedError(f"the form cannot be read: {detail}") from None

    def page(self, template: str, **values: object) -> Response:
        """Return a whole page, or the part that one of our scripts asked for."""
        part = self.request.headers.get("hx-target")
        return HTMLResponse(
            rendered(
                template,
                {
                    "menu": menu_for(self.scope.roles),
                    "here": self.request.url.path,
                    "scope": self.scope,
                    "session": self.request.scope.get("keeps.session"),
                    "open_to_all": self.open_to_all,
                    "is_demo": self.open_to_all and self.scope.tenant_id in story_tenants(),
                    "may": self.may,
                    "did": self.asked("did"),
                    "query": self.request.query_params,
                    "part": part,
                    **values,
                },
            )
        )

    def go(self, where: str, did: str = "") -> Response:
        """Redirect to another page, which shows what was done."""
        return RedirectResponse(
            f"{where}{'&' if '?' in where else '?'}{urlencode({'did': did})}" if did else where, 303
        )

    def more(self, cursor: str | None, name: str = "cursor") -> str | None:
        """Return the address of the next part of this list."""
        return None if cursor is None else str(self.request.url.include_query_params(**{name: cursor}).query)


Page = Callable[[Call], Awaitable[Response]]


def read_number(text: str, name: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise ValidationFailedError(f"{name} must be a whole number")
    return int(text)


def read_moment(text: str, name: str) -> datetime | None:
    """Parse a time as browsers and people write it; without a zone it is UTC."""
    if not text:
        return None
    moment = None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
    if moment is None or not 1970 <= moment.year <= 9998:
        raise ValidationFailedError(f"{name} must be a UTC time such as 2026-11-24 18:30")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class Console(Mount):
    """All pages below /ui (`keeps.doors.server.mounts.Mount`)."""

    paths = ("/ui/",)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from keeps.doors.console.pages import ROUTES

        route, page = _chosen(ROUTES, scope)
        request = Request(scope | {"path_params": route}, receive, send)
        caller: Scope = scope["keeps.scope"]
        assert self._keeps is not None
        memory = AuthorizedMemory(self._keeps, caller, self._rates)
        call = Call(request, self._keeps, memory, caller, self._rates)
        await call.admit("reader")
        # Read before a place is taken: whoever sends slowly waits for themselves.
        most = None if _is_multipart(request) else MOST_FORM
        async with buffered_body(request, most) as body, request.app.state.concurrency.slot(caller):
            with through("console"):
                response = await page(replace(call, body=body))
        await response(scope, receive, send)


def _is_multipart(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


def _chosen(routes: list[tuple[Route, Page]], scope: Any) -> tuple[dict[str, Any], Page]:
    partial = False
    for route, page in routes:
        match, found = route.matches(scope)
        if match is Match.FULL:
            return found["path_params"], page
        partial = partial or match is Match.PARTIAL
    if partial:
        raise ValidationFailedError(f"this page does not accept {scope['method']}")
    raise NotFoundError("there is no such page")
