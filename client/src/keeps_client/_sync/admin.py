# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Operations of administrators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from uuid import UUID

from keeps_client._sync.base import Doing
from keeps_client.models import (
    Anchor,
    CertificateKey,
    ChainVerification,
    CostGrouping,
    Costs,
    ErasureReceipt,
    EventLink,
    HeldJob,
    ImportSummary,
    KeyInfo,
    KeyLimits,
    LogRetention,
    MadeKey,
    MadeWebhook,
    Page,
    QueueStatus,
    ReplayedTable,
    RoleName,
    Space,
    TenantInfo,
    TranscriptInfo,
    UserNamespaces,
    Verification,
    Webhook,
    WebhookFailure,
)
from keeps_client.models.access import (
    ERASE_TENANT,
    ERASE_TENANT_USER,
    ERASE_USER,
    LIST_KEYS,
    LIST_TENANT_KEYS,
    LIST_TENANT_USERS,
    LIST_TENANTS,
    MAKE_KEY,
    MAKE_TENANT_KEY,
    REVOKE_KEY,
    REVOKE_TENANT_KEY,
    SET_QUOTA,
)
from keeps_client.models.costs import GET_COSTS
from keeps_client.models.events import (
    ADD_WEBHOOK,
    LIST_WEBHOOK_FAILURES,
    LIST_WEBHOOKS,
    REMOVE_WEBHOOK,
    REPLAY_EVENTS,
    RETIRE_EVENTS,
    RETRY_WEBHOOK,
    VERIFY_EVENTS,
)
from keeps_client.models.items import LIST_ALL_NAMESPACES
from keeps_client.models.operations import LIST_HELD_JOBS, LIST_JOBS, RETRY_JOBS
from keeps_client.models.proof import GET_CERTIFICATE_KEY, GET_CHAIN_HEAD, LIST_EVENT_LINKS, VERIFY_CHAIN
from keeps_client.models.spaces import LIST_TENANT_SPACES
from keeps_client.models.transcripts import LIST_ALL_TRANSCRIPTS


