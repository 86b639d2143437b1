"""A folder of categories on disk: read when it changed, written atomically, with one writer at a time.

A file that a person saves may be older than the latest write of Keeps. The front matter's `revision` says which version
they had opened; later changes of Keeps stay, unless they changed the same entry, too. `.keeps.json` stores each entry
as of the last scan, so that edits are noticed, also those made while nothing runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from keeps.memory.providers.markdown.format import (
    MAX_FILE_BYTES,
    Category,
    Section,
    body_of,
    category_of,
    file_of,
    parse,
    render,
)
from keeps.memory.providers.markdown.front_matter import UnreadableError
from keeps_client.errors import ConflictError, UnavailableError

INDEX, LOCK = ".keeps.json", ".keeps.lock"
OLD = ".keeps-old"
REMEMBERED = 50
MAX_ATTEMPTS = 50


class _ChangedError(Exception):
    """A file was saved since the last scan."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A person's change to an entry."""

    kind: Literal["written", "deleted"]
    category: str
    key: str
    section: Section | None


class MarkdownFolder:
    """The files of one scope. Blocking; call it in a thread."""

    def __init__(self, folder: Path, new_identity: Callable[[], str], now: Callable[[], datetime]) -> None:
        self._folder = folder
        self._new_identity = new_identity
        self._now = now
        self._turn = threading.Lock()
        self._seen: dict[str, Any] | None = None
        self._categories: dict[str, Category] = {}
        self._index: dict[str, Any] = {}
        self._raw: dict[str, bytes] = {}
        self._untold: list[Edit] = []
        self._blocked: set[str] = set()
        self._files: dict[str, str] = {}
        """The file of each category whose file a person named."""
        self.problems: dict[str, str] = {}
        """Unreadable or missing files, with the reason. They are left alone; their last contents stay in use."""

    def exists(self) -> bool:
        return self._folder.is_dir()

    def look(self) -> tuple[dict[str, Category], list[Edit]]:
        """Return the current categories, and the edits of people since the last scan."""
        with self._turn:
            if not self._folder.is_dir():
                return {}, []
            if self._untold or self._fingerprint() != self._seen:
                with self._locked():
                    self._again(self._scan)
            return self._categories, self._tell()

    def change(self, category: str, work: Callable[[dict[str, Section]], None]) -> list[Edit]:
        """Change one category's sections after a scan; return the edits of people that the scan found.

        Raises ConflictError while the file cannot be read.
        """

        def attempt() -> None:
            if self._fingerprint() != self._seen:
                self._scan()
            file = self._file_of(category)
            if file in self._blocked:
                raise ConflictError(f"{self.problems[file]}; fix it, then write again")
            held = self._categories.get(category) or Category(category, 0, {})
            sections = dict(held.sections)
            work(sections)
            self._store(replace(held, sections=sections, revision=held.revision + 1))
            self._remember()

        with self._turn:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._locked():
                self._again(attempt)
            return self._tell()

    def retell(self, edits: list[Edit]) -> None:
        """Return edits that could not be logged again with the next scan."""
        with self._turn:
            self._untold = [*edits, *self._untold]

    def _tell(self) -> list[Edit]:
        edits, self._untold = self._untold, []
        return edits

    def _again(self, attempt: Callable[[], None]) -> None:
        """Repeat an attempt if a person saved a file between the scan and the write."""
        for _ in range(MAX_ATTEMPTS):
            try:
                attempt()
                return
            except _ChangedError:
                self._seen = None
        raise UnavailableError(f"files in {self._folder.name} change too fast; try again")

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the lock among the processes that share this folder."""
        descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _file_of(self, category: str) -> str:
        """Return the file that was read for a category, or the name of a new one."""
        return self._files.get(category) or file_of(category)

    def _fingerprint(self) -> dict[str, tuple[int, int, int, int]]:
        """Return the facts of the folder's files and subfolders, without reading them."""
        facts: dict[str, tuple[int, int, int, int]] = {}
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and (_is_markdown(entry.name) or entry.is_dir(follow_symlinks=False)):
                    with contextlib.suppress(FileNotFoundError):
                        facts[entry.name] = _facts(entry.stat(follow_symlinks=False))
        return facts

    def _scan(self) -> None:
        """Read the files, compare them with the last scan, and write back files whose entries got ids or were kept."""
        self._recover()
        self._index, self._files = self._read_index()
        self._raw = {}
        fingerprint = self._fingerprint()
        self.problems = {}
        self._blocked = set()
        read: dict[str, Category] = {}
        self._seen = fingerprint  # From before reading, so that later changes are noticed.
        self._files = {category: name for category, name in self._files.items() if category in self._index}
        for name, (_, _, _, mode) in sorted(fingerprint.items(), key=lambda each: (_is_encoded(each[0]), each[0])):
            if (reason := self._reason_to_skip(name, mode)) is not None:
                if reason:
                    self.problems[_shown(name)] = reason
                continue
            category = category_of(name)
            if category in read:
                self.problems[name] = (
                    f"{name} is a second file of the category {category}, beside {self._file_of(category)}; move its"
                    " entries there, then remove it"
                )
                continue
            try:
                read[category] = parse(self._read(name, mode), category)
            except (UnreadableError, UnicodeDecodeError, OSError) as error:
                self.problems[name] = (
                    error.detail
                    if isinstance(error, UnreadableError)
                    else f"{name} cannot be read ({type(error).__name__})"
                )
                self._blocked.add(name)
            self._files.pop(category, None)
            if name != file_of(category):
                self._files[category] = name
        edits: list[Edit] = []
        self._categories = {}
        moved = {
            (key, section.identity) for held in read.values() for key, section in held.sections.items()
        }  # To a file of another name.
        for category in sorted(set(read) | set(self._index)):
            if category in read:
                self._categories[category] = self._reconciled(category, read[category], edits)
                continue
            if (missing := self._missing_category(category, moved)) is not None:
                self._categories[category] = missing
        self._categories = {name: file for name, file in self._categories.items() if file.sections or name in read}
        self._report_repeats()
        self._remember()
        present = {key for file in self._categories.values() for key in file.sections}
        self._untold += [edit for edit in edits if edit.kind == "written" or edit.key not in present]

    def _missing_category(self, category: str, moved: set[tuple[str, str | None]]) -> Category | None:
        """Return the last known entries of a missing file but those in `moved`; None if there are no others.

        A slip of the pen, a sync or a `git stash` must not forget anything.
        """
        file = self._file_of(category)
        stored = {
            key: entry for key, entry in self._index[category].items() if (key, entry["section"]["id"]) not in moved
        }
        if not stored:
            del self._index[category]
            self._files.pop(category, None)
            return None
        self._index[category] = stored
        if file not in self._blocked:
            self.problems[file] = (
                f"{file} is missing; its {len(stored)} entries stay available until it is back or they are deleted"
            )
        newest = max(entry["revision"] for entry in stored.values())
        return Category(category, newest, {key: _from_index(key, entry) for key, entry in stored.items()})

    def _reason_to_skip(self, name: str, mode: int) -> str | None:
        """Return why a directory entry is skipped; empty if it is expected to be skipped, None if it is read."""
        if name.endswith(".md"):
            return f"{_shown(name)} is not a UTF-8 name; rename it" if _shown(name) != name else None
        if not stat.S_ISDIR(mode):
            return f"{_shown(name)} is not read because its name does not end in .md; rename it"
        inside = next((path for path in (self._folder / name).rglob("*") if _is_markdown(path.name)), None)
        return (
            ""
            if inside is None
            else f"files in the subfolder {_shown(name)} are not read; move them to the folder itself"
        )

    def _report_repeats(self) -> None:
        """Report files that contain a key which another file contains, too."""
        first: dict[str, str] = {}
        for category, held in self._categories.items():
            for key in held.sections:
                if first.setdefault(key, category) != category:
                    self.problems.setdefault(
                        self._file_of(category),
                        f"{self._file_of(category)} holds {key!r}, as {self._file_of(first[key])} does, which counts;"
                        " rename one",
                    )

    def _recover(self) -> None:
        """Restore the old file if a writer was killed between removing it and placing the new one."""
        for old in self._folder.glob(f".*{OLD}"):
            target = self._folder / old.name[1 : -len(OLD)]
            with contextlib.suppress(FileExistsError):
                os.link(old, target)
            old.unlink()

    def _reconciled(self, name: str, found: Category, edits: list[Edit]) -> Category:
        """Return a category as a person left it, merged with the changes that they could not have seen."""
        index: dict[str, Any] = self._index.get(name, {})
        sections = dict(found.sections)
        base = found.revision
        newest = max([base, *(record["revision"] for record in index.values())])
        changed = False
        for key, record in index.items():
            section = sections.get(key)
            if section is None:
                if record["revision"] > base:  # It was written after they opened the file, so they did not delete it.
                    sections[key] = _from_index(key, record)
                    changed = True
                else:
                    edits.append(Edit("deleted", name, key, None))
                continue
            if section.identity is None:
                section = sections[key] = replace(section, identity=record["section"]["id"])
                changed = True
            body = _hash(section.value)
            marked = _marks(_to_index(section)) != _marks(record["section"])
            if body == record["hash"] and not marked:
                continue
            if record["revision"] > base and body in (
                record["hash"],
                *record["before"],
            ):  # They kept the old text, and there is a newer one.
                sections[key] = _from_index(key, record)
                changed = True
                continue
            sections[key] = replace(section, updated_at=self._now())
            edits.append(Edit("written", name, key, sections[key]))
            changed = True
        for key, section in list(sections.items()):
            if key not in index:
                moment = self._now()
                made = replace(
                    section,
                    identity=section.identity or self._new_identity(),
                    created_at=section.created_at or moment,
                    updated_at=section.updated_at or moment,
                )
                changed = changed or made != section
                sections[key] = made
                edits.append(Edit("written", name, key, made))
        result = replace(found, revision=newest, sections=sections)
        if changed:
            result = replace(result, revision=newest + 1)
            self._store(result)
        else:
            self._index_category(result)
        return result

    def _store(self, category: Category) -> None:
        """Write a file atomically. Raises _ChangedError when a person has saved it since the scan."""
        target = self._folder / self._file_of(category.name)
        temporary = self._folder / f".{target.name}.{os.getpid()}.tmp"
        encoded = render(category).encode()
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(encoded)
                file.flush()
                os.fsync(file.fileno())
                facts = _facts(os.fstat(file.fileno()))
            self._put(temporary, target)
        except OSError as error:
            raise UnavailableError(
                f"{target.name} cannot be written ({error.strerror}); nothing was changed"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._raw[target.name] = encoded
        if self._seen is not None:
            self._seen[target.name] = facts
        self._categories[category.name] = category
        self._index_category(category)

    def _put(self, temporary: Path, target: Path) -> None:
        """Replace the file that was read, and no other.

        The old file is moved away and compared, and the new one is placed only if no file is there by now.
        """
        old = self._folder / f".{target.name}{OLD}"
        expected = self._raw.get(target.name)
        if expected is not None:
            try:
                os.rename(target, old)
            except FileNotFoundError:
                raise _ChangedError from None
            if old.read_bytes() != expected:
                _put_back(old, target)
                raise _ChangedError
        try:
            os.link(temporary, target)
        except FileExistsError:
            old.unlink(missing_ok=True)  # Its content is known, and a newer file is in its place.
            raise _ChangedError from None
        except BaseException:
            _put_back(old, target)
            raise
        old.unlink(missing_ok=True)

    def _index_category(self, category: Category) -> None:
        known: dict[str, Any] = self._index.get(category.name, {})
        entries: dict[str, Any] = {}
        for key, section in category.sections.items():
            before = known.get(key)
            body = _hash(section.value)
            stored = _to_index(section)
            if before is not None and before["hash"] == body and _marks(before["section"]) == _marks(stored):
                entries[key] = {**before, "section": stored}
                continue
            past = [before["hash"], *before["before"]][:REMEMBERED] if before is not None else []
            entries[key] = {"hash": body, "revision": category.revision, "before": past, "section": stored}
        self._index[category.name] = entries
        if not entries:
            del self._index[category.name]

    def _remember(self) -> None:
        known = {"keeps": 1, "categories": self._index, "files": self._files}
        encoded = json.dumps(known, ensure_ascii=False)
        temporary = self._folder / f"{INDEX}.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(encoded)
        os.replace(temporary, self._folder / INDEX)

    def _read_index(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return each entry as of the last scan, and the file names that people chose."""
        try:
            descriptor = os.open(self._folder / INDEX, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, encoding="utf-8") as file:
                stored = json.load(file)
            files = {
                category: name
                for category, name in stored.get("files", {}).items()
                if "/" not in name and name.endswith(".md") and category_of(name) == category
            }
            return stored["categories"], files
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}, {}  # Every entry in the files is new, with its id.

    def _read(self, name: str, mode: int) -> str:
        """Read a file of this folder itself, since a link could lead anywhere."""
        if not stat.S_ISREG(mode):
            raise UnreadableError(f"{name} is not a regular file; links are not followed")
        descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            self._raw[name] = file.read(2 * MAX_FILE_BYTES)
        return self._raw[name].decode()


def _is_markdown(name: str) -> bool:
    return name.lower().endswith((".md", ".markdown"))


def _is_encoded(name: str) -> bool:
    """Return whether Keeps, not a person, named a file."""
    return "%" in name and name == file_of(category_of(name))


def _shown(name: str) -> str:
    """Return a file name as text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _facts(seen: os.stat_result) -> tuple[int, int, int, int]:
    return seen.st_mtime_ns, seen.st_size, seen.st_ino, seen.st_mode


def _put_back(old: Path, target: Path) -> None:
    """Move the old file back; if that fails, too, the next scan does it."""
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError):
            os.link(old, target)
        old.unlink()


def _hash(value: JsonValue) -> str:
    return hashlib.sha256(body_of(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _marks(stored: dict[str, Any]) -> list[Any]:
    """Return the attributes of an entry beside its text."""
    return [stored["tags"], stored["links"], stored["metadata"]]


def _to_index(section: Section) -> dict[str, Any]:
    return {
        "value": section.value,
        "id": section.identity,
        "created": _iso(section.created_at),
        "updated": _iso(section.updated_at),
        "tags": list(section.tags),
        "links": list(section.links),
        "metadata": dict(section.metadata),
    }


def _from_index(key: str, told: dict[str, Any]) -> Section:
    fields = told["section"]
    return Section(
        key,
        fields["value"],
        identity=fields["id"],
        created_at=_moment(fields["created"]),
        updated_at=_moment(fields["updated"]),
        tags=tuple(fields["tags"]),
        links=tuple(fields["links"]),
        metadata=fields["metadata"],
    )


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
