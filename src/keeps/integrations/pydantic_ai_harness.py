"""Pydantic AI's harness: a store for its `Memory`, with versions, receipts of operations and search by meaning.

    store = KeepsMemoryStore()
    agent = Agent(model, capabilities=[Memory(store_resolver=lambda ctx: store.for_user(ctx.deps.user_id))])

A file is a memory whose key is its path, so that `recall` and `context` find it. Receipts are items.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

try:
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai_harness.memory import (
        MemoryConflictError,
        MemoryFile,
        MemoryMutation,
        MemoryOperation,
        MemoryOperationConflictError,
        MemorySearchMatch,
        MemorySearchResult,
    )
except ImportError as error:
    raise ImportError(
        "keeps.integrations.pydantic_ai_harness needs the harness: pip install 'keeps[pydantic-ai-harness]'"
    ) from error

from keeps.engine import Keeps
from keeps.integrations.files import (
    CONTENT_TYPE,
    file_fields,
    find_file,
    kept_trust,
    list_files,
    mark_of,
    marked_text,
    own,
    starting_with,
    text_of,
    without_marks,
)
from keeps.integrations.memory_tools import HARDLY_RELATED
from keeps.integrations.owners import NOT_ALLOWED, Owners, question_of
from keeps.integrations.sentences import FOR_OPERATORS, sentence
from keeps_client.errors import ConflictError, KeepsError, NotFoundError
from keeps_client.memory.whole import Memory
from keeps_client.models import Memory as Stored
from keeps_client.models.memories import MAX_KEY_CHARACTERS

AnswerT = TypeVar("AnswerT")
NAMESPACE = "pydantic-ai"
OPERATIONS = "operations"
RECEIPT_MINUTES = 30 * 24 * 60.0
RECEIPTS_OF_FILE = 20
"""Number of newest operations that a file names, so that an interrupted one is recognised."""
MAX_METADATA_CHARACTERS = 4_096
"""As in the harness's own stores."""
_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")


