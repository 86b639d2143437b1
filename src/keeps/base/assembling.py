"""Build a model from values that are known to be valid, such as those of a row that was validated when written."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)


def assembled(model: type[ModelT], values: dict[str, Any]) -> ModelT:
    """Return what `model.model_construct(**values)` does, for `values` of all fields, in a tenth of its time.

    `values` belongs to the result afterwards. For models without private attributes and `model_post_init`.
    """
    result = model.__new__(model)
    object.__setattr__(result, "__dict__", values)
    object.__setattr__(result, "__pydantic_fields_set__", set(values))
    object.__setattr__(result, "__pydantic_extra__", None)
    object.__setattr__(result, "__pydantic_private__", None)
    return result
