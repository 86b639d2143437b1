"""The origin of a copied memory, in its metadata: only sharing writes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from keeps_client.errors import ValidationFailedError
from keeps_client.validation import same_json

SHARED_FROM = "shared_from"
"""`metadata.shared_from` of a copy that was shared: the memory, its owner, its agent, and the time of sharing."""


def check_provenance(metadata: Mapping[str, JsonValue]) -> None:
    """Raise ValidationFailedError for metadata that names what a memory was copied from: only `share` writes that."""
    if SHARED_FROM in metadata:
        raise ValidationFailedError(f"metadata.{SHARED_FROM} is reserved: share_memory writes it; leave it out")


def with_provenance(stored: Mapping[str, JsonValue], metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return changed metadata with the origin of the stored copy, which a change may repeat but not change."""
    if SHARED_FROM not in stored:
        check_provenance(metadata)
        return metadata
    if SHARED_FROM in metadata and not same_json(metadata[SHARED_FROM], stored[SHARED_FROM]):
        raise ValidationFailedError(f"metadata.{SHARED_FROM} is reserved: share_memory writes it; leave it as it is")
    return {**metadata, SHARED_FROM: stored[SHARED_FROM]}
