"""Arguments that a model gives to a tool, read by the tool's schema.

Models pass a number for a text, one text for a list, JSON in a string, or camelCase names. A value with only one
possible meaning is converted; any other is refused with a message that names the argument. All tools for models use
this module.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, get_type_hints
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from keeps_client.checked import message_of

MAX_PROBLEMS = 5
SHOWN_CHARACTERS = 80
"""Characters of a wrong value or name that an error repeats."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0{1,9})?")
_NUMBER = re.compile(r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,3})?")
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NOTHING = frozenset({"null", "none", "undefined"})
_SIGNS = re.compile(r"[\W_]")
_MEMORY_ID = re.compile(r"(?:memory)?(?:id)?([0-9a-f]{32})")
_MANY = re.compile(r"[,;\n]")
_LEFT_OUT: Final[Any] = object()
Schema = Mapping[str, Any]


class WrongArgumentsError(ValueError):
    """The arguments of a call are wrong; `problems` use the tool's own names of its arguments."""

    def __init__(self, problems: Collection[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems[:MAX_PROBLEMS]))


class ToolArguments:
    """The arguments of one tool, declared by `model`."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self._schema: Schema = model.model_json_schema(by_alias=True)
        self._definitions: Mapping[str, Schema] = self._schema.get("$defs", {})

    @classmethod
    def of_function(cls, work: Callable[..., Any], *, without: Collection[str]) -> ToolArguments:
        """Return the arguments of a function from its signature, except those that no model passes."""
        hints = get_type_hints(work)
        fields: dict[str, Any] = {
            name: (hints[name], ... if parameter.default is inspect.Parameter.empty else parameter.default)
            for name, parameter in inspect.signature(work).parameters.items()
            if name not in without
        }
        return cls(create_model(work.__name__, __config__=ConfigDict(protected_namespaces=()), **fields))

    @property
    def schema(self) -> Schema:
        """The arguments as JSON schema."""
        return self._schema

    def read(self, given: object) -> dict[str, Any]:
        """Return the arguments as the tool takes them, with defaults. Raises WrongArgumentsError."""
        try:
            checked = self._model.model_validate(self.convert(given))
        except ValidationError as error:
            raise WrongArgumentsError(problems_of(error)) from None
        return {name: getattr(checked, name) for name in type(checked).model_fields}

    def convert(self, given: object) -> dict[str, Any]:
        """Return the arguments with their declared names and, where possible, types, for validation.

        Raises WrongArgumentsError for errors that validation would let pass.
        """
        problems: list[str] = []
        try:
            outer = self._outer(given)
            converted = _Reader(self._definitions, problems).object(self._schema, outer, "")
            problems += _unstorable(converted, "")
        except RecursionError:
            problems.append("the arguments are nested too deeply")
            converted = {}
        if problems:
            raise WrongArgumentsError(problems)
        return converted

    def _outer(self, given: object) -> dict[str, Any]:
        """Return the arguments as an object.

        Removes an enclosing object that the tool does not declare; adds the list that it does declare.
        """
        if given is None:
            return {}
        given = _decoded(given, dict)
        if not isinstance(given, dict):
            raise WrongArgumentsError([f"give the arguments as an object with {', '.join(self._schema['properties'])}"])
        arguments = {str(name): value for name, value in given.items()}
        own = {_plain(name): name for name in self._schema.get("properties", {})}
        unknown = [name for name in arguments if _plain(name) not in own]
        if len(unknown) == 1:
            inner = _decoded(arguments[unknown[0]], dict)
            taken = {_plain(name) for name in arguments}
            if isinstance(inner, dict) and inner and all(_plain(str(name)) in own.keys() - taken for name in inner):
                del arguments[unknown[0]]
                return {**arguments, **{str(name): value for name, value in inner.items()}}
        if len(unknown) < len(arguments):
            return arguments
        required = self._schema.get("required", ())
        if arguments and len(required) == 1:
            items = self._resolved(self._schema["properties"][required[0]].get("items", {}))
            parts = {_plain(name) for name in items.get("properties", {})}
            if all(_plain(name) in parts for name in arguments):
                return {required[0]: [arguments]}
        return arguments

    def _resolved(self, schema: Schema) -> Schema:
        return self._definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


class _Reader:
    """Converts values by their schemas, and collects errors in `problems`."""

    def __init__(self, definitions: Mapping[str, Schema], problems: list[str]) -> None:
        self._definitions = definitions
        self._problems = problems

    def object(self, schema: Schema, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        properties: Mapping[str, Schema] = schema.get("properties", {})
        own = {_plain(name): name for name in properties}
        values: dict[str, Any] = {}
        for given_name, value in given.items():
            name = given_name if given_name in properties else own.get(_plain(given_name))
            if name is None:
                names = ", ".join(properties)
                self._problems.append(f"unknown argument {_shown(where + given_name)}; the arguments are {names}")
                continue
            previous = values.get(name)
            if None not in (previous, value) and previous != value:
                self._problems.append(f"{where}{name} appears twice with different values")
            values[name] = value if previous is None else previous
        optional = properties.keys() - set(schema.get("required", ()))
        converted = {
            name: self.value(properties[name], value, f"{where}{name}", optional=name in optional)
            for name, value in values.items()
        }
        return {name: value for name, value in converted.items() if value is not _LEFT_OUT}

    def value(self, schema: Schema, value: Any, where: str, *, optional: bool = False) -> Any:
        schema = self._one(schema)
        kind = schema.get("type")
        if optional and _is_nothing(value, schema):
            return _LEFT_OUT
        match kind:
            case "string":
                return self._text(schema, value)
            case "integer" | "number":
                return self._number(kind, value, where)
            case "boolean":
                return self._boolean(value, where)
            case "array":
                return self._list(schema, value, where)
            case "object":
                return self._object(schema, value, where)
            case _:
                return value

    def _one(self, schema: Schema) -> Schema:
        """Return the schema that a reference names, or the only one besides null."""
        if "$ref" in schema:
            return self._one(self._definitions[schema["$ref"].rpartition("/")[2]])
        some = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        return self._one(some[0]) if len(some) == 1 else schema

    @staticmethod
    def _text(schema: Schema, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = json.dumps(value)
        words = schema.get("enum", (schema["const"],) if "const" in schema else ())
        if isinstance(value, str) and words:
            alike = [word for word in words if _plain(word) == _plain(value.strip())]
            return alike[0] if len(alike) == 1 else value
        return value

    def _number(self, kind: str, value: Any, where: str) -> Any:
        if isinstance(value, bool):
            self._problems.append(f"{where}: must be a number, not {json.dumps(value)}")
            return value
        if isinstance(value, str):
            text = value.strip()
            if _WHOLE.fullmatch(text):
                value = int(text.partition(".")[0])
            elif kind == "number" and _NUMBER.fullmatch(text):
                value = float(text)
            else:
                wanted = "a whole number" if kind == "integer" else "a number"
                self._problems.append(f"{where}: must be {wanted}, not {_shown(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            self._problems.append(f"{where}: must be a number, not {value}")
        return value

    def _boolean(self, value: Any, where: str) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, str | int | float):
            plain = str(int(value)) if value in (0, 1) else str(value).strip().casefold()
            if plain in _BOOLEANS:
                return _BOOLEANS[plain]
        self._problems.append(f"{where}: must be true or false, not {_shown(value)}")
        return value

    def _list(self, schema: Schema, value: Any, where: str) -> Any:
        items = self._one(schema.get("items", {}))
        of_texts = items.get("type") == "string"
        value = _decoded(value, list)
        if isinstance(value, str) and of_texts and value.strip():
            if value.lstrip().startswith("["):
                self._problems.append(f"{where}: is not a list in JSON; give a list of texts")
                return value
            if _MANY.search(value):
                self._problems.append(
                    f'{where}: give a list, such as ["{value[:20].split(",")[0].strip()}", …], not one text; whether'
                    f" {_shown(value)} is one item or several is not known"
                )
                return value
        if isinstance(value, str):
            value = _decoded(value, dict) if items.get("type") == "object" else value
        if isinstance(value, str | int | float | dict) and not isinstance(value, bool):
            value = [value]
        if not isinstance(value, list | tuple):
            self._problems.append(f"{where}: must be a list, not {_shown(value)}")
            return value
        converted: list[Any] = []
        for position, item in enumerate(value):
            inner = self.value(items, item, f"{where}.{position}")
            if of_texts and isinstance(inner, str) and not inner.strip():
                self._problems.append(f"{where}.{position}: must not be empty; omit it")
            converted.append(inner)
        return converted

    def _object(self, schema: Schema, value: Any, where: str) -> Any:
        value = _decoded(value, dict)
        if not isinstance(value, dict):
            self._problems.append(f"{where}: must be an object, not {_shown(value)}")
            return value
        named = {str(name): inner for name, inner in value.items()}
        if "properties" in schema:
            return self.object(schema, named, f"{where}.")
        inner = schema.get("additionalProperties")
        if not isinstance(inner, Mapping):
            return named
        return {name: self.value(inner, each, f"{where}.{name}") for name, each in named.items()}


def problems_of(error: ValidationError) -> list[str]:
    """Return the errors of a validation, each with the name of its argument."""
    found = error.errors(include_url=False, include_input=False)
    return [f"{'.'.join(map(str, each['loc']))}: {_lower(message_of(each))}" for each in found]


def memory_id_in(text: str) -> UUID | None:
    """Parse the id of a memory, with or without "id", a scheme, quotes or brackets around it; None if it is none."""
    found = _MEMORY_ID.fullmatch(_SIGNS.sub("", text).lower()) if len(text) <= 200 else None
    return UUID(found[1]) if found else None


def places_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield each way to split `namespace/key`; both may contain slashes."""
    parts = text.strip().split("/")
    for count in range(1, min(len(parts), 8)):
        namespace, key = "/".join(parts[:count]), "/".join(parts[count:])
        if namespace and key:
            yield namespace, key


