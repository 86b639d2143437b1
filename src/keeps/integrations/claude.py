"""Claude's memory tool: files under /memories, each a memory with its key, its history and its owner.

    client.beta.messages.tool_runner(model=…, messages=…, tools=[KeepsMemoryTool(user_id="alice")])

Answers and errors repeat those of Anthropic's own tool for a file system word for word, since models know them. The
user is set when the tool is created, never by the model. The tenant comes from the settings or the token.
"""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise ImportError("keeps.integrations.claude needs Anthropic's SDK: pip install 'keeps[claude]'") from error

from keeps.base.text.forms import cut_at
from keeps.engine import Keeps
from keeps.integrations.claude_commands import NAMES, understood
from keeps.integrations.files import (
    CONTENT_TYPE,
    file_fields,
    find_file,
    in_folder,
    kept_trust,
    list_files,
    mark_of,
    text_of,
)
from keeps.integrations.owners import Owners
from keeps.integrations.sentences import FOR_OPERATORS, sentence
from keeps_client.errors import ConflictError, KeepsError, NotFoundError
from keeps_client.memory.whole import Memory
from keeps_client.models import Memory as Stored

ROOT = "/memories"
NAMESPACE = "claude"
FOLDER_SIZE = "4K"
MOST_LINES, NUMBER_WIDTH, LEVELS = 999_999, 6, 2
ATTEMPTS = 8
MOST_TOLD, TOLD_CHARACTERS = 100, 1_000
"""Maximum places and characters that an error repeats."""


