"""Files as memories: each file is a private memory whose key is its path, so that `recall` finds it.

A file keeps its history, and can be restored for 30 days after it was deleted. Folders exist only in paths.
"""

from __future__ import annotations

import json
import re
from typing import Any

from keeps_client.memory.whole import Memory
from keeps_client.models import Memory as Stored
from keeps_client.models.common import MAX_LIMIT
from keeps_client.values import MAX_CONTENT_CHARACTERS

CONTENT_TYPE = "file"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def own(namespace: str, conditions: dict[str, Any]) -> Any:
    """Return a filter for the user's own files: private memories that they can see, none that others share."""
    place = {"namespace": {"eq": namespace}, "visibility": {"eq": "private"}, "metadata.file": {"eq": True}}
    return {**place, **conditions}


def in_folder(folder: str) -> dict[str, Any]:
    """Return the conditions for the paths below a folder; the empty one holds all."""
    return {"key": {"gte": f"{folder}/", "lt": f"{folder}0"} if folder else {"exists": True}}  # "0" comes after "/"


def starting_with(prefix: str) -> dict[str, Any]:
    """Return the conditions for paths that start with a prefix."""
    return {"key": {"gte": prefix, "lt": prefix[:-1] + chr(ord(prefix[-1]) + 1)} if prefix else {"exists": True}}


async def find_file(memory: Memory, namespace: str, path: str) -> Stored | None:
    """Return a file, or None."""
    page = await memory.list(filters=own(namespace, {"key": {"eq": path}}), limit=1)
    return page[0] if page else None


async def list_files(memory: Memory, namespace: str, conditions: dict[str, Any], limit: int = 0) -> list[Stored]:
    """Return files by path: the first `limit`, or all if it is 0."""
    filters = own(namespace, conditions)
    files: list[Stored] = []
    cursor: str | None = None
    while True:
        at_once = min(limit - len(files), MAX_LIMIT) if limit else MAX_LIMIT
        page = await memory.list(filters=filters, order="name", limit=at_once, cursor=cursor)
        files += page.items
        cursor = page.next_cursor
        if cursor is None or (limit and len(files) >= limit):
            return files


def file_fields(text: str) -> dict[str, Any]:
    """Return the content and the value of a file's memory.

    The content is the text that recall searches. If a memory cannot have it as its content (it is empty, too long, or
    has characters that PostgreSQL cannot store), the value holds it exactly.
    """
    if _UNSTORABLE.search(text):
        return {
            "content": _UNSTORABLE.sub(" ", text)[:MAX_CONTENT_CHARACTERS].strip() or "(empty file)",
            "value": {"json": json.dumps(text)},
        }
    if text.strip() and len(text) <= MAX_CONTENT_CHARACTERS:
        return {"content": text, "value": {}}
    return {"content": text[:MAX_CONTENT_CHARACTERS].strip() or "(empty file)", "value": {"text": text}}


def text_of(file: Stored) -> str:
    """Return the exact text of a file."""
    value = file.value
    if isinstance(value, dict) and "json" in value:
        return str(json.loads(str(value["json"])))
    return str(value["text"]) if isinstance(value, dict) and "text" in value else file.content
