"""Turns functions into commands: opens the memory they need, and prints their answer for people or as JSON."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, TypeVar

import typer
from pydantic import BaseModel, JsonValue
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Column, Table

from keeps.doors.cli.context import (
    DEFAULT_TENANT_ID,
    DEFAULT_USER_ID,
    Agent,
    DatabaseUrl,
    Home,
    Json,
    Space,
    Target,
    Tenant,
    Token,
    Url,
    User,
    err,
    out,
)
from keeps.doors.cli.lazy import Group
from keeps_client.errors import ValidationFailedError

T = TypeVar("T")
CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def group() -> typer.Typer:
    """Return a group of commands, which suggests one for a word that is none."""
    return typer.Typer(cls=Group, no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a command.

    - `value`: what --json prints.
    - `text`: what people read: text with markup, or a function that prints it.
    - `note`: a line for people on stderr.
    - `failed`: end with exit code 1.
    """

    value: object
    text: str | Callable[[], object] = ""
    note: str = ""
    failed: bool = False


def lines(
    items: Iterable[T], line: Callable[[T], str], *, empty: str = "", value: object = None, note: str = ""
) -> Answer:
    """Return an answer with a line of text for each item. --json prints `value`, or else the items."""
    items = list(items)
    return Answer(items if value is None else value, "\n".join(map(line, items)) or empty, note)


def table(
    items: Iterable[T],
    columns: Iterable[str],
    row: Callable[[T], Iterable[object]],
    *,
    empty: str = "",
    value: object = None,
    note: str = "",
) -> Answer:
    """Return an answer with a row of cells for each item. --json prints `value`, or else the items."""
    items = list(items)
    rows = [row(item) for item in items]
    text = (lambda: print_table(columns, rows)) if items or not empty else empty
    return Answer(items if value is None else value, text, note)


def print_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; None is an empty cell. The first column is never broken."""
    first, *others = columns
    grid = Table(Column(escape(first), no_wrap=True), *map(escape, others), box=None, header_style="dim")
    for row in rows:
        grid.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    out.print(grid, soft_wrap=False)


def more(cursor: str | None) -> str:
    """Return the note that says how to get the next page."""
    return f"next page: --cursor {cursor}" if cursor else ""


def progress(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """Return a progress bar on stderr, off where stderr is not a terminal."""
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *columns)
    return Progress(*shown, console=err, transient=transient, disable=not err.is_terminal)


def json_object(text: str) -> dict[str, JsonValue]:
    """Parse an option that takes a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter('must be a JSON object, such as {"role": "cook"}')
    return value


def or_stdin(value: str) -> str:
    """Read standard input in place of an argument that is `-`."""
    return sys.stdin.read() if value == "-" else value


_PLACE: dict[str, tuple[Any, Any]] = {"home": (Home, None), "database_url": (DatabaseUrl, None)}
_TARGET: dict[str, tuple[Any, Any]] = {
    "tenant": (Tenant, DEFAULT_TENANT_ID),
    "user": (User, DEFAULT_USER_ID),
    "agent": (Agent, None),
    "space": (Space, None),
    "url": (Url, None),
    "token": (Token, None),
    **_PLACE,
}
_OPENED = frozenset({"memory", "keeps", "target"})


def command(
    app: typer.Typer, name: str | None = None, *, may_make: bool = False, shared: bool = True
) -> Callable[[CommandT], CommandT]:
    """Register a function as a command.

    Its parameters are arguments and options, except these, which the options for scope and database provide:

    - `memory`: the memory of the scope, in process or at --url.
    - `target`: the scope and the place, for a command that opens them itself.
    - `keeps`: the engine, for a command that works on the database alone.

    A function that returns an Answer gets --json; one that returns text does not. `may_make`: it may be the first in
    a new home. `shared`: it may use the background process.
    """

    def register(function: CommandT) -> CommandT:
        app.command(name)(_wrap(function, may_make, shared))
        return function

    return register


def _wrap(function: Callable[..., Any], may_make: bool, shared: bool) -> Callable[..., None]:
    # Types that only the type checker imports are of parameters that are no options.
    signature = inspect.signature(function, eval_str=True, locals={"Memory": object, "Keeps": object})
    opened = _OPENED & frozenset(signature.parameters)
    options = {} if not opened else _PLACE if opened == frozenset({"keeps"}) else _TARGET
    own = [parameter for parameter in signature.parameters.values() if parameter.name not in opened]
    # A command with such an option of its own is about it, as `keys create --space` is.
    options = {name: option for name, option in options.items() if name not in signature.parameters}
    takes_json = any(parameter.name == "as_json" for parameter in own)
    added: dict[str, tuple[Any, Any]] = {} if takes_json else {"as_json": (Json, False)}
    added = (added if signature.return_annotation is Answer else {}) | options
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = (
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        + [context]
        + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in added.items()
        ]
    )

    @functools.wraps(function)
    def wrapped(**given: Any) -> None:
        context: typer.Context = given.pop("context")
        explicit = _explicit_options(context)
        place = {name: given.pop(name) for name in options}
        target = Target(**place, explicit=explicit, may_make=may_make, shared=shared)
        as_json = bool(given["as_json"] if takes_json else given.pop("as_json", False))
        try:
            if inspect.iscoroutinefunction(function):
                answer = asyncio.run(_run(function, given, target, opened))
            else:
                answer = function(**given, **({"target": target} if opened else {}))
        except ValidationFailedError as error:
            if not error.errors:
                raise
            raise _with_flags(error, context) from None
        _show(answer, as_json=as_json)

    wrapped.__signature__ = signature.replace(  # pyright: ignore[reportAttributeAccessIssue]
        parameters=parameters, return_annotation=None
    )
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _explicit_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that were typed on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")


def _with_flags(error: ValidationFailedError, context: typer.Context) -> ValidationFailedError:
    """Return an error that names the options and arguments of a command in place of the fields that they set."""
    flags: dict[str, str] = {}
    for parameter in context.command.params:
        option = max(parameter.opts, key=len)
        flag = option if option.startswith("-") else str(parameter.name).upper()
        flags |= {str(parameter.name): flag, option.lstrip("-").replace("-", "_"): flag}
    detail = error.detail
    for each in error.errors:
        field = str(each["field"])
        name = field.partition(".")[0]
        for alike in (name, name.removesuffix("_id"), name.removesuffix("s")):
            if alike in flags:
                detail = detail.replace(f"{field}: ", f"{flags[alike]}: ", 1)
                break
    return ValidationFailedError(detail, error.errors)


async def _run(function: Callable[..., Any], arguments: dict[str, Any], target: Target, opened: frozenset[str]) -> Any:
    async with AsyncExitStack() as stack:
        if "target" in opened:
            arguments["target"] = target
        if "keeps" in opened:
            arguments["keeps"] = await stack.enter_async_context(target.open())
        if "memory" in opened:
            arguments["memory"] = await stack.enter_async_context(target.memory())
        return await function(**arguments)


def _show(answer: Answer | str | None, *, as_json: bool) -> None:
    if not isinstance(answer, Answer):
        answer = Answer(None, answer or "")
    if as_json:
        print_json(answer.value)
    elif callable(answer.text):
        answer.text()
    elif answer.text:
        out.print(answer.text)
    if answer.note and not as_json:
        err.print(f"[dim]{answer.note}[/]")
    if answer.failed:
        raise typer.Exit(1)


def print_json(value: object) -> None:
    """Print one JSON document on stdout, without colours or wrapping."""
    sys.stdout.write(json.dumps(_plain(value), ensure_ascii=False, default=str, indent=2) + "\n")


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value