class KeepsMemoryTool(BetaAbstractMemoryTool):
    """The tool for `Anthropic`; the one for `AsyncAnthropic` is `KeepsAsyncMemoryTool`.

    Args:
        keeps: The address of a server, with its `token`; an engine that was opened in another loop or thread; or None:
            read from the environment.
        user_id: The owner of the files.
        namespace: The namespace of the memories; each has its own set of files.
        cache_control: As Anthropic defines it.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
        namespace: str = NAMESPACE,
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = _Files(Owners(keeps, tenant_id=tenant_id, token=token), user_id, namespace)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by command."""
        return self._files.owners.failures

    def call(self, input: object) -> str:  # noqa: A002  the SDK's name
        return str(super().call(understood(input)))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._files.now(self._files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._files.now(self._files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self._files.now(self._files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self._files.now(self._files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._files.now(self._files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._files.now(self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Delete all files. Each can be restored in Keeps for 30 days."""
        return self._files.now(self._files.clear())

    def close(self) -> None:
        """Close what this object opened."""
        self._files.owners.close_now()


class KeepsAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The tool for `AsyncAnthropic`, with the arguments of `KeepsMemoryTool`."""

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
        namespace: str = NAMESPACE,
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = _Files(Owners(keeps, tenant_id=tenant_id, token=token), user_id, namespace)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by command."""
        return self._files.owners.failures

    async def call(self, input: object) -> str:  # noqa: A002  the SDK's name
        return str(await super().call(understood(input)))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._files.view(command.path, command.view_range)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._files.create(command.path, command.file_text)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._files.str_replace(command.path, command.old_str, command.new_str)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self._files.insert(command.path, command.insert_line, command.insert_text)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._files.delete(command.path)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._files.rename(command.old_path, command.new_path)

    async def clear_all_memory(self) -> str:
        """Delete all files. Each can be restored in Keeps for 30 days."""
        return await self._files.clear()

    async def close(self) -> None:
        """Close what this object opened."""
        await self._files.owners.close()


class _Files:
    """Runs the commands.

    The key of a memory is its path below /memories. A folder exists while it contains a file.
    """

    def __init__(self, owners: Owners, user_id: str | None, namespace: str) -> None:
        self.owners = owners
        self._user_id = user_id
        self._namespace = namespace

    def now(self, work: Coroutine[Any, Any, str]) -> str:
        return self.owners.now(work)

    async def view(self, path: str, view_range: Sequence[int] | None) -> str:
        place = _place(path)

        async def work(memory: Memory) -> str:
            held = await self._file(memory, place) if place else None
            if held is not None:
                return mark_of(held) + _numbered(path, text_of(held), view_range)
            below = await self._below(memory, place)
            if place and not below:
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            return _listed(path, place, below)

        return await self._asked("view", work)

    async def create(self, path: str, text: str) -> str:
        place = _place(path)

        async def work(memory: Memory) -> str:
            if not place or await self._below(memory, place, limit=1):
                raise ToolError(f"File {path} already exists")
            await self._folders_are_none(memory, place)
            try:
                await self._write(memory, place, text, version=0)
            except ConflictError:
                raise ToolError(f"File {path} already exists") from None
            return f"File created successfully at: {path}"

        return await self._asked("create", work)

    async def str_replace(self, path: str, old: str, new: str) -> str:
        place = _place(path)

        def change(text: str) -> tuple[str, str]:
            count = text.count(old)
            if count == 0:
                raise ToolError(
                    f"No replacement was performed, old_str `{_told(old)}` did not appear verbatim in {path}."
                )
            if count > 1:
                lines = ", ".join(str(line) for line in _lines_of(text, old))
                more = ", …" if count > MOST_TOLD else ""
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{_told(old)}` in lines:"
                    f" {lines}{more}. Please ensure it is unique"
                )
            changed = text.replace(old, new)
            at = text[: text.find(old)].count("\n")
            lines = changed.split("\n")
            shown = range(max(0, at - 2), min(len(lines), at + 3))
            snippet = "\n".join(f"{line + 1:>{NUMBER_WIDTH}}\t{lines[line]}" for line in shown)
            return changed, (
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
                + snippet
            )

        return await self._asked(
            "str_replace", lambda memory: self._change(memory, path, place, change, shows_text=True)
        )

    async def insert(self, path: str, line: int, text: str) -> str:
        place = _place(path)

        def change(held: str) -> tuple[str, str]:
            lines = held.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(line, text.rstrip("\n"))
            changed = "\n".join(lines)
            return changed if changed.endswith("\n") else f"{changed}\n", f"The file {path} has been edited."

        return await self._asked("insert", lambda memory: self._change(memory, path, place, change, shows_text=False))

    async def delete(self, path: str) -> str:
        place = _place(path)
        if not place:
            raise ToolError("Cannot delete the /memories directory itself")

        async def work(memory: Memory) -> str:
            try:
                await memory.forget_keys(self._namespace, place)
            except NotFoundError:
                raise ToolError(f"The path {path} does not exist") from None
            return f"Successfully deleted {path}"

        return await self._asked("delete", work)

    async def rename(self, old: str, new: str) -> str:
        source, target = _place(old), _place(new)
        if not source:
            raise ToolError("Cannot rename the /memories directory itself")

        async def work(memory: Memory) -> str:
            if not target or await self._below(memory, target, limit=1) or await self._file(memory, target):
                raise ToolError(f"The destination {new} already exists")
            await self._folders_are_none(memory, target)
            try:
                await memory.move_keys(self._namespace, source, target)
            except NotFoundError:
                raise ToolError(f"The path {old} does not exist") from None
            except ConflictError:
                raise ToolError(f"The destination {new} already exists") from None
            return f"Successfully renamed {old} to {new}"

        return await self._asked("rename", work)

    async def clear(self) -> str:
        async def work(memory: Memory) -> str:
            for name in {held.key.split("/")[0] for held in await self._below(memory, "") if held.key}:
                await memory.forget_keys(self._namespace, name)
            return "All memory cleared"

        return await self._asked("clear_all_memory", work)

    async def _change(
        self, memory: Memory, path: str, place: str, change: Callable[[str], tuple[str, str]], *, shows_text: bool
    ) -> str:
        """Replace a file's text with the result of `change`; try again after a concurrent write.

        `shows_text`: the answer contains a part of the text.
        """
        for _ in range(ATTEMPTS):
            file = await self._file(memory, place) if place else None
            if file is None:
                if not place or await self._below(memory, place, limit=1):
                    raise ToolError(f"The path {path} is not a file.")
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            text, answer = change(text_of(file))
            try:
                await self._write(memory, place, text, version=file.version, trust=kept_trust(file))
            except ConflictError:
                continue
            return mark_of(file) + answer if shows_text else answer
        raise ToolError(f"The file {path} is being changed by others; view it and try again.")

    async def _file(self, memory: Memory, place: str) -> Stored | None:
        return await find_file(memory, self._namespace, place)

    async def _below(self, memory: Memory, place: str, limit: int = 0) -> list[Stored]:
        """Return the files below a folder by path: the first `limit`, or all if it is 0."""
        return await list_files(memory, self._namespace, in_folder(place), limit)

    async def _folders_are_none(self, memory: Memory, place: str) -> None:
        """Raise ToolError if a parent of the path is a file."""
        parts = place.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count])
            if await self._file(memory, folder) is not None:
                raise ToolError(f"The path {ROOT}/{folder} is not a directory.")

    async def _write(
        self, memory: Memory, place: str, text: str, *, version: int, trust: Mapping[str, Any] | None = None
    ) -> None:
        await memory.remember(
            **file_fields(text),
            namespace=self._namespace,
            key=place,
            metadata={"file": True, **(trust or {})},
            content_type=CONTENT_TYPE,
            if_version=version,
        )

    async def _asked(self, command: str, work: Callable[[Memory], Awaitable[str]]) -> str:
        """Return the answer of a command. Raises ToolError with a sentence that the model can act on."""
        try:
            return await self.owners.ask(self._user_id, work)
        except KeepsError as error:
            if isinstance(error, FOR_OPERATORS):
                self.owners.failed(command, error)
            raise ToolError(sentence(error, names=NAMES)) from None


def _place(path: str) -> str:
    """Return the normalized path below /memories; empty for /memories itself."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {path}")
    if path.encode("utf-8", "ignore").decode() != path:
        raise ToolError("The path contains a lone surrogate, which is not text.")
    rest = posixpath.normpath(path.removeprefix(ROOT).lstrip("/") or ".")
    if rest == ".." or rest.startswith("../"):
        raise ToolError(f"Path {path} would escape /memories directory")
    return "" if rest == "." else rest


def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, shown = 0, lines
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        shown = lines[first : len(lines) if view_range[1] == -1 else view_range[1]]
    numbered = "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(shown, first + 1))
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def _listed(path: str, place: str, files: Sequence[Stored]) -> str:
    """Return two levels of the contents of a folder, with sizes, in depth-first order."""
    sizes: dict[tuple[str, ...], str] = {}
    for file in files:
        parts = (file.key or "")[len(place) + 1 if place else 0 :].split("/")
        visible = next((count for count, part in enumerate(parts) if part.startswith(".")), len(parts))
        for depth in range(1, min(visible, LEVELS) + 1):
            is_file = depth == len(parts)
            sizes[tuple(parts[:depth])] = _size(len(text_of(file).encode("utf-8"))) if is_file else FOLDER_SIZE + "/"
    lines = [f"{FOLDER_SIZE}\t{path}"]
    for parts in sorted(sizes):
        size = sizes[parts]
        lines.append(f"{size.removesuffix('/')}\t{path}/{'/'.join(parts)}{'/' if size.endswith('/') else ''}")
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([header, *lines])


def _size(count: int) -> str:
    if count == 0:
        return "0B"
    power = min((count.bit_length() - 1) // 10, 3)
    size = count / 1024**power
    return f"{int(size) if size == int(size) else f'{size:.1f}'}{'BKMG'[power]}"


def _lines_of(text: str, wanted: str) -> list[int]:
    """Return the line, counted from 1, in which each occurrence of a text starts; occurrences may overlap."""
    line_numbers: list[int] = []
    line, counted = 1, 0
    start = text.find(wanted)
    while start != -1 and len(line_numbers) < MOST_TOLD:
        line += text.count("\n", counted, start)
        counted = start
        line_numbers.append(line)
        start = text.find(wanted, start + 1)
    return line_numbers


def _told(text: str) -> str:
    return text if len(text) <= TOLD_CHARACTERS else cut_at(text, TOLD_CHARACTERS) + "…"