class Admin(Doing):
    """Keys, erasure, export and import of a tenant (role admin); tenants and quotas (role operator).

    `tenant_id`: another tenant than your own, for operators.
    """

    def make_key(
        self,
        name: str,
        *,
        roles: Iterable[RoleName] = ("writer",),
        user_id: str | None = None,
        agent_id: str | None = None,
        limits: KeyLimits | Mapping[str, object] | None = None,
        expires_at: datetime | None = None,
        tenant_id: str | None = None,
    ) -> MadeKey:
        """Create a key. Its secret is shown only once. With `tenant_id` it may be the first of a new tenant.

        `limits`: access ("read" or "append"), spaces, namespaces and kinds that the key is limited to, such as
        `{"access": "read", "spaces": ["apollo"]}`; the database enforces them.
        """
        fields = {
            "name": name,
            "roles": tuple(roles),
            "user_id": user_id,
            "agent_id": agent_id,
            "limits": limits,
            "expires_at": expires_at,
        }
        if tenant_id is None:
            return self._do(MAKE_KEY, **fields)
        return self._do(MAKE_TENANT_KEY, tenant_id=tenant_id, **fields)

    def list_keys(self, *, tenant_id: str | None = None) -> list[KeyInfo]:
        """Return the tenant's keys, newest first."""
        if tenant_id is None:
            return self._do(LIST_KEYS)
        return self._do(LIST_TENANT_KEYS, tenant_id=tenant_id)

    def revoke_key(self, key_id: UUID | str, *, tenant_id: str | None = None) -> KeyInfo:
        """Revoke a key; it is refused everywhere within 10 seconds."""
        if tenant_id is None:
            return self._do(REVOKE_KEY, key_id=key_id)
        return self._do(REVOKE_TENANT_KEY, tenant_id=tenant_id, key_id=key_id)

    def list_users(self, tenant_id: str, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Return the users of a tenant by id. `after`: the last user of the previous page."""
        return self._do(LIST_TENANT_USERS, tenant_id=tenant_id, after=after, limit=limit)

    def erase_user(self, user_id: str, *, tenant_id: str | None = None) -> ErasureReceipt:
        """Erase a user of the tenant permanently. The receipt counts what was removed."""
        if tenant_id is None:
            return self._do(ERASE_USER, user_id=user_id)
        return self._do(ERASE_TENANT_USER, tenant_id=tenant_id, user_id=user_id)

    def erase_tenant(self, tenant_id: str) -> ErasureReceipt:
        """Permanently erase your own tenant, or any tenant as operator."""
        return self._do(ERASE_TENANT, tenant_id=tenant_id)

    def list_transcripts(self, app: str, *, limit: int = 100, cursor: str | None = None) -> Page[TranscriptInfo]:
        """Return the transcripts of all users of the tenant in an app, user by user, without entries."""
        return self._do(LIST_ALL_TRANSCRIPTS, app=app, limit=limit, cursor=cursor)

    def list_namespaces(self, *, limit: int = 1_000, after: str = "") -> Page[UserNamespaces]:
        """Return the namespaces with items of each user of the tenant. `after`: the `next_cursor` of a page."""
        return self._do(LIST_ALL_NAMESPACES, limit=limit, after=after)

    def list_spaces(self, *, after: str = "", limit: int = 100) -> list[Space]:
        """Return all spaces of the tenant by id. `after`: the last space of the previous page."""
        return self._do(LIST_TENANT_SPACES, after=after, limit=limit)

    def list_tenants(self, *, after: str = "", limit: int = 100) -> list[TenantInfo]:
        """Return tenants by id, with their usage."""
        return self._do(LIST_TENANTS, after=after, limit=limit)

    def set_quota(self, tenant_id: str, **limits: int | None) -> TenantInfo:
        """Set a tenant's limits: `max_memories`, `max_bytes`. Omitted limits stay; None removes a limit."""
        return self._do(SET_QUOTA, tenant_id=tenant_id, body=limits)

    def costs(
        self,
        *,
        by: CostGrouping = "day",
        since: date | None = None,
        until: date | None = None,
        tenant_id: str | None = None,
        all_tenants: bool = False,
    ) -> Costs:
        """Return what models cost, and the budgets: 30 days until today, unless `since` and `until` say otherwise.

        `all_tenants`, and `by="tenant"`, are for operators.
        """
        return self._do(GET_COSTS, by=by, since=since, until=until, tenant_id=tenant_id, all_tenants=all_tenants)

    def verify_events(self) -> Verification:
        """Compare the tenant's rows with its events, byte by byte, and verify the chain of its log."""
        return self._do(VERIFY_EVENTS)

    def verify_chain(self, anchors: Iterable[Anchor] = ()) -> ChainVerification:
        """Verify the chain of the tenant's log, and that it contains anchors that were written earlier."""
        return self._do(VERIFY_CHAIN, anchors=tuple(anchors))

    def get_chain_head(self) -> Anchor:
        """Return the head of the tenant's chain, to be written outside of the database."""
        return self._do(GET_CHAIN_HEAD)

    def list_event_links(self, *, after: int = 0, limit: int = 100, contents: bool = False) -> list[EventLink]:
        """Return the chain of the tenant's log after a number, with `contents` those of the events of all users."""
        return self._do(LIST_EVENT_LINKS, after=after, limit=limit, contents=contents)

    def get_certificate_key(self) -> CertificateKey:
        """Return the public key that signs certificates of erasures."""
        return self._do(GET_CERTIFICATE_KEY)

    def replay_events(self, *, until: datetime | None = None) -> list[ReplayedTable]:
        """Return the number of rows of each table that the tenant's events describe, up to a time."""
        return self._do(REPLAY_EVENTS, until=until)

    def retire_events(self, older_than_days: float) -> LogRetention:
        """Remove old events of all tenants that replay does not need. For operators."""
        return self._do(RETIRE_EVENTS, older_than_days=older_than_days)

    def add_webhook(self, url: str, *, types: Iterable[str] = ("*",)) -> MadeWebhook:
        """Send the tenant's events to a URL, signed with the secret in the answer, which is shown only once."""
        return self._do(ADD_WEBHOOK, url=url, types=types)

    def list_webhooks(self) -> list[Webhook]:
        """Return the tenant's webhooks, newest first."""
        return self._do(LIST_WEBHOOKS)

    def remove_webhook(self, webhook_id: UUID | str) -> Webhook:
        """Remove a webhook."""
        return self._do(REMOVE_WEBHOOK, webhook_id=webhook_id)

    def list_webhook_failures(self, webhook_id: UUID | str) -> list[WebhookFailure]:
        """Return the events that a webhook did not accept after all attempts."""
        return self._do(LIST_WEBHOOK_FAILURES, webhook_id=webhook_id)

    def retry_webhook(self, webhook_id: UUID | str) -> Webhook:
        """Send the failed events of a webhook again, and all events after the first of them."""
        return self._do(RETRY_WEBHOOK, webhook_id=webhook_id)

    def list_jobs(self) -> list[QueueStatus]:
        """Return the contents of the worker's queue as counts (role operator)."""
        return self._do(LIST_JOBS)

    def list_held_jobs(self) -> list[HeldJob]:
        """Return the dead letters: jobs that failed after all attempts (role operator)."""
        return self._do(LIST_HELD_JOBS)

    def retry_jobs(self, job_id: int | None = None) -> int:
        """Queue one dead letter again, or all of them; return their number (role operator)."""
        return self._do(RETRY_JOBS, job_id=job_id)

    @abstractmethod
    def export_lines(self, *, user_id: str | None = None, tenant_id: str | None = None) -> list[str]:
        """Return the tenant's data, or one user's, as JSON lines."""

    @abstractmethod
    def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines with their ids; existing data stays as it is.

        With `dry_run` nothing is stored: the result says what would be.
        """
