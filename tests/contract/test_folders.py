"""Folders that are brought in line with their documents, again and again, in process and over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.folders import files_of
from keeps_client.models.documents import FolderStep

ORDERS = """---
type: BigQuery Table
tags: [sales, big data]
owner: Bo
---
# Orders

Each order, by [customer](customers.md), see [the guide](/guide.md) and [elsewhere](https://a.example/b.md).
"""
CUSTOMERS = """---
type: BigQuery Table
---
# Customers

Who buys [things](./orders.md#columns).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "kb"
    for path, text in {
        "tables/orders.md": ORDERS,
        "tables/customers.md": CUSTOMERS,
        "guide.md": "# Guide\n\nHow things are done here.\n",
        ".gitignore": "build/\n*.log\n!kept.log\n",
        "build/made.md": "# Made\n",
        "noise.log": "noise",
        "kept.log": "This one is kept.",
        "deep/.gitignore": "/secret.md\n",
        "deep/secret.md": "# Secret\n",
        "deep/secrets/secret.md": "# Not the one that is meant\n",
        ".hidden/note.md": "# Hidden\n",
        "picture.png": "no text",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    outside = tmp_path / "outside.md"
    outside.write_text("# Outside\n", encoding="utf-8")
    (root / "link.md").symlink_to(outside)
    (root / "linked").symlink_to(tmp_path)
    return root


FOUND = ["deep/secrets/secret.md", "guide.md", "kept.log", "tables/customers.md", "tables/orders.md"]


async def synced(memory: Any, root: Path, **options: Any) -> dict[str, FolderStep]:
    return {step.path: step for step in (await memory.sync_documents(root, **options)).steps}


def actions(steps: dict[str, FolderStep]) -> dict[str, str]:
    return {path: step.action for path, step in steps.items()}


@pytest.mark.sync_client
async def test_only_changed_files_are_synced(memory: Any, tenant: str, folder: Path) -> None:
    assert files_of(folder).others == 1
    first = await synced(memory, folder)
    assert actions(first) == dict.fromkeys(FOUND, "created")
    assert actions(await synced(memory, folder)) == dict.fromkeys(FOUND, "unchanged")

    (folder / "guide.md").rename(folder / "deep" / "handbook.md")
    (folder / "kept.log").unlink()
    (folder / "tables" / "customers.md").write_text(CUSTOMERS + "\nAnd who will.\n", encoding="utf-8")
    (folder / "broken.txt").write_bytes(b"\0\0")
    changed = await synced(memory, folder)
    assert {path: action for path, action in actions(changed).items() if action != "unchanged"} == {
        "broken.txt": "refused",
        "deep/handbook.md": "renamed",
        "kept.log": "gone",
        "tables/customers.md": "updated",
    }
    assert "NUL" in str(changed["broken.txt"].detail)
    renamed, before = changed["deep/handbook.md"], first["guide.md"]
    assert renamed.document_id == before.document_id
    document = await memory.get_document(renamed.document_id)
    assert (document.source, document.version) == (f"{folder.resolve()}/deep/handbook.md", 2)
    hits = (await memory.search_documents("How things are done here")).hits
    assert f"{folder.resolve()}/deep/handbook.md" in {hit.citations[0].source for hit in hits}

    assert actions(await synced(memory, folder, prune=True))["kept.log"] == "removed"
    assert len((await memory.list_documents(mine=True)).items) == 4


async def test_open_knowledge_format(memory: Any, tenant: str, folder: Path) -> None:
    first = await synced(memory, folder, name="kb")
    orders = await memory.get_document(first["tables/orders.md"].document_id)
    assert orders.metadata == {"type": "BigQuery Table", "owner": "Bo"}
    assert orders.tags == ("big data", "sales")
    (edge,) = await memory.get_relations(orders.document_id, direction="outgoing")
    assert edge.relation_type == "links_to"
    customers = await memory.get_entity(edge.target_id)
    assert (customers.name, customers.entity_type) == ("Customers", "BigQuery-Table")
    assert actions(await synced(memory, folder, name="kb")) == dict.fromkeys(FOUND, "unchanged")
    assert await memory.get_relations(orders.document_id, direction="outgoing") == [edge]

    (folder / "tables" / "customers.md").write_text(CUSTOMERS.replace("(./orders.md#columns)", "()"), encoding="utf-8")
    await synced(memory, folder, name="kb")
    assert [each.target_id for each in await memory.get_relations(orders.document_id)] == [edge.target_id]
    (folder / "tables" / "customers.md").unlink()
    await synced(memory, folder, name="kb", prune=True)
    assert await memory.get_relations(orders.document_id) == []
    with pytest.raises(NotFoundError):
        await memory.get_entity(edge.target_id)


async def test_killed_sync_resumes(memory: Any, tenant: str, folder: Path) -> None:
    class KilledError(Exception):
        pass

    def killed(step: FolderStep, total: int) -> None:
        assert (step.action, total) == ("created", 5)
        raise KilledError

    with pytest.raises(KilledError):
        await memory.sync_documents(folder, name="kb", progress=killed)
    again = actions(await synced(memory, folder, name="kb"))
    assert sorted(again.values()) == ["created"] * 4 + ["unchanged"]
    (document,) = (await memory.list_documents(under="kb/tables/orders.md")).items
    assert len(await memory.get_relations(document.document_id)) == 2


async def test_empty_folder_deletes_nothing(memory: Any, tenant: str, folder: Path, tmp_path: Path) -> None:
    await synced(memory, folder, name="kb")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValidationFailedError, match="prune would delete all 5"):
        await synced(memory, tmp_path / "empty", name="kb", prune=True)
    with pytest.raises(ValidationFailedError, match="not a folder"):
        files_of(tmp_path / "nowhere")
    assert await synced(memory, tmp_path / "empty", name="other", prune=True) == {}


async def test_shared_documents_of_others_are_untouched(keeps: Keeps, tenant: str, folder: Path) -> None:
    await synced(keeps.memory(Scope(tenant_id=tenant, user_id="bob")), folder, name="kb")
    (folder / "guide.md").unlink()
    alice = keeps.memory(Scope(tenant_id=tenant, user_id="alice"))
    steps = await synced(alice, folder, name="kb", prune=True)
    assert "guide.md" not in steps
    assert len((await alice.list_documents(mine=True)).items) == 4
    assert len((await alice.list_documents(under="kb/")).items) == 9
    assert (await alice.list_documents(under="kb%")).items == []
