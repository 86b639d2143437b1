# Generated from keeps_client/_async by tools/make_sync.py; change that instead.
"""What administrators do, over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from keeps_client._requests import Call, call, error_of, parsed
from keeps_client._sync.transport import Transport
from keeps_client.models import (
    ErasureReceipt,
    HeldJob,
    ImportSummary,
    KeyInfo,
    LogRetention,
    MadeKey,
    MadeWebhook,
    NewKey,
    NewWebhook,
    QueueStatus,
    Quota,
    ReplayedTable,
    RoleName,
    TenantInfo,
    Verification,
    Webhook,
    WebhookFailure,
)
from keeps_client.validation import as_uuid, given, listed, named, validated

MADE, KEY, KEYS = TypeAdapter(MadeKey), TypeAdapter(KeyInfo), TypeAdapter(list[KeyInfo])
ERASED, TENANT, TENANTS = TypeAdapter(ErasureReceipt), TypeAdapter(TenantInfo), TypeAdapter(list[TenantInfo])
IMPORTED = TypeAdapter(ImportSummary)
VERIFIED, REPLAYED, RETIRED = TypeAdapter(Verification), TypeAdapter(list[ReplayedTable]), TypeAdapter(LogRetention)
MADE_WEBHOOK, WEBHOOK, WEBHOOKS = TypeAdapter(MadeWebhook), TypeAdapter(Webhook), TypeAdapter(list[Webhook])
QUEUE, HELD, COUNT = TypeAdapter(list[QueueStatus]), TypeAdapter(list[HeldJob]), TypeAdapter(int)
FAILURES = TypeAdapter(list[WebhookFailure])


class AdminClient:
    """Keys, erasure, export and import of one's tenant (role admin); tenants and quotas (role operator)."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def make_key(
        self,
        name: str,
        *,
        roles: Iterable[RoleName] = ("writer",),
        user_id: str | None = None,
        agent_id: str | None = None,
        expires_at: datetime | None = None,
    ) -> MadeKey:
        """A new key with its secret, which is shown this once."""
        new = validated(
            NewKey,
            {"name": name, "roles": listed(roles)} | given(user_id=user_id, agent_id=agent_id, expires_at=expires_at),
        )
        # Not sent again: its answer holds a secret, which is not kept for retries.
        return parsed(MADE, self._transport.send(call("POST", "admin", "keys", body=new, repeatable=False)))

    def list_keys(self) -> builtins.list[KeyInfo]:
        """The tenant's keys, newest first."""
        return parsed(KEYS, self._transport.send(call("GET", "admin", "keys")))

    def revoke_key(self, key_id: UUID | str) -> KeyInfo:
        """Refused everywhere within 10 seconds."""
        return parsed(KEY, self._transport.send(call("DELETE", "admin", "keys", str(as_uuid(key_id, "key_id")))))

    def erase_user(self, user_id: str) -> ErasureReceipt:
        """Erase a user of the tenant, for good. The receipt is counted."""
        wanted = call("DELETE", "admin", "users", named("user_id", user_id, 255), repeatable=False)
        return parsed(ERASED, self._transport.send(wanted))

    def erase_tenant(self, tenant_id: str) -> ErasureReceipt:
        """Erase one's own tenant, or as operator any, for good."""
        wanted = call("DELETE", "admin", "tenants", named("tenant_id", tenant_id, 64), repeatable=False)
        return parsed(ERASED, self._transport.send(wanted))

    def list_tenants(self, *, after: str = "", limit: int = 100) -> builtins.list[TenantInfo]:
        """Tenants by id, with what they hold."""
        wanted = call("GET", "admin", "tenants", query={"after": after, "limit": limit})
        return parsed(TENANTS, self._transport.send(wanted))

    def set_quota(self, tenant_id: str, **limits: int | None) -> TenantInfo:
        """What a tenant may hold: `max_memories`, `max_bytes`. What is not given stays; None: no limit."""
        quota = validated(Quota, limits)
        wanted = call("PUT", "admin", "tenants", named("tenant_id", tenant_id, 64), body=quota)
        return parsed(TENANT, self._transport.send(wanted))

    def verify_events(self) -> Verification:
        """Whether the tenant's rows are, to the byte, what its events tell."""
        return parsed(VERIFIED, self._transport.send(call("GET", "admin", "events", "verify")))

    def replay_events(self, *, until: datetime | None = None) -> builtins.list[ReplayedTable]:
        """How many rows of each table the tenant's events tell, up to a time."""
        wanted = call("GET", "admin", "events", "replay", query={"until": until})
        return parsed(REPLAYED, self._transport.send(wanted))

    def retire_events(self, older_than_days: float) -> LogRetention:
        """Remove old events of all tenants that replay does not need. For operators."""
        wanted = call("POST", "admin", "events", "retire", query={"older_than_days": older_than_days}, repeatable=False)
        return parsed(RETIRED, self._transport.send(wanted))

    def add_webhook(self, url: str, *, types: Iterable[str] = ("*",)) -> MadeWebhook:
        """Send the tenant's events to a URL, signed with the secret in the answer, which is shown this once."""
        new = validated(NewWebhook, {"url": url, "types": listed(types)})
        return parsed(MADE_WEBHOOK, self._transport.send(call("POST", "admin", "webhooks", body=new, repeatable=False)))

    def list_jobs(self) -> builtins.list[QueueStatus]:
        """What the worker's queue holds: counts (role operator)."""
        return parsed(QUEUE, self._transport.send(call("GET", "admin", "jobs")))

    def list_held_jobs(self) -> builtins.list[HeldJob]:
        """Dead letters: jobs that failed after all attempts (role operator)."""
        return parsed(HELD, self._transport.send(call("GET", "admin", "jobs", "held")))

    def retry_jobs(self, job_id: int | None = None) -> int:
        """Queue one dead letter again, or all of them; how many (role operator)."""
        query = {"job_id": job_id}
        return parsed(COUNT, self._transport.send(call("POST", "admin", "jobs", "retry", query=query)))

    def list_webhooks(self) -> builtins.list[Webhook]:
        """The tenant's webhooks, newest first."""
        return parsed(WEBHOOKS, self._transport.send(call("GET", "admin", "webhooks")))

    def remove_webhook(self, webhook_id: UUID | str) -> Webhook:
        """Send no more to it."""
        wanted = call("DELETE", "admin", "webhooks", str(as_uuid(webhook_id, "webhook_id")))
        return parsed(WEBHOOK, self._transport.send(wanted))

    def list_webhook_failures(self, webhook_id: UUID | str) -> builtins.list[WebhookFailure]:
        """Events that it did not take after all attempts."""
        wanted = call("GET", "admin", "webhooks", str(as_uuid(webhook_id, "webhook_id")), "failures")
        return parsed(FAILURES, self._transport.send(wanted))

    def retry_webhook(self, webhook_id: UUID | str) -> Webhook:
        """Send those again, and what came after the first of them."""
        wanted = call("POST", "admin", "webhooks", str(as_uuid(webhook_id, "webhook_id")), "retry")
        return parsed(WEBHOOK, self._transport.send(wanted))

    def export_lines(self, *, user_id: str | None = None) -> builtins.list[str]:
        """The tenant's data, or one user's, as JSON lines."""
        answer = self._transport.send(call("GET", "admin", "export", query={"user_id": user_id}))
        if answer.status >= 400:
            raise error_of(answer)
        return answer.body.decode().splitlines()

    def import_lines(self, lines: Iterable[str]) -> ImportSummary:
        """Store exported lines with their ids, in pieces that a body may have. What is there already stays as it is."""
        total: dict[str, Any] = {"stored": 0, "unchanged": 0, "failed": 0, "errors": []}
        for piece in _pieces(lines):
            wanted = Call("POST", "/v1/admin/import", piece, "application/x-ndjson")
            part = parsed(IMPORTED, self._transport.send(wanted))
            for name in total:
                total[name] += getattr(part, name)
        return ImportSummary(**total)


def _pieces(lines: Iterable[str], most: int = 4 << 20) -> Iterable[bytes]:
    piece: builtins.list[bytes] = []
    size = 0
    for line in lines:
        encoded = line.rstrip("\n").encode()
        if piece and size + len(encoded) > most:
            yield b"\n".join(piece)
            piece, size = [], 0
        piece.append(encoded)
        size += len(encoded) + 1
    if piece:
        yield b"\n".join(piece)
