"""Sign-in for browsers: converts a cookie to the headers that a program sends, and errors to pages.

It runs before the edge, and passes on what a program would have sent. Users of the console are therefore authenticated,
counted, limited and refused by the same code as everybody else.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from importlib.resources import files
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keeps.base.scope import check_id
from keeps.doors.console.sessions import COOKIE, HOURS, MAX_CREDENTIAL, Session, Sessions
from keeps.doors.console.views import rendered
from keeps.doors.server.bodies import short_body
from keeps.doors.server.problems import TITLES
from keeps_client.errors import KeepsError

UI = "/ui"
MOST_FORM = 16_384
"""Bytes of a form that is read here: a key or token, or two names."""
_NOT_FROM_BROWSERS = frozenset(
    {b"authorization", b"x-api-key", b"x-tenant-id", b"x-user-id", b"x-agent-id", b"idempotency-key"}
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
STATIC = ("keeps.css", "keeps.js", "keeps.svg", "vendor/htmx.min.js")


class Door:
    """An ASGI app around the edge. `open_to_all`: without KEEPS_AUTH nobody signs in."""

    def __init__(self, app: ASGIApp, *, sessions: Sessions, open_to_all: bool) -> None:
        self._app = app
        self._sessions = sessions
        self._open = open_to_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path in (UI, "/") or path.startswith(UI + "/")):
            await self._app(scope, receive, send)
            return
        page = _Page(scope, send)
        if path == "/":
            if page.method == "GET" and "text/html" in page.header(b"accept"):  # a browser
                await page.go("/ui/")
            else:
                await self._app(scope, receive, send)
            return
        try:
            await self._answer(page, path, receive)
        except KeepsError as error:
            await page.problem(error.status, TITLES[error.code], error.detail)

    async def _answer(self, page: _Page, path: str, receive: Receive) -> None:
        if path == UI:
            await page.go("/ui/")
        elif path.startswith("/ui/static/") and page.method in ("GET", "HEAD"):
            await page.file(path.removeprefix("/ui/static/"))
        elif page.method not in ("GET", "HEAD") and not page.is_own:
            await page.problem(403, "Cross-site request", "The console does not accept forms from other sites.")
        elif path == "/ui/login":
            await self._login(page, receive)
        elif path == "/ui/logout" and page.method == "POST":
            if (session := self._sessions.open(page.header(b"cookie"))) is not None:
                self._sessions.end(session)
            await page.go("/ui/login", self._sessions.cookie(None, secure=page.secure))
        else:
            await self._enter(page, receive)

    async def _enter(self, page: _Page, receive: Receive) -> None:
        session = self._sessions.open(page.header(b"cookie"))
        if session is None and self._open:
            session = self._sessions.begin("")
        if session is None:
            await page.go("/ui/login")
        elif page.path == "/ui/as" and page.method == "POST":
            form = await _form(receive)
            user, tenant = (form.get(name, "").strip() or None for name in ("user", "tenant"))
            user = form.get("pick") or user  # a user of the list, in place of what is typed
            for name, value in (("user_id", user), ("tenant_id", tenant)):
                if value is not None:
                    check_id(name, value)
            cookie = self._sessions.cookie(session.as_user(tenant if self._open else None, user), secure=page.secure)
            await page.go("/ui/", cookie)
        else:
            await self._app(page.asked_by(session), receive, page.send)

    async def _login(self, page: _Page, receive: Receive) -> None:
        if self._open:
            await page.go("/ui/")
            return
        if page.method != "POST":
            await page.html(200, "login.html", problem="", hours=HOURS)
            return
        credential = (await _form(receive)).get("credential", "").strip()
        if not credential or len(credential) > MAX_CREDENTIAL or not credential.isascii():
            await page.html(422, "login.html", problem="This is not a valid key or token.", hours=HOURS)
            return
        session = self._sessions.begin(credential)
        status, detail = await self._tried(page, session)
        if status < 300:
            await page.go("/ui/", self._sessions.cookie(session, secure=page.secure))
        else:
            await page.html(status, "login.html", problem=detail, hours=HOURS)

    async def _tried(self, page: _Page, session: Session) -> tuple[int, str]:
        """Return the edge's status and problem for a credential; the attempt counts like any other."""
        status, body = 500, b""

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def keep(message: Message) -> None:
            nonlocal status, body
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                body += message.get("body", b"")

        asked = page.asked_by(session) | {"method": "GET", "path": "/ui/welcome", "raw_path": b"/ui/welcome"}
        await self._app(asked | {"query_string": b""}, nothing, keep)
        try:
            return status, json.loads(body)["detail"] if status >= 300 else ""
        except (ValueError, KeyError, TypeError):
            return status, "Something went wrong."


