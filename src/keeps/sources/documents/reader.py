"""Reads documents in the process of keeps.sources.documents.host, with a time limit."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

from keeps.base.cooperative import cooperative_map
from keeps.base.fairness import FairSlots
from keeps.base.sandbox.forks import Forks, TooMuchError
from keeps.sources.documents.chunks import MAX_TOKENS, Chunk
from keeps.sources.documents.parsers import FORMATS, Format
from keeps_client.errors import NotConfiguredError, UnavailableError, ValidationFailedError

AT_ONCE, WAIT_SECONDS, READ_SECONDS = 2, 300.0, 60.0
MOST_ANSWERED = 256 << 20


@dataclass(frozen=True, slots=True)
class Read:
    """A document as text and passages. `hidden` counts characters that are in the file but not shown."""

    title: str
    text: str
    chunks: tuple[Chunk, ...]
    pages: int
    empty_pages: int
    hidden: int
    notes: tuple[str, ...]


def format_of(name: str, media_type: str | None) -> Format:
    """Return the format by the name's ending, else by the media type.

    Raises:
        ValidationFailedError: The format is not supported.
        NotConfiguredError: An extra is missing.
    """
    suffix = PurePath(name).suffix.lower()
    kind = (media_type or "").partition(";")[0].strip().lower()
    for form in FORMATS:
        if suffix in form.suffixes or (not suffix and kind in form.media_types):
            if form.needs and not any(map(find_spec, form.needs)):
                raise NotConfiguredError(f"{form.name} needs an extra: pip install 'keeps[documents]'")
            return form
    known = " ".join(suffix for form in FORMATS for suffix in form.suffixes)
    raise ValidationFailedError(f"{name!r} has an unknown format; the formats are {known}")


class DocumentReader:
    """The reading process, started on demand and again when it has died.

    It reads two documents at once; tenants take turns.
    """

    def __init__(self) -> None:
        self._forks = Forks("keeps.sources.documents.host", "reads documents")
        self._slots = FairSlots(AT_ONCE, alone=AT_ONCE, beside=1)

    async def read(
        self,
        tenant_id: str,
        file: int,
        form: Format,
        name: str,
        *,
        title: str | None = None,
        passage_tokens: int | None = None,
    ) -> Read:
        """Read an open file, cut into passages up to a number of tokens.

        Raises ValidationFailedError, which says why it is refused.
        """
        try:
            await self._slots.take(tenant_id, WAIT_SECONDS)
        except TimeoutError:
            raise UnavailableError("too many documents of this tenant are being read; send it again later") from None
        try:
            limit = passage_tokens or MAX_TOKENS
            job: dict[str, object] = {"format": form.name, "name": name, "title": title, "limit": limit}
            answer = await self._asked(file, job)
        finally:
            self._slots.leave(tenant_id)
        if "refused" in answer:
            raise ValidationFailedError(f"{name!r} is rejected: {answer['refused']}")
        chunks = await cooperative_map(_chunk, answer["chunks"])
        return Read(
            answer["title"],
            answer["text"],
            tuple(chunks),
            answer["pages"],
            answer["empty_pages"],
            answer["hidden"],
            tuple(answer["notes"]),
        )

    async def close(self) -> None:
        await self._forks.close()

    async def _asked(self, file: int, job: dict[str, object]) -> dict[str, Any]:
        try:
            told = await self._forks.ask(job, [file], seconds=READ_SECONDS, most_bytes=MOST_ANSWERED)
            return await asyncio.to_thread(json.loads, told)
        except TooMuchError:
            return {"refused": "it is too large"}
        except TimeoutError:
            return {"refused": f"reading it takes more than {READ_SECONDS:.0f} s"}
        except ValueError:
            return {"refused": "its parser crashed or exceeded its limits of memory and time"}


def _chunk(values: tuple[int, int, list[str], int | None, list[int]]) -> Chunk:
    start, end, headings, page, page_breaks = values
    return Chunk(start, end, tuple(headings), page, tuple(page_breaks))
