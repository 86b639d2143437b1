"""Input that breaks a rule, in our words."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from keeps_client.errors import NotFoundError, ValidationFailedError

ModelT = TypeVar("ModelT", bound=BaseModel)
FoundT = TypeVar("FoundT")


def validated(model: type[ModelT], arguments: dict[str, Any], *, where: str = "") -> ModelT:
    """`model` made from `arguments`. Raises ValidationFailedError that names each wrong field."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        raise validation_failed(error, where) from None
    except RecursionError:
        raise ValidationFailedError(f"{where}the input is nested too deeply") from None


def validation_failed(error: ValidationError, where: str = "") -> ValidationFailedError:
    """pydantic's findings as ours, without the values."""
    errors = [
        {"field": ".".join(str(part) for part in each["loc"]), "message": each["msg"].removeprefix("Value error, ")}
        for each in error.errors(include_input=False, include_url=False)
    ]
    return ValidationFailedError(
        where + "; ".join(f"{each['field'] or 'input'}: {each['message']}" for each in errors), errors
    )


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def one_of(found: FoundT | None, message: str) -> FoundT:
    """What was found; NotFoundError where nothing was."""
    if found is None:
        raise NotFoundError(message)
    return found