def _is_nothing(value: Any, schema: Schema) -> bool:
    """Return True if a value means that the argument is left out."""
    if value is None:
        return True
    if not isinstance(value, str) or value.strip().casefold() not in _NOTHING | {""}:
        return False
    return bool(value.strip()) or schema.get("type") != "string" or not schema.get("minLength")


def _decoded(value: Any, kind: type) -> Any:
    """Return the object or list that a string contains as JSON, or else the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in "[{":
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, kind) else value
    return value


def _unstorable(value: Any, where: str) -> Iterator[str]:
    """Yield an error for each text with characters that can be neither stored nor found."""
    if isinstance(value, str):
        if "\x00" in value:
            yield f"{where}: contains a NUL character (\\u0000); remove it"
        elif any("\ud800" <= character <= "\udfff" for character in value):
            yield f"{where}: contains half of a surrogate pair (\\ud800 to \\udfff), which is not text; remove it"
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            path = f"{where}.{name}" if where else str(name)
            yield from _unstorable(str(name), _printable(path))
            yield from _unstorable(inner, _printable(path))
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            yield from _unstorable(inner, f"{where}.{position}")


def _plain(name: str) -> str:
    """Return a form of a name that is equal for snake_case, camelCase, kebab-case and spaces."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "?")


def _shown(value: Any) -> str:
    """Return a value as an error repeats it: short, and without characters that cannot be sent."""
    text = repr(value)
    return _printable(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…")


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
