"""Pieces that several models share: safe text, JSON values, pages."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin
from uuid import UUID

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.alias_generators import to_camel

MAX_METADATA_BYTES = 64 * 1024
MAX_VALUE_BYTES = 256 * 1024
MAX_FILTER_BYTES = 256 * 1024
MAX_JSON_DEPTH = 100
MAX_TAGS = 50
MAX_BATCH_ITEMS = 1_000
MAX_JSON_VALUES = 20_000
"""Maximum values in one JSON value, each of which becomes an object when it is read."""
MAX_CHOSEN = 100
"""Maximum names in a filter: tags, kinds, providers."""
MAX_QUESTION_BYTES = 1024 * 1024
"""Maximum bytes of a query as JSON."""
MAX_LIMIT = 200
NAME_PATTERN = r"^[A-Za-z0-9_.:/-]+$"


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL character, which PostgreSQL cannot store; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("contains a lone surrogate, which is not text; decode it properly first") from None
    return text


def small_json(value: JsonValue, most: int, values: int = MAX_JSON_VALUES) -> None:
    """Raises ValueError for what is far too large, of too many values or nested too deeply, after a look at no more of
    it than may be stored."""
    left, seen = most, 0
    level: list[JsonValue] = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        inner: list[JsonValue] = []
        seen += len(level)
        if seen > values:
            raise ValueError(f"contains more than {values:,} values; split it, or store it as text")
        for node in level:
            if isinstance(node, str):
                left -= len(node)
            elif isinstance(node, dict):
                left -= sum(map(len, node))
                inner += node.values()
            elif isinstance(node, list):
                inner += node
            left -= 1
            if left < 0:
                raise ValueError(f"is larger than {most // 1024} KiB as JSON")
        if not inner:
            return
        level = inner
    raise ValueError(f"is nested more than {MAX_JSON_DEPTH} deep")


def json_within(most: int, values: int = MAX_JSON_VALUES) -> Callable[[JsonValue], JsonValue]:
    """Return a check that a value is JSON that can be stored, of at most so many bytes and values."""

    def storable(value: JsonValue) -> JsonValue:
        small_json(value, most, values)
        try:
            encoded = json.dumps(value, allow_nan=False, ensure_ascii=False)
        except (RecursionError, ValueError) as error:
            raise ValueError(f"is not JSON that can be stored: {error}") from None
        check_storable(value)
        if len(encoded.encode("utf-8")) > most:
            raise ValueError(f"is larger than {most // 1024} KiB as JSON")
        return exact_numbers(value) if "e+" in encoded else value

    return storable


storable_json = json_within(MAX_VALUE_BYTES)


def exact_numbers(value: JsonValue) -> JsonValue:
    """Return the value with floats beyond 2^53 as the whole numbers that they are.

    PostgreSQL stores 1e23 as 10^23, which is not the float 1e23: that is 99999999999999991611392.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number must be finite")
        return int(value) if abs(value) >= 2**53 else value
    if isinstance(value, dict):
        return {key: exact_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exact_numbers(inner) for inner in value]
    return value


def _advise(value: object, handler: ValidatorFunctionWrapHandler) -> Any:
    """Raise ValueError that says what to write in place of a Python value that is not JSON."""
    try:
        return handler(value)
    except ValidationError:
        advice = _advice(value)
        if advice is None:
            raise
        raise ValueError(advice) from None


def _advice(value: object, depth: int = 0) -> str | None:
    """Return the part of a value that is not JSON, and what to write instead."""
    if value is None or isinstance(value, str | int | float) or depth > MAX_JSON_DEPTH:
        return None
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        key = next((key for key in entries if not isinstance(key, str)), None)
        if key is not None:
            return f"names must be text in JSON, and one is {type(key).__name__}: write {str(key)!r} for {key!r}"
        return next((advice for inner in entries.values() if (advice := _advice(inner, depth + 1))), None)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return next((advice for inner in items if (advice := _advice(inner, depth + 1))), None)
    if isinstance(value, tuple | set | frozenset):
        wanted = "write a list: list(value)"
    elif hasattr(value, "isoformat"):
        wanted = "write text: value.isoformat()"
    elif isinstance(value, bytes | bytearray):
        wanted = "write text: value.decode() or base64"
    else:
        wanted = "write text or a number: str(value), float(value)"
    return f"{type(value).__name__} is not JSON; {wanted}"


