"""Open WebUI's export of chats. Pure.

`chat.history.messages` is a tree; `currentId` is the last message of the branch that Open WebUI shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.messages import ROLES, branch, message_record, names_in, text_of
from keeps.sources.importing.records import JSON_FILES, Format, Record, Source, fitted


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each visible message."""
    for entry in values(source):
        place = f"{source.name}{entry.place}"
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
            continue
        row = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        chat = row["chat"] if isinstance(row.get("chat"), dict) else row
        history = chat.get("history")
        nodes = history.get("messages") if isinstance(history, dict) else None
        if isinstance(nodes, dict):
            current = cast("dict[str, Any]", history).get("currentId")
            path = branch(cast("dict[str, object]", nodes), current, "parentId")
            if not path and nodes:
                yield Record(place, None, "has no branch that leads to its current message")
        elif isinstance(chat.get("messages"), list):
            path = [(str(number), message) for number, message in enumerate(chat["messages"])]
        else:
            yield Record(place, None, "is not a chat of Open WebUI: an object with `chat.history`")
            continue
        identity = row.get("id") or chat.get("id")
        session = source.scoped(str(identity)) if identity else fitted(f"{source.path}{entry.place}")
        owner = row["user_id"] if isinstance(row.get("user_id"), str) else None
        for message_id, message in path:
            yield _message(f"{place}.messages.{message_id}", session, message_id, message, owner)


def _message(place: str, session: str, message_id: str, message: object, owner: str | None) -> Record:
    if not isinstance(message, dict):
        return Record(place, None, "is not a message", owner=owner)
    fields = cast("dict[str, Any]", message)
    files = names_in(fields.get("files"), "name", "url")
    return message_record(
        place,
        session,
        message_id,
        text_of(fields.get("content")),
        role=ROLES.get(str(fields.get("role")).lower()),
        sent_at=fields.get("timestamp"),
        notes=[f"omitted: the content of {len(files)} files"] if files else [],
        metadata={"attachments": files} if files else None,
        owner=owner,
    )


FORMAT = Format(
    "open-webui",
    "Open WebUI's export of chats",
    records,
    JSON_FILES,
    lambda source: {"history", "currentId", "childrenIds"} <= source.names(),
)
