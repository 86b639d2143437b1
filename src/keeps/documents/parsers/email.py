"""E-mail: who wrote to whom about what, and the text. Attachments are named, not read."""

from __future__ import annotations

from email import message_from_bytes, policy

from keeps.documents.parsers import Reading, RefusedError
from keeps.documents.parsers.text import paragraphs


def parse(data: bytes, reading: Reading) -> None:
    message = message_from_bytes(data, policy=policy.default)
    if not message.keys():
        raise RefusedError("it is no e-mail: it has no headers")
    reading.title = " ".join(str(message.get("subject", "")).split())[:500] or None
    told = [f"{name}: {' '.join(str(message[name]).split())}" for name in ("From", "To", "Cc", "Date") if message[name]]
    reading.add("\n".join(told))
    body = message.get_body(("plain", "html"))
    if body is not None:
        content = str(body.get_content())
        if body.get_content_subtype() == "html":
            from keeps.documents.parsers import html

            html.parse(content.encode("utf-8", "ignore"), reading)
        else:
            for paragraph in paragraphs(content.replace("\r\n", "\n")):
                reading.add(paragraph)
    names = [each.get_filename() or "without a name" for each in message.iter_attachments()]
    if names:
        reading.notes.append(f"{len(names)} attachments were not read: {', '.join(names[:10])}")