def _id_as_text(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value


def check_storable(value: JsonValue, depth: int = 0) -> None:
    """Raise ValueError for text that PostgreSQL cannot store, and for nesting too deep to be read again."""
    if depth > MAX_JSON_DEPTH:
        raise ValueError(f"is nested more than {MAX_JSON_DEPTH} deep")
    if isinstance(value, str):
        _storable(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            _storable(key)
            check_storable(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            check_storable(inner, depth + 1)


def _small_metadata(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    storable = cast("dict[str, JsonValue]", storable_json(value))
    if len(json.dumps(value, ensure_ascii=False).encode("utf-8")) > MAX_METADATA_BYTES:
        raise ValueError(f"is larger than {MAX_METADATA_BYTES // 1024} KiB as JSON")
    return storable


def _in_utc(value: datetime) -> datetime:
    """Return a time in UTC; one without a zone is taken as UTC."""
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 in UTC") from None


Advised = WrapValidator(_advise)
"""Raise ValueError that says what to write in place of a Python value that is not JSON."""
Text = Annotated[str, AfterValidator(_storable)]
IdAsText = BeforeValidator(_id_as_text)
"""A UUID, or its text."""
Json = Annotated[JsonValue, AfterValidator(storable_json), Advised]
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_small_metadata), Advised]
UtcTime = Annotated[datetime, AfterValidator(_in_utc)]
Id = Annotated[Text, StringConstraints(min_length=1, max_length=255), IdAsText]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Hundred = Annotated[int, Field(ge=1, le=100)]
Cursor = Annotated[Text | None, Field(max_length=2_000)]
AsOf = Annotated[UtcTime | None, Field(description="As stored then")]


_BUILDING = threading.RLock()


class Wire(BaseModel):
    """Base of all wire models: frozen, nothing unknown accepted, snake_case out, camelCase accepted too.

    A model makes its validator when it is first used: all of them take longer than the rest of the import.
    """

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name))),
    )

    @classmethod
    def model_rebuild(cls, **how: Any) -> bool | None:
        """Make the validator in one thread, while others wait; pydantic does so only from 2.14 on."""
        with _BUILDING:
            return super().model_rebuild(**how)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: object) -> object:
        """Treat `null` for an optional field that cannot be null as absent."""
        if not isinstance(given, dict) or None not in given.values():
            return given
        left_out = _optional_names(cls)
        return {name: value for name, value in given.items() if value is not None or name not in left_out}


def build_models(base: type[Wire] = Wire) -> None:
    """Build the validators of `base` and all models under it, and of those to come at once: for frameworks that derive
    validators of their own from them."""
    base.model_config["defer_build"] = False
    base.model_rebuild()
    for model in base.__subclasses__():
        build_models(model)


@cache
def _optional_names(model: type[BaseModel]) -> frozenset[str]:
    """Return the names, in both spellings, of fields that may be left out but not be null."""
    names = [
        name
        for name, field in model.model_fields.items()
        if not field.is_required() and not _takes_none(field.annotation)
    ]
    return frozenset((*names, *map(to_camel, names)))


def _takes_none(annotation: object) -> bool:
    if annotation in (None, type(None), Any, JsonValue):
        return True
    return any(
        _takes_none(each) for each in get_args(annotation) if get_origin(annotation) in (UnionType, Union, Annotated)
    )


ItemT = TypeVar("ItemT")


class Page(Wire, Generic[ItemT]):
    """One page of a list. `next_cursor` goes into the next call; None on the last page."""

    items: list[ItemT]
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[ItemT]:  # pyright: ignore[reportIncompatibleMethodOverride]  a page is its items
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, position: int) -> ItemT:
        return self.items[position]
