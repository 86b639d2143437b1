"""The chain of hashes over a tenant's log, its anchors, and signed certificates of erasures."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Limit, Text, UtcTime, Wire

MAX_ANCHORS = 1_000
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in hexadecimal."""


class Anchor(Wire):
    """The head of a tenant's chain at a time: the number and hash of its newest event.

    `timestamp_response`: the answer of an RFC 3161 time stamp authority about the line without it, in base64.
    """

    tenant_id: Annotated[Text, StringConstraints(min_length=1, max_length=64)]
    sequence: Annotated[int, Field(ge=1, lt=2**63)]
    hash: Hash
    time: UtcTime
    timestamp_response: Annotated[str, StringConstraints(max_length=40_000)] | None = None


class EventContents(Wire):
    """The part of an event that redaction can change.

    `data` is its JSON as PostgreSQL writes it, since the text is hashed.
    """

    salt: str
    subject: str
    user_id: str
    agent_id: str | None
    visibility: str
    traceparent: str | None
    data: str


class EventLink(Wire):
    """An event of the chain. Hashes are hexadecimal; without `previous_hash` it is older than the chain.

    `contents_hash` is the hash of the contents as they were written; those of a redacted event are gone.
    """

    tenant_id: str
    sequence: int
    event_id: UUID
    type: str
    source: str
    time: datetime
    recorded_at: datetime
    contents_hash: str | None
    previous_hash: str | None
    redacted: bool
    contents: EventContents | None = None


ChainProblem = Literal[
    "missing",
    "not linked",
    "outside the chain",
    "contents changed",
    "contents removed without a record",
    "head differs",
    "removed without a record",
    "kept events differ",
    "anchor differs",
    "older than an anchor",
]


class ChainBreak(Wire):
    """The first event at which a chain is broken."""

    sequence: int
    problem: ChainProblem


class ChainVerification(Wire):
    """The result of verifying a tenant's chain.

    `first`: the first event of the chain that is stored; `hash`: of the event `last`; `older`: events from before the
    chain; `redacted`: events whose contents were erased; `retired_through`: up to here, retention keeps some events
    only; `anchors`: confirmed ones; `anchors_retired`: anchors whose event is no longer stored.
    """

    tenant_id: str
    intact: bool
    first: int | None
    last: int
    hash: str | None
    events: int
    older: int
    redacted: int
    retired_through: int
    anchors: int
    anchors_retired: int
    broken: ChainBreak | None = None


class Certificate(Wire):
    """A signed statement about an erasure. `signature`: Ed25519 over the bytes of `statement`; both in base64."""

    statement: str
    key: str
    signature: str


class CertificateKey(Wire):
    """The public key of this installation, in base64, which signs its certificates."""

    key: str


class ChainQuery(Wire):
    """Anchors that the chain must contain. Those of other tenants are ignored."""

    anchors: Annotated[tuple[Anchor, ...], Field(fail_fast=True, max_length=MAX_ANCHORS)]


class LinkQuery(Wire):
    after: Annotated[int, Field(ge=0, lt=2**63, description="The number of an event.")] = 0
    limit: Limit = 100
    contents: Annotated[bool, Field(description="With the contents of the events of all users.")] = False


LIST_EVENT_LINKS = Endpoint(
    "list_event_links",
    "GET",
    "/v1/admin/events/links",
    "admin",
    "administration",
    list[EventLink],
    "List the chain of the tenant's log after a number: hashes, and with `contents` what they are made of. "
    "Large events shorten the page; continue until it is empty.",
    params=LinkQuery,
)
VERIFY_CHAIN = Endpoint(
    "verify_chain",
    "POST",
    "/v1/admin/events/chain",
    "admin",
    "administration",
    ChainVerification,
    "Verify the chain of the tenant's log, and that it contains anchors that were written earlier.",
    body=ChainQuery,
)
GET_CHAIN_HEAD = Endpoint(
    "get_chain_head",
    "GET",
    "/v1/admin/events/head",
    "admin",
    "administration",
    Anchor,
    "Return the head of the tenant's chain, to be written outside of the database.",
)
GET_CERTIFICATE_KEY = Endpoint(
    "get_certificate_key",
    "GET",
    "/v1/admin/certificates/key",
    "admin",
    "administration",
    CertificateKey,
    "Return the public key that signs certificates of erasures.",
)