class KeepsMemoryStore:
    """Files of one user, for `Memory(store)`; `for_user` makes the store of another user.

    Implements `MemoryStore`, `MetadataMemoryStore` and `SearchableMemoryStore`. A file that was deleted can be restored
    in Keeps for 30 days; receipts of operations are kept as long.

    If memory fails, a search finds nothing, and the other methods raise `ToolFailed` with a sentence for the model, so
    the agent continues. `failures` counts failures that no model can fix.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner of the files; without it the user of the token.
        namespace: The namespace of the memories; each has its own set of files.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
        namespace: str = NAMESPACE,
    ) -> None:
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)
        self._user_id = user_id
        self._namespace = namespace

    def for_user(self, user_id: str) -> Self:
        """Return the store of a user, which shares connections and failures with this one."""
        if not user_id:
            raise ValueError("user_id is empty; pass the user in the run's deps")
        store = object.__new__(type(self))
        store._owners, store._user_id, store._namespace = self._owners, user_id, self._namespace
        return store

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return the file at a path, or None."""
        _check_path(path)
        _check_positive("max_chars", max_chars)
        file = await self._ask("read", lambda memory: find_file(memory, self._namespace, path))
        if file is None:
            return None
        content, truncated = marked_text(file, max_chars)
        operation_id, metadata = file.metadata.get("operation"), file.metadata.get("write")
        return MemoryFile(
            content=content,
            version=_version(file),
            operation_id=None if operation_id is None else str(operation_id),
            truncated=truncated,
            metadata={key: str(value) for key, value in metadata.items()} if isinstance(metadata, dict) else None,
        )

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return the result of an operation that was done before, or None."""
        return await self._ask("get_operation", lambda memory: self._receipt(memory, operation))

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Create or replace a file if its version is the expected one."""
        return await self.write_with_metadata(
            path, content, expected_version=expected_version, metadata=None, operation=operation
        )

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Create or replace a file, with what the write says of itself."""
        _check_path(path)
        _check_metadata(metadata)

        async def write(memory: Memory, file: Stored | None) -> MemoryMutation:
            fields: dict[str, Any] = {**file_fields(without_marks(content)), "content_type": CONTENT_TYPE}
            fields["metadata"] = _metadata(file, operation, metadata)
            if file is None:
                new = {"namespace": self._namespace, "key": path, "if_version": 0}
                receipt = await memory.remember(**fields, **new)
                return MemoryMutation(f"{receipt.memory_id}.1", replayed=False, existed=False)
            await memory.update(file.memory_id, if_version=file.version, **fields)
            return MemoryMutation(f"{file.memory_id}.{file.version + 1}", replayed=False, existed=True)

        return await self._change("write", path, expected_version, operation, write)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Delete a file if its version is the expected one."""
        _check_path(path)

        async def delete(memory: Memory, file: Stored | None) -> MemoryMutation:
            if file is not None:
                await memory.forget(file.memory_id, if_version=file.version)
            return MemoryMutation(None, replayed=False, existed=file is not None)

        return await self._change("delete", path, expected_version, operation, delete)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the first paths that start with a prefix, sorted."""
        if prefix:
            _check_path(prefix.removesuffix("/"))
        _check_positive("limit", limit)
        files = await self._ask("list_paths", lambda memory: self._starting(memory, prefix, limit))
        return [str(file.key) for file in files]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """Return the files directly below a prefix with words of the query, then those that recall finds by meaning.

        The score is the number of the words, twice in the name; for a hit of recall it is its relevance, at most 1.
        """
        if prefix:
            _check_path(prefix.removesuffix("/"))
        nothing = MemorySearchResult(matches=[], scanned=0, truncated=False)
        if not question_of(query) or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return nothing

        async def work(memory: Memory) -> tuple[list[Stored], dict[str, float]]:
            files = [file for file in await self._starting(memory, prefix) if "/" not in _name(file, prefix)]
            recalled = await memory.recall(
                question_of(query),
                limit=min(max(limit, 1), 100),
                scope="own",
                filters=own(self._namespace, starting_with(prefix)),
                min_relevance=HARDLY_RELATED,
            )
            return files[: max_files + 1], {str(hit.memory.key): hit.relevance or 0.0 for hit in recalled.hits}

        try:
            files, relevances = await self._owners.ask(self._user_id, work)
        except NOT_ALLOWED as error:
            self._owners.failed("search", error)
            raise ToolFailed(sentence(error)) from error
        except KeepsError as error:
            self._owners.failed("search", error)
            return nothing
        return _matches(
            files, relevances, prefix, query, limit=limit, max_files=max_files, max_chars=max_chars, most=max_file_chars
        )

    async def close(self) -> None:
        """Close what this object, or the one whose `for_user` made it, opened."""
        await self._owners.close()

    def close_now(self) -> None:
        """Close without await."""
        self._owners.close_now()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _starting(self, memory: Memory, prefix: str, limit: int = 0) -> list[Stored]:
        return await list_files(memory, self._namespace, starting_with(prefix), limit)

    async def _change(
        self,
        what: str,
        path: str,
        expected_version: str | None,
        operation: MemoryOperation | None,
        change: Callable[[Memory, Stored | None], Awaitable[MemoryMutation]],
    ) -> MemoryMutation:
        """Change a file, once for each operation. An interrupted operation leaves a receipt without a result."""

        async def work(memory: Memory) -> MemoryMutation:
            if operation is not None and (done := await self._receipt(memory, operation)) is not None:
                return done
            file = await find_file(memory, self._namespace, path)
            if (None if file is None else _version(file)) != expected_version:
                raise MemoryConflictError(f"memory path {path!r} changed before it could be changed")
            pending = {"path": path, "existed": file is not None, "memory_id": str(file.memory_id) if file else None}
            if operation is not None:
                await self._put_receipt(memory, operation, {**pending, "kind": what})
            try:
                mutation = await change(memory, file)
            except (ConflictError, NotFoundError):
                if operation is not None and (done := await self._receipt(memory, operation)) is not None:
                    return done
                raise MemoryConflictError(f"memory path {path!r} changed before it could be changed") from None
            if operation is not None:
                await self._put_receipt(memory, operation, {**pending, "kind": what, "version": mutation.version})
            return mutation

        return await self._ask(what, work)

    async def _receipt(self, memory: Memory, operation: MemoryOperation) -> MemoryMutation | None:
        """Return the result of an operation, also of one that was interrupted after its change; None if not done."""
        item = await memory.get_item((self._namespace, OPERATIONS), _digest(operation.id))
        if item is None:
            return None
        receipt: dict[str, Any] = item.value
        if receipt["fingerprint"] != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        if "version" in receipt:
            return MemoryMutation(receipt["version"], replayed=True, existed=receipt["existed"])
        if receipt["kind"] == "write":
            file = await find_file(memory, self._namespace, receipt["path"])
            done = dict(_operations(file)).get(_digest(operation.id))
            return None if done is None else MemoryMutation(done, replayed=True, existed=receipt["existed"])
        if receipt["memory_id"] is None:
            return None
        try:
            deleted = (await memory.get(receipt["memory_id"])).deleted_at is not None
        except NotFoundError:
            deleted = True
        return MemoryMutation(None, replayed=True, existed=True) if deleted else None

    async def _put_receipt(self, memory: Memory, operation: MemoryOperation, receipt: dict[str, Any]) -> None:
        value = {"fingerprint": operation.fingerprint, **receipt}
        place = (self._namespace, OPERATIONS)
        await memory.put_item(place, _digest(operation.id), value, index=False, ttl_minutes=RECEIPT_MINUTES)

    async def _ask(self, what: str, work: Callable[[Memory], Awaitable[AnswerT]]) -> AnswerT:
        """Return the result. Raises ToolFailed, with a sentence that a model can act on."""
        try:
            return await self._owners.ask(self._user_id, work)
        except KeepsError as error:
            if isinstance(error, FOR_OPERATORS):
                self._owners.failed(what, error)
            raise ToolFailed(sentence(error)) from error


def _metadata(
    file: Stored | None, operation: MemoryOperation | None, metadata: Mapping[str, str] | None
) -> dict[str, Any]:
    """Return the metadata of a file's memory: it differs in each write, so that each has its own version."""
    changed: dict[str, Any] = {"file": True, "write_id": str(uuid.uuid4()), **kept_trust(file)}
    operations = _operations(file)
    if operation is not None:
        version = "" if file is None else f"{file.memory_id}.{file.version + 1}"
        operations = [*operations, (_digest(operation.id), version)]
        changed["operation"] = operation.id
    if operations:
        changed["operations"] = [list(done) for done in operations[-RECEIPTS_OF_FILE:]]
    if metadata:
        changed["write"] = dict(metadata)
    return changed


