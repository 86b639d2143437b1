"""The HTTP APIs of other products in `keeps serve`: whose memory a call means, admission, limits and errors."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from keeps.base.scope import Scope, as_user
from keeps.doors.server.admission import admit
from keeps.doors.server.bodies import buffered_body, check_json
from keeps.doors.server.idempotency import repeatable_request
from keeps.doors.server.mounts import Mount
from keeps.doors.server.problems import problem_of
from keeps.doors.server.urls import SLASH
from keeps.engine import Keeps
from keeps.memory.memories.counts import MemoryCounts
from keeps.store.access.roles import permits, require
from keeps.store.db.repeats import repeatable
from keeps_client.checked import validation_failed
from keeps_client.errors import ForbiddenError, KeepsError, NotFoundError, ValidationFailedError
from keeps_client.models import Filters, RoleName
from keeps_client.models.common import MAX_LIMIT

BodyT = TypeVar("BodyT", bound=BaseModel)


class NotSupportedError(Exception):
    """A feature of another product that Keeps lacks; the response names it."""

    api = ""
    page = ""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.detail = f"Keeps does not support {what} of {self.api}; see {self.page} for alternatives"


class ProductMount(Mount):
    """Serves another product's API; a subclass maps its calls to memories."""

    invalid_status = 422
    """The status of a response to a request that is not valid."""

    def reads(self, method: str, path: list[str]) -> bool:
        """Return True for a call that changes nothing, which needs only the role reader."""
        raise NotImplementedError

    def payer(self, caller: Scope, path: list[str]) -> Scope | None:
        """Return the caller whose rate a call uses up; None: the body says whose.

        Raises ForbiddenError for another user than the credentials'.
        """
        raise NotImplementedError

    def payer_of_body(self, caller: Scope, request: Request, path: list[str], body: bytes) -> Scope:
        """Return the caller whose rate a call uses up, where `payer` returned None."""
        raise NotImplementedError

    async def answer(self, keeps: Keeps, caller: Scope, request: Request, path: list[str], body: bytes) -> object:
        """Run a call that is admitted, and return its response as JSON."""
        raise NotImplementedError

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive, send)
        try:
            response = JSONResponse(await self._answered(request))
        except NotSupportedError as error:
            response = _refusal(request, 501, "not_supported", error.detail)
        except ValidationFailedError as error:
            response = _refusal(request, self.invalid_status, error.code, error.detail)
        except KeepsError as error:
            response = _refusal(request, error.status, error.code, error.detail)
            seconds = problem_of(error, "").get("retry_after_seconds", 1 if error.status == 503 else None)
            if seconds is not None:
                response.headers["retry-after"] = str(seconds)
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> object:
        assert self._keeps is not None
        caller, method = request.scope["keeps.scope"], request.method
        path = path_below(self.paths[0], request)
        reads = self.reads(method, path)
        role: RoleName = "reader" if reads else "writer"
        try:
            payer = self.payer(caller, path)
        except (ForbiddenError, ValidationFailedError):
            await admit(self._rates, caller, role, reads=reads)  # refused calls count, too
            raise
        if payer is not None:
            request.scope["keeps.allowance"] = await admit(self._rates, payer, role, reads=reads)
        require(caller, role)
        async with buffered_body(request) as body:
            if body and method != "GET":
                check_json(request)
            if payer is None:
                payer = self.payer_of_body(caller, request, path, body)
                request.scope["keeps.allowance"] = await admit(self._rates, payer, role, reads=reads)
            async with request.app.state.concurrency.slot(caller):
                with repeatable(repeatable_request(request, body, writes_once=False)):
                    return await self.answer(self._keeps, caller, request, path, body)


def acting_as(caller: Scope, user_id: str | None) -> Scope:
    """Return the scope of the user that a call names. Only credentials for any user may name another user."""
    if user_id is None or user_id == caller.user_id:
        return caller
    if not caller.any_user:
        raise ForbiddenError("your credentials belong to another user than the one in the request")
    return as_user(caller, user_id)


def administers(caller: Scope) -> bool:
    """Return True for a caller who may see all users of the tenant."""
    return caller.any_user and permits(caller, "admin")


def own_memories(user_id: str, conditions: Filters | None) -> Filters:
    """Limit a filter to the user's own memories, since these products have no shared ones."""
    own: Filters = {"user_id": {"eq": user_id}}
    return own if conditions is None else {"AND": [own, conditions]}


def without_passages(filters: Filters) -> Filters:
    """Exclude passages: documents have their own calls, which list and delete them whole."""
    return {"AND": [filters, {"layer": {"ne": "knowledge"}}]}


async def forget_all(keeps: Keeps, scope: Scope, filters: Filters, *, hard: bool = False) -> int:
    """Forget the memories of a filter; with `hard`, erase them, including forgotten ones. Return their number."""
    counts, memory, gone = keeps.service(MemoryCounts), keeps.memory(scope), 0
    while batch := await counts.window(scope, filters, 0, MAX_LIMIT, ever=hard):
        for stored in batch:
            with suppress(NotFoundError):  # erased together with a newer one, or concurrently
                await memory.forget(stored.memory_id, hard=hard)
        gone += len(batch)
    return gone


def path_below(prefix: str, request: Request) -> list[str]:
    """Return the segments of a path below the prefix of its API."""
    path: str = request.scope["path"]
    return [part.replace(SLASH, "/") for part in path.removeprefix(prefix).strip("/").split("/")]


def shown_call(method: str, path: list[str]) -> str:
    return f"`{method[:10]} /{'/'.join(path)[:200]}`"


def read_body(model: type[BodyT], body: bytes) -> BodyT:
    """Raises ValidationFailedError."""
    try:
        return TypeAdapter(model).validate_json(body or b"{}")
    except ValidationError as error:
        raise validation_failed(error) from None


def read_number(request: Request, names: tuple[str, ...], default: int, most: int, *, least: int = 1) -> int:
    """Return the first of these query parameters as a number, at most `most`. Raises ValidationFailedError."""
    for name in names:
        text = request.query_params.get(name)
        if text is not None:
            if not text.isascii() or not text.isdecimal() or not int(text[:12]) >= least:
                raise ValidationFailedError(f"{name}: must be a number from {least}")
            return min(int(text[:12]), most)
    return default


def _refusal(request: Request, status: int, code: str, detail: str) -> Response:
    request.scope["keeps.code"] = code
    body = {"detail": detail, "error": detail, "code": code, "request_id": request.scope.get("keeps.request_id", "")}
    return JSONResponse(body, status)
