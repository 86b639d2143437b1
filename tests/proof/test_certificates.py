"""Certificates of erasures: what they say, who signed them, and that they say no content."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.transfer.certificates import KEY_FILE, CertificateSigner, new_key, verify
from keeps.memory.transfer.erased import remember_folder
from keeps.memory.transfer.erasure import TenantService
from keeps.store.events.service import EventService
from keeps_client.errors import NotConfiguredError, ValidationFailedError
from keeps_client.models import Certificate


@pytest.fixture
async def signing(app_url: str, shared: object, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keeps]:
    monkeypatch.setenv("KEEPS_SIGNING_KEY", new_key())
    async with Keeps.open(database_url=app_url, embedder=shared) as keeps:
        yield keeps


async def test_certificate_counts_what_was_erased(signing: Keeps, tenant: str) -> None:
    memory = signing.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await memory.remember("The gate code is swordfish.", namespace="doors", key="gate")
    await memory.store("k", {"deep": "swordfish"}, "plan")
    receipt = await memory.admin.erase_user("alice")
    assert receipt.certificate is not None
    statement = verify(receipt.certificate, (await memory.admin.get_certificate_key()).key)
    assert statement["format"] == "keeps.erasure.1"
    assert (statement["tenant_id"], statement["user_id"], statement["complete"]) == (tenant, "alice", True)
    assert statement["removed"]["memories"] == 1
    assert statement["removed"] == receipt.removed
    assert set(statement["remaining"].values()) == {0}
    assert statement["from"]["cell"] in ("main", "two")
    assert statement["from"]["database"]
    head = await signing.service(EventService).chain_head(memory.scope)
    assert statement["log"] == {"sequence": head.sequence, "hash": head.hash}
    assert statement["not_reached"][-1]["backups"].startswith("those that others make")
    for erased in ("swordfish", "gate", "doors"):
        assert erased not in receipt.certificate.statement


async def test_tenant_gets_a_certificate_too(signing: Keeps, tenant: str) -> None:
    memory = signing.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await memory.remember("Soon gone.")
    before = await signing.service(EventService).chain_head(memory.scope)
    receipt = await memory.admin.erase_tenant(tenant)
    assert receipt.certificate is not None
    statement = verify(receipt.certificate, None)
    assert (statement["user_id"], statement["removed"]["events"]) == (None, 1)
    assert statement["log"] == {"sequence": 1, "hash": before.hash}


@pytest.mark.parametrize("part", ["statement", "key", "signature"])
def test_changed_certificate_is_refused(part: str) -> None:
    signer, other = CertificateSigner(new_key(), None), CertificateSigner(new_key(), None)
    right = signer.sign({"removed": {"memories": 1}})
    assert verify(right, signer.public_key())["removed"] == {"memories": 1}
    wrong = other.sign({"removed": {"memories": 2}})
    forged = right.model_copy(update={part: getattr(wrong, part)})
    for key in (None, signer.public_key()):
        with pytest.raises(ValidationFailedError, match=r"signature|signed with another key"):
            verify(forged, key)
    with pytest.raises(ValidationFailedError, match="signed with another key"):
        verify(wrong, signer.public_key())
    with pytest.raises(ValidationFailedError, match="signature"):
        verify(Certificate(statement="{}", key="no", signature="no"), None)


async def test_without_a_key_the_receipt_has_no_certificate(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await memory.remember("Soon gone.")
    assert (await memory.admin.erase_user("alice")).certificate is None
    with pytest.raises(NotConfiguredError, match="KEEPS_SIGNING_KEY"):
        await memory.admin.get_certificate_key()


def test_key_is_made_once_in_the_home_and_is_private(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: CertificateSigner(None, tmp_path).public_key(), range(16)))
    assert len(keys) == 1
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]
    with pytest.raises(ValidationFailedError, match="32 bytes in base64"):
        CertificateSigner("short", None)


async def test_folders_of_backups_are_named_as_not_reached(made_home: Any, tmp_path: Path, shared: object) -> None:
    home = made_home("certified")
    remember_folder(home, tmp_path)
    async with Keeps.open(home=home, embedder=shared) as keeps:
        memory = keeps.memory(Scope("acme", "alice"))
        await memory.remember("Soon gone.")
        receipt = await keeps.service(TenantService).erase_user(memory.scope, "alice")
    assert receipt.certificate is not None
    folder = json.loads(receipt.certificate.statement)["not_reached"][0]
    assert folder["backups"] == str(tmp_path)
    assert (home / KEY_FILE).is_file()