def _operations(file: Stored | None) -> list[tuple[str, str]]:
    """Return the newest operations of a file and the versions that they made."""
    if file is None:
        return []
    operations: Any = file.metadata.get("operations") or []
    return [(str(digest), str(version) or f"{file.memory_id}.1") for digest, version in operations]


def _matches(
    files: Sequence[Stored],
    relevances: Mapping[str, float],
    prefix: str,
    query: str,
    *,
    limit: int,
    max_files: int,
    max_chars: int,
    most: int,
) -> MemorySearchResult:
    """Return the files that match, best first, within the limits."""
    words = query.lower().split()
    scored: list[tuple[float, str, str, str]] = []
    cut = len(files) > max_files
    for file in files[:max_files]:
        text = text_of(file)
        cut = cut or len(text) > most
        name, start = _name(file, prefix).lower(), text[:most].lower()
        score = float(sum(start.count(word) + 2 * name.count(word) for word in words))
        if not score and len(text) <= most:
            score = relevances.get(str(file.key), 0.0)
        if score:
            scored.append((score, str(file.key), text[:most], mark_of(file)))
    scored.sort(key=lambda match: (-match[0], match[1]))
    matches: list[MemorySearchMatch] = []
    room = max_chars
    for score, path, text, mark in scored[:limit]:
        room -= len(path) - len(prefix)
        if room <= len(mark):
            break
        snippet = mark + _snippet(text, words, room - len(mark))
        matches.append(MemorySearchMatch(path=path, snippet=snippet, score=score))
        room -= len(snippet)
    return MemorySearchResult(
        matches=matches, scanned=min(len(files), max_files), truncated=cut or len(matches) < len(scored)
    )


def _snippet(text: str, words: Sequence[str], most: int) -> str:
    """Return the part of a text around its first word of the query, with "..." where it is cut."""
    lower = text.lower()
    places = [place for word in words if (place := lower.find(word)) >= 0]
    end = min(len(text), max(0, min(places, default=0) - most // 3) + most)
    start = max(0, end - most)
    snippet = text[start:end]
    snippet = snippet if start == 0 else f"...{snippet[3:]}"[: len(snippet)]
    return snippet if end == len(text) else f"{snippet[:-3]}..."[: len(snippet)]


def _version(file: Stored) -> str:
    return f"{file.memory_id}.{file.version}"


def _name(file: Stored, prefix: str) -> str:
    return str(file.key).removeprefix(prefix)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _check_path(path: str) -> None:
    """Raise ValueError for a path that the harness's own stores refuse, or that is too long for a key."""
    if len(path) > MAX_KEY_CHARACTERS:
        raise ValueError(f"invalid memory path: {path[:100]!r}… has more than {MAX_KEY_CHARACTERS} characters")
    for segment in path.split("/"):
        if not _SEGMENT.fullmatch(segment) or ".." in segment or segment == ".":
            raise ValueError(f"invalid memory path: {path!r}")


def _check_metadata(metadata: Mapping[str, str] | None) -> None:
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("memory metadata keys and values must be strings")
        if "\x00" in key or "\x00" in value:
            raise ValueError("memory metadata keys and values must not contain NUL characters")
    if sum(len(key) + len(value) for key, value in (metadata or {}).items()) > MAX_METADATA_CHARACTERS:
        raise ValueError(f"memory metadata has more than {MAX_METADATA_CHARACTERS} characters")


def _check_positive(name: str, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{name} must be positive")
