"""Bodies of writes into a space, whose members alone can read it. Pure."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from keeps_client.errors import ValidationFailedError

ModelT = TypeVar("ModelT", bound=BaseModel)
ITEMS = "items"
"""The field of a batch with the models of its items."""


def private(body: ModelT) -> ModelT:
    """Return the body of a write into a space.

    What is shared with the tenant by default, such as a document, is for the members instead. Raises
    ValidationFailedError if the body would share something else with the tenant.
    """
    items: list[BaseModel] = getattr(body, ITEMS, None) or []
    for each in (body, *items):
        if getattr(each, "visibility", None) != "tenant":
            continue
        if each is body and type(body).model_fields["visibility"].default == "tenant":
            return body.model_copy(update={"visibility": "private"})
        raise ValidationFailedError(
            "visibility: what is stored in a space is for its members; share it with the tenant from outside"
        )
    return body