class _Page:
    """One answer: its headers, and problems in a readable form."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._problem: tuple[int, bytearray] | None = None
        self.path, self.method = scope["path"], scope["method"]
        self.secure = "https" in (scope.get("scheme"), self.header(b"x-forwarded-proto"))

    def header(self, wanted: bytes) -> str:
        return b"; ".join(value for name, value in self._scope["headers"] if name == wanted).decode("latin-1")

    @property
    def is_own(self) -> bool:
        """Return whether a page of this server sent the form; a browser that does not say so is refused."""
        if self.header(b"sec-fetch-site") not in ("", "same-origin", "none"):
            return False
        scheme = "https" if self.secure else "http"
        return self.header(b"origin").lower() == f"{scheme}://{self.header(b'host').lower()}"

    def asked_by(self, session: Session) -> dict[str, object]:
        kept = [(name, value) for name, value in self._scope["headers"] if name not in _NOT_FROM_BROWSERS]
        return {**self._scope, "headers": [*kept, *session.headers()], "keeps.session": session}

    async def send(self, message: Message) -> None:
        """Pass on the edge's answer; turn a problem into a page."""
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            plain = self.header(b"accept") == "application/json"
            problem = kind.startswith((b"application/problem+json", b"application/json"))
            if message["status"] >= 400 and problem and not plain:
                self._problem = message["status"], bytearray()
                return
            known = {name for name, _ in message["headers"]}
            ours = [each for each in _HEADERS if each[0] not in known]
            message["headers"] = [*message["headers"], *ours, *_uncached(known)]
        elif self._problem is not None:
            self._problem[1].extend(message.get("body", b""))
            if not message.get("more_body", False):
                await self._told(*self._problem)
            return
        await self._send(message)

    async def _told(self, status: int, body: bytearray) -> None:
        if status == 401:
            await self.go("/ui/login", f"{COOKIE}=; Path=/ui; Max-Age=0; HttpOnly; SameSite=Strict")
            return
        try:
            said = json.loads(bytes(body))
        except ValueError:
            said = {}
        await self.problem(status, said.get("title", "Something went wrong"), said.get("detail", ""), said)

    async def problem(self, status: int, title: str, detail: str, said: dict[str, object] | None = None) -> None:
        part = bool(self.header(b"hx-request"))
        template = "problem_part.html" if part else "problem.html"
        await self.html(status, template, title=title, detail=detail, said=said or {})

    async def html(self, status: int, template: str, **values: object) -> None:
        await self._answer(
            status,
            rendered(template, {**values, "status": status}).encode(),
            [(b"content-type", b"text/html; charset=utf-8")],
        )

    async def go(self, where: str, cookie: str | None = None) -> None:
        name = b"hx-redirect" if self.header(b"hx-request") else b"location"
        headers = [(name, where.encode()), *([(b"set-cookie", cookie.encode())] if cookie else [])]
        await self._answer(200 if name == b"hx-redirect" else 303, b"", headers)

    async def file(self, name: str) -> None:
        if name not in STATIC:
            await self.problem(404, "No such file", "")
            return
        content, packed, tag = _file(name)
        kind = (b"content-type", _TYPES[name.rpartition(".")[2]].encode())
        if self.header(b"if-none-match") == tag:
            await self._answer(304, b"", [(b"etag", tag.encode()), (b"cache-control", b"max-age=300")])
            return
        headers = [kind, (b"etag", tag.encode()), (b"cache-control", b"max-age=300"), (b"vary", b"accept-encoding")]
        if "gzip" in self.header(b"accept-encoding"):
            await self._answer(200, packed, [*headers, (b"content-encoding", b"gzip")])
        else:
            await self._answer(200, content, headers)

    async def _answer(self, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        known = {name for name, _ in headers}
        size = (b"content-length", str(len(body)).encode())
        sent = [*headers, size, *_HEADERS, *_uncached(known)]
        await self._send({"type": "http.response.start", "status": status, "headers": sent})
        await self._send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else body})


def _uncached(known: set[bytes]) -> list[tuple[bytes, bytes]]:
    return [] if b"cache-control" in known else [(b"cache-control", b"no-store")]


@cache
def _file(name: str) -> tuple[bytes, bytes, str]:
    """Return the content of a file, its compressed form, and its tag."""
    content = files("keeps.doors.console").joinpath("static", name).read_bytes()
    return content, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


async def _form(receive: Receive) -> dict[str, str]:
    """Return a short form; one that cannot be read is empty. Raises when it is too long, or too slow."""
    body = await short_body(receive, MOST_FORM)
    try:
        read = parse_qs(body.decode("utf-8", "replace"), max_num_fields=20, keep_blank_values=True)
    except ValueError:
        return {}
    return {name: values[0] for name, values in read.items()}
