"""Synchronization of documents with a folder; only changes are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from uuid import UUID

from keeps_client.errors import (
    ConflictError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    UnavailableError,
    ValidationFailedError,
)
from keeps_client.folders import Concept, concept_of, files_of, name_of
from keeps_client.memory.documents import Documents
from keeps_client.memory.graph import Graph
from keeps_client.models import Document
from keeps_client.models.documents import FolderReceipt, FolderStep
from keeps_client.models.memories import Visibility

LINKS = "links_to"
Progress = Callable[[FolderStep, int], None]
"""Called with each step, and the number of files."""


class Folders(Documents, Graph):
    """Folders of documents."""

    async def sync_documents(
        self,
        folder: str | PathLike[str],
        *,
        name: str | None = None,
        prune: bool = False,
        tags: Sequence[str] = (),
        visibility: Visibility = "tenant",
        passage_tokens: int | None = None,
        progress: Progress | None = None,
    ) -> FolderReceipt:
        """Synchronize your own documents with a folder; only changes are sent.

        Their sources begin with `name`, or the folder's path. Files that `.gitignore` names, hidden files and links are
        left out. A moved file keeps its document; the document of a deleted file is deleted with `prune`. An
        interrupted run can be repeated. Files in Open Knowledge Format bring their front matter as metadata, and their
        links as edges of the graph. Raises ValidationFailedError if `prune` would remove every document because there
        is no file.
        """
        files = await asyncio.to_thread(files_of, Path(folder))
        prefix = f"{name.rstrip('/') if name else files.root.as_posix()}/"
        docs = await self._held(prefix)
        if prune and docs and not files.hashes:
            raise ValidationFailedError(f"{str(files.root)!r} has no readable file; prune would delete all {len(docs)}")
        lost = {each.sha256: path for path, each in docs.items() if path not in files.hashes}
        stored = {path: (each.document_id, each.title) for path, each in docs.items() if path in files.hashes}
        concepts: dict[str, Concept] = {}
        steps: list[FolderStep] = []

        def told(step: FolderStep) -> None:
            steps.append(step)
            if progress is not None:
                progress(step, len(files.hashes))

        for path, hashed in files.hashes.items():
            before = lost.pop(hashed, None) if path not in docs else None
            try:
                concept = await asyncio.to_thread(concept_of, files.root / path, path)
                if concept is not None:
                    concepts[path] = concept
                concept_data = concept or Concept({}, (), ())
                all_tags = {*tags, *concept_data.tags}
                previous = docs.get(path)
                if (
                    previous is not None
                    and (previous.sha256, previous.metadata) == (hashed, concept_data.metadata)
                    and (previous.visibility, set(previous.tags)) == (visibility, all_tags)
                    and passage_tokens in (None, previous.passage_tokens)
                ):
                    told(FolderStep(path=path, action="unchanged", document_id=previous.document_id))
                    continue
                receipt = await self.add_document(
                    file=files.root / path,
                    source=prefix + path,
                    replaces=None if before is None else prefix + before,
                    metadata=concept_data.metadata,
                    tags=sorted(all_tags),
                    visibility=visibility,
                    passage_tokens=passage_tokens,
                )
            except (UnavailableError, NotConfiguredError):
                raise
            except (KeepsError, OSError) as error:
                why = error.detail if isinstance(error, KeepsError) else str(error.strerror)
                told(FolderStep(path=path, action="refused", detail=why))
                continue
            document = receipt.document
            stored[path] = document.document_id, document.title
            if before is not None:
                del docs[before]
            action, notes = receipt.status if before is None else "renamed", receipt.notes
            told(FolderStep(path=path, action=action, detail=before, document_id=document.document_id, notes=notes))
        for path, document in docs.items():
            if path not in files.hashes:
                if prune:
                    await self._remove(document.document_id)
                told(FolderStep(path=path, action="removed" if prune else "gone", document_id=document.document_id))
        await self._link(concepts, stored, visibility)
        return FolderReceipt(steps=tuple(steps), others=files.others)

    async def _remove(self, document_id: UUID) -> None:
        """Delete a document and its entity in the graph, if it has one."""
        await self.delete_document(document_id)
        with suppress(NotFoundError):
            await self.delete_entity(document_id)

    async def _held(self, prefix: str) -> dict[str, Document]:
        """Return your own documents below a source, by their paths there."""
        documents: dict[str, Document] = {}
        cursor = None
        while True:
            page = await self.list_documents(limit=100, cursor=cursor, under=prefix, mine=True)
            documents |= {str(each.source)[len(prefix) :]: each for each in page.items}
            cursor = page.next_cursor
            if cursor is None:
                return documents

    async def _link(
        self, concepts: dict[str, Concept], stored: dict[str, tuple[UUID, str]], visibility: Visibility
    ) -> None:
        """Store each concept as an entity with its document's name and id, and its links as edges to others."""
        there: dict[str, UUID] = {}
        for path, concept in concepts.items():
            if path in stored and await self._is_entity(concept, path, *stored[path], visibility):
                there[path] = stored[path][0]
        for path, entity_id in there.items():
            wanted = {there[link] for link in concepts[path].links if link in there}
            edges = await self.get_relations(entity_id, direction="outgoing", relation_type=LINKS)
            for edge in edges:
                if edge.target_id not in wanted:
                    await self.delete_relation(edge.relation_id)
            for target in wanted - {edge.target_id for edge in edges}:
                await self.add_relation(entity_id, target, LINKS, visibility=visibility)

    async def _is_entity(
        self, concept: Concept, path: str, document_id: UUID, title: str, visibility: Visibility
    ) -> bool:
        """Store the entity of a concept. Return False if its owner deleted it, or merged it into another."""
        kind = name_of(concept.metadata["type"])
        for name in (title[:255], f"{title[:100]} ({path[-150:]})"):  # The second name, if the first one is taken.
            try:
                await self.add_entity(
                    name, entity_type=kind, entity_id=document_id, properties={"path": path}, visibility=visibility
                )
            except ConflictError:
                continue
            except NotFoundError:
                return False
            return True
        return False
