"""E-mail: sender, recipients, subject, and the texts that a reader sees. Attachments are named, not read."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from email.message import EmailMessage

from keeps.documents.parsers import MAX_NESTING, Reading, RefusedError
from keeps.documents.parsers.charsets import decoded, decoded_page
from keeps.documents.parsers.html import parse_text
from keeps.documents.parsers.text import paragraphs

_HEADERS = ("From", "To", "Cc", "Date")
_LEAST_SHARE = 0.5
"""A plain text with fewer words than this share of its HTML only refers to it."""
_WORD = re.compile(r"\w+")
_FLOWED = re.compile(r"(?m)^(?!-- $)(.*) \n(?=.)")
_MOST_NESTED = 20


def parse(data: bytes, reading: Reading) -> None:
    message = message_from_bytes(data, _class=EmailMessage, policy=policy.default)
    if not message.keys():
        raise RefusedError("it is no e-mail: it has no headers")
    reading.title = " ".join(_header(message, "subject").split())[:500] or None
    left_out: list[str] = []
    before = _told(message, reading)
    _read(message, reading, left_out, 0)
    if left_out:
        reading.notes.append(f"{len(left_out)} attachments were not read: {', '.join(left_out[:10])}")
    if len(reading.blocks) == before:
        reading.notes.append("it has no text below its headers: only these are stored")


def _told(message: EmailMessage, reading: Reading) -> int:
    """Store the headers. Return the number of blocks."""
    told = [f"{name}: {' '.join(said.split())}" for name in _HEADERS if (said := _header(message, name))]
    reading.add("\n".join(told))
    return len(reading.blocks)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):  # what the library raises for broken ones
        return next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")


def _read(part: EmailMessage, reading: Reading, left_out: list[str], depth: int) -> None:
    if depth > _MOST_NESTED:
        raise RefusedError(f"its parts are nested deeper than {min(_MOST_NESTED, MAX_NESTING)}")
    kind = part.get_content_type()
    if kind in ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"):
        reading.notes.append("its text is encrypted, and was not read")
    elif kind == "multipart/alternative":
        _read_alternative(part, reading, left_out, depth)
    elif part.is_multipart() and kind != "message/rfc822":
        for subpart in _parts(part):
            _read(subpart, reading, left_out, depth + 1)
    elif part.get_content_disposition() == "attachment" or (kind == "text/plain" and part.get_filename()):
        left_out.append(_named(part))
    elif kind == "message/rfc822":
        for subpart in _parts(part):
            _forwarded(subpart, reading, left_out, depth)
    elif kind == "text/html":
        parse_text(_text(part), reading)
    elif kind in ("text/plain", "text/enriched", "text/markdown"):
        for paragraph in paragraphs(_text(part)):
            reading.add(paragraph)
    elif not (kind.startswith("image/") and part.get("content-id")) and kind != "application/pgp-signature":
        left_out.append(_named(part))


def _forwarded(message: EmailMessage, reading: Reading, left_out: list[str], depth: int) -> None:
    reading.heading(1, _header(message, "subject") or "Forwarded message")
    _told(message, reading)
    _read(message, reading, left_out, depth + 1)


def _read_alternative(part: EmailMessage, reading: Reading, left_out: list[str], depth: int) -> None:
    """Read one of several forms of a text: the plain one, unless it says much less than the HTML."""
    forms = _parts(part)
    plain = next((form for form in forms if form.get_content_type() == "text/plain"), None)
    others = [form for form in forms if form is not plain and _has_page(form)]
    if plain is not None and others:
        page = Reading()
        _read(others[-1], page, [], depth + 1)
        shown = sum(len(_WORD.findall(block.text)) for block in page.blocks)
        if len(_WORD.findall(_text(plain))) < _LEAST_SHARE * shown:
            plain = None
    chosen = plain or (others[-1] if others else None) or next(iter(forms), None)
    for form in forms:
        if form is chosen:
            _read(form, reading, left_out, depth + 1)
        elif form.get_content_maintype() not in ("text", "multipart"):
            left_out.append(_named(form))


def _has_page(part: EmailMessage) -> bool:
    return any(each.get_content_type() == "text/html" for each in part.walk())


def _parts(part: EmailMessage) -> list[EmailMessage]:
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, EmailMessage)] if isinstance(payload, list) else []


def _text(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    try:
        charset = part.get_content_charset()
    except (ValueError, LookupError):
        charset = None
    if part.get_content_type() == "text/html":
        return decoded_page(data, charset)
    text = decoded(data, charset).replace("\r\n", "\n").replace("\r", "\n")
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _FLOWED.sub(r"\1" if str(part.get_param("delsp", "")).lower() == "yes" else r"\1 ", text)
    return text


def _named(part: EmailMessage) -> str:
    try:
        name = part.get_filename()
    except (ValueError, LookupError, AttributeError):
        name = None
    return name or f"{part.get_content_type()} without a name"
