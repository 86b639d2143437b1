"""Validation errors in Keeps' words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from keeps_client.errors import ValidationFailedError

ModelT = TypeVar("ModelT", bound=BaseModel)


def validated(model: type[ModelT], arguments: object, *, where: str = "") -> ModelT:
    """Return a `model` made from `arguments`. Raises ValidationFailedError that names each wrong field."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        raise validation_failed(error, where) from None
    except RecursionError:
        raise ValidationFailedError(f"{where}the input is nested too deeply") from None


def validation_failed(error: ValidationError, where: str = "") -> ValidationFailedError:
    """Convert pydantic's findings, without the values."""
    errors = [
        {"field": ".".join(str(part) for part in each["loc"]), "message": message_of(each)}
        for each in error.errors(include_input=False, include_url=False)
    ]
    return ValidationFailedError(
        where + "; ".join(f"{each['field'] or 'input'}: {each['message']}" for each in errors), errors
    )


def message_of(finding: Mapping[str, Any]) -> str:
    """Return the message for one field; the parts of a text are called characters."""
    if finding["type"] == "too_long" and finding["ctx"]["field_type"] == "Value":
        return (
            f"at most {finding['ctx']['max_length']:,} characters are possible, not {finding['ctx']['actual_length']:,}"
        )
    if finding["type"] == "too_short" and finding["ctx"]["field_type"] == "Value":
        return "must not be empty"
    if finding["type"] == "too_long":
        return f"at most {finding['ctx']['max_length']:,} items are possible"
    if finding["type"] == "too_short":
        least = finding["ctx"]["min_length"]
        return "must not be empty" if least == 1 else f"at least {least:,} items are needed"
    if finding["type"] == "uuid_parsing":
        return "is not a UUID"
    return finding["msg"].removeprefix("Value error, ")
