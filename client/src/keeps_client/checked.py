"""Validation errors with Keeps' messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from keeps_client.errors import ValidationFailedError

ModelT = TypeVar("ModelT", bound=BaseModel)
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is unknown; check the spelling",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "uuid_type": "is not a UUID",
    "uuid_parsing": "is not a UUID",
}
"""Messages about a field, by pydantic's name for the error."""
_CALLERS = {
    "tenant_id": "X-Tenant-ID",
    "tenantId": "X-Tenant-ID",
    "user_id": "X-User-ID",
    "userId": "X-User-ID",
    "agent_id": "X-Agent-ID",
    "agentId": "X-Agent-ID",
}
"""Headers that identify the caller, by the field that is sent by mistake."""


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
    """Return the message for one field; lengths of text are in characters."""
    if finding["type"] == "too_long" and finding["ctx"]["field_type"] == "Value":
        return (
            f"at most {finding['ctx']['max_length']:,} characters are allowed, not {finding['ctx']['actual_length']:,}"
        )
    if finding["type"] == "too_short" and finding["ctx"]["field_type"] == "Value":
        return "must not be empty"
    if finding["type"] == "too_long":
        return f"at most {finding['ctx']['max_length']:,} items are allowed"
    if finding["type"] == "too_short":
        least = finding["ctx"]["min_length"]
        return "must not be empty" if least == 1 else f"at least {least:,} items are required"
    kind = str(finding["type"])
    if kind.startswith(("date_", "datetime_")):
        return "must be a time, such as 2026-11-27 or 2026-11-27T09:30:00Z"
    if kind == "extra_forbidden" and (header := _CALLERS.get(str(finding["loc"][-1]))):
        return f"is not a field: the header {header} or the credential names the caller (Python: Scope, MemoryClient)"
    if kind in _WORDS:
        return _WORDS[kind]
    return finding["msg"].removeprefix("Value error, ")
