"""Make models of values that were validated before, several times faster than `model_construct`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)
_set = object.__setattr__


def unchecked(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Return `model.model_construct(**values)`, for a model without aliases, extra fields and private attributes."""
    made = model.__new__(model)
    defaults = _defaults(model)
    _set(made, "__dict__", {name: values.get(name, default) for name, default in defaults.items()})
    _set(made, "__pydantic_fields_set__", defaults.keys() & values.keys())
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


@cache
def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    """Return the fields in their order, with their defaults; None for a required one, which is always given.

    Build the model, too: before 2.14, pydantic cannot serialize an instance of a model that was never used.
    """
    model.model_rebuild()
    fields = model.model_fields
    if model.__private_attributes__ or any(each.default_factory is not None for each in fields.values()):
        raise TypeError(f"{model.__name__} has defaults that are made for each instance")
    return {name: None if each.is_required() else each.default for name, each in fields.items()}
