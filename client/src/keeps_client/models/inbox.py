"""The inbox: memories that wait for a person, and the sources whose memories do not."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import MAX_BATCH_ITEMS, Cursor, Limit, Page, Wire
from keeps_client.models.memories import Label, Memory
from keeps_client.models.names import HeldFor
from keeps_client.models.operations import Operation


class HeldMemory(Wire):
    """A memory that waits: nothing finds it until it is approved.

    `held_for`: it gives instructions to a model, hides text, came in a flood, or contradicts a more trusted memory.
    `source`: the name by which all memories of its source can be trusted.
    """

    held_for: HeldFor
    source: str
    memory: Memory


class InboxCount(Wire):
    """The number of memories that wait, up to 1,000, and of each reason."""

    waiting: int
    reasons: dict[HeldFor, int]


class TrustedSource(Wire):
    """A source whose memories do not wait."""

    source: str
    trusted_at: datetime


class HeldIds(Wire):
    """Memories that wait: all of them are decided, or none."""

    memory_ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_BATCH_ITEMS)]


class SourceName(Wire):
    """The name of a source, as the inbox shows it, such as `tool:browser` or `https://example.org`."""

    source: Label


class InboxQuery(Wire):
    reason: HeldFor | None = None
    limit: Limit = 50
    cursor: Cursor = None


LIST_INBOX = Endpoint(
    "list_inbox",
    "GET",
    "/v1/inbox",
    "reader",
    "inbox",
    Page[HeldMemory],
    "List your memories that wait for a decision, newest first.",
    params=InboxQuery,
)
COUNT_INBOX = Endpoint(
    "count_inbox",
    "GET",
    "/v1/inbox/count",
    "reader",
    "inbox",
    InboxCount,
    "Count your memories that wait for a decision, by reason.",
)
APPROVE_HELD = Endpoint(
    "approve_held",
    "POST",
    "/v1/inbox/approve",
    "writer",
    "inbox",
    Operation,
    "Let memories out of the inbox, so that they are found. You can undo the operation.",
    body=HeldIds,
)
DROP_HELD = Endpoint(
    "drop_held",
    "POST",
    "/v1/inbox/drop",
    "writer",
    "inbox",
    Operation,
    "Forget memories that wait. You can undo the operation for 30 days.",
    body=HeldIds,
)
LIST_TRUSTED_SOURCES = Endpoint(
    "list_trusted_sources",
    "GET",
    "/v1/inbox/sources",
    "reader",
    "inbox",
    list[TrustedSource],
    "List the sources whose memories do not wait.",
)
TRUST_SOURCE = Endpoint(
    "trust_source",
    "POST",
    "/v1/inbox/sources",
    "writer",
    "inbox",
    Operation,
    "Approve what waits from a source, and let its later memories in at once. You can undo the operation.",
    body=SourceName,
)
DISTRUST_SOURCE = Endpoint(
    "distrust_source",
    "DELETE",
    "/v1/inbox/sources",
    "writer",
    "inbox",
    TrustedSource,
    "Trust a source no longer: its later memories may wait again.",
    params=SourceName,
)
