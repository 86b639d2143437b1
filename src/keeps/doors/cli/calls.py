"""call: run any operation by its name, for those that are too rare to have a command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keeps.doors.cli.command import Answer, command, table
from keeps.doors.cli.context import Target
from keeps_client.endpoint import BODY, Endpoint
from keeps_client.endpoints import ENDPOINTS
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation: a field of its path, its query or its body."""

    name: str
    kind: str
    required: bool
    about: str


@command(app)
async def call(
    target: Target,
    name: Annotated[str | None, typer.Argument(help="Operation to run. Default: list all operations.")] = None,
    values: Annotated[
        list[str] | None, typer.Argument(help="key=value; values that are not text are JSON: limit=5, tags='[\"a\"]'.")
    ] = None,
    fields: Annotated[bool, typer.Option("--fields", help="List the fields of the operation instead.")] = False,
) -> Answer:
    """Run any operation by its name.

    For example: keeps call get_plan plan_id=p1 Prints the answer as JSON. body='{…}' gives
    the whole body instead of its fields.
    """
    if name is None:
        about = [{"name": each.name, "role": each.role, "doc": each.doc} for each in ENDPOINTS]
        columns = ["operation", "role", "description"]
        return table(ENDPOINTS, columns, lambda one: (one.name, one.role, one.doc.split(". ")[0]), value=about)
    endpoint = _endpoint(name)
    parameters = _parameters(endpoint)
    if fields:
        return table(
            parameters.values(),
            ["field", "type", "needed", "about"],
            lambda field: (field.name, field.kind, "yes" if field.required else "", field.about),
            empty=f"{name} takes no fields.",
        )
    arguments = _arguments(name, values or [], parameters)
    async with target.memory() as memory:
        answer = await _run(memory, endpoint, arguments)
    value = endpoint.adapter.dump_python(answer, mode="json")
    return Answer(value, lambda: print(json.dumps(value, ensure_ascii=False, indent=2)))


async def _run(memory: Memory, endpoint: Endpoint[Any, Any, Any], arguments: dict[str, Any]) -> Any:
    return await memory._do(endpoint, **arguments)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _endpoint(name: str) -> Endpoint[Any, Any, Any]:
    names = {endpoint.name: endpoint for endpoint in ENDPOINTS}
    if name not in names:
        near = get_close_matches(name, names, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`keeps call` lists them"
        raise ValidationFailedError(f"no operation is named {name!r}; {hint}")
    return names[name]


def _parameters(endpoint: Endpoint[Any, Any, Any]) -> dict[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    for model in endpoint.models:
        if model is None:
            continue
        schemas = model.model_json_schema(by_alias=False).get("properties", {})
        for name, field in model.model_fields.items():
            schema = schemas.get(name, {})
            parameters[name] = Parameter(name, _kind(schema), field.is_required(), schema.get("description", ""))
    return parameters


def _kind(schema: dict[str, Any]) -> str:
    """Return the JSON types that a schema allows; null means a field that may be left out."""
    if "anyOf" in schema:
        return " or ".join(sorted({_kind(each) for each in schema["anyOf"] if each.get("type") != "null"}))
    return str(schema.get("type", "json"))


def _arguments(name: str, values: list[str], parameters: dict[str, Parameter]) -> dict[str, Any]:
    """Parse the values of a call. Raises ValidationFailedError for an unknown field, or for those that are missing."""
    fields: dict[str, Any] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals:
            raise ValidationFailedError(f"{text!r} is not key=value")
        if key not in parameters and key != BODY:
            known = f"it takes {', '.join(parameters)}" if parameters else "it takes nothing"
            raise ValidationFailedError(f"{name} takes no {key!r}; {known}")
        fields[key] = value if key != BODY and parameters[key].kind == "string" else _parsed(value)
    missing = [each.name for each in parameters.values() if each.required and each.name not in fields]
    if missing and BODY not in fields:
        example = " ".join(f"{each}=…" for each in missing)
        raise ValidationFailedError(f"{name} needs {', '.join(missing)}: keeps call {name} {example}")
    return fields


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
