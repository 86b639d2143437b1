"""An operation as a value: its parameters, path, role and answer. Pure.

Each is defined once, beside its models. Methods name it (`await self._do(FORGET_MEMORY, memory_id=…)`), the server
mounts it, the engine has a handler for it; the OpenAPI document, the table of roles and the tests read the same list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, Literal, cast

from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypeVar

from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError

AnswerT = TypeVar("AnswerT")
ParamsT = TypeVar("ParamsT", bound=BaseModel | None, default=None)
BodyT = TypeVar("BodyT", bound=BaseModel | None, default=None)
ModelT = TypeVar("ModelT", bound=BaseModel)
Verb = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Role = Literal["reader", "writer", "admin", "operator"]
BODY = "body"
VERSION = "if_version"
"""Parameter with the version that must be stored; over HTTP it is the header If-Match."""


@dataclass(frozen=True, eq=False)
class Endpoint(Generic[AnswerT, ParamsT, BodyT]):
    """An operation, typed by its answer, its parameters and its body; None where it has no parameters or no body.

    - `params`: the parameters in the path and the query; each is validated separately, as it arrives over HTTP.
    - `body`: the model of the body.
    - `created`: the answers that get `status`; others get 200.
    - `bare`: a page is sent as the list of its items, with its cursor in a header.
    - `repeatable`: the client may send it again; false if the answer has a secret, which is not stored.
    """

    name: str
    verb: Verb
    path: str
    role: Role
    tag: str
    answer: type[AnswerT]
    doc: str
    params: type[ParamsT] | None = None
    body: type[BodyT] | None = None
    status: int = 200
    created: Callable[[Any], bool] | None = None
    bare: bool = False
    repeatable: bool = True

    @cached_property
    def models(self) -> tuple[type[BaseModel] | None, type[BaseModel] | None]:
        """Return the models of the parameters and the body."""
        return cast(type[BaseModel] | None, self.params), cast(type[BaseModel] | None, self.body)

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    @cached_property
    def adapter(self) -> TypeAdapter[AnswerT]:
        return TypeAdapter(self.answer)

    @cached_property
    def items(self) -> TypeAdapter[list[Any]]:
        """Return an adapter for the items of a bare page."""
        return TypeAdapter(getattr(self.answer, "model_fields")["items"].annotation)  # noqa: B009  a Page, by `bare`

    @cached_property
    def takes_version(self) -> bool:
        """Return whether it takes a version that must be stored."""
        params, body = self.models
        given = VERSION if params and VERSION in params.model_fields else "expected_version"
        return any(given in each.model_fields for each in (params, body) if each)

    @cached_property
    def has_version(self) -> bool:
        """Return whether its answer has a version, which is sent in the header ETag."""
        return "version" in getattr(self.answer, "model_fields", {})

    def split(self, fields: Mapping[str, object]) -> tuple[Any, Any]:
        """Return the parameters and the body from the arguments of a method.

        Arguments that are None are left out; `body` is used as it is. Raises ValidationFailedError, which names what is
        wrong.
        """
        params_model, body_model = self.models
        if params_model is None:
            params, rest = None, fields
        else:
            taken = _taken(params_model)
            params = validated(
                params_model, taken.chosen({each: fields[each] for each in fields if each in taken.kinds})
            )
            rest = {name: value for name, value in fields.items() if name not in taken.kinds}
        if body_model is None:
            if rest:
                raise TypeError(f"{self.name} takes no {', '.join(rest)}")
            return params, None
        whole = rest.get(BODY)
        return params, validated(body_model, _taken(body_model).chosen(rest) if whole is None else whole)


@dataclass(frozen=True)
class _Taken:
    """The fields of a model with their kinds, and the required ones."""

    kinds: Mapping[str, object]
    required: frozenset[str]

    def chosen(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Return the fields that are set. None means absent for an optional field.

        In a query, numbers and booleans are text; an argument keeps its type: "no" is not False, and True is not 1.
        """
        values: dict[str, object] = {}
        for name, value in fields.items():
            if value is None and name not in self.required:
                continue
            kind = self.kinds.get(name)
            if (kind is bool and not isinstance(value, bool)) or (kind is int and type(value) is not int):
                raise ValidationFailedError(f"{name}: must be {'true or false' if kind is bool else 'a whole number'}")
            values[name] = value
        return values


@cache
def _taken(model: type[BaseModel]) -> _Taken:
    fields = model.model_fields
    kinds = {name: field.annotation for name, field in fields.items()}
    return _Taken(kinds, frozenset(name for name, field in fields.items() if field.is_required()))


def is_default(model: type[BaseModel], name: str, value: object) -> bool:
    """Return whether a value equals the field's default."""
    default = _defaults(model)[name]
    return value is None or (type(value) is type(default) and value == default)


@cache
def _defaults(model: type[BaseModel]) -> dict[str, object]:
    return {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
