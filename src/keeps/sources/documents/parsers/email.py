"""E-mail: headers and visible texts. Attachments are named, not read."""

from __future__ import annotations

import re
from collections.abc import Collection
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape

from keeps.sources.documents.parsers import MAX_NESTING, Reading, RefusedError
from keeps.sources.documents.parsers.charsets import decoded, decoded_page
from keeps.sources.documents.parsers.html import parse_text
from keeps.sources.documents.parsers.text import paragraphs

_HEADERS = ("From", "To", "Cc", "Date")
_WORD = re.compile(r"\w+")
_FLOWED = re.compile(r"(?m)^(?!-- $)(.*) \n(?=.)")
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]]+")
_PARAMETER, _ENRICHED = re.compile(r"(?i)<param>[^<]{0,1000}</param>"), re.compile(r"<<|</?[A-Za-z0-9-]{1,60}>")
_MOST_NESTED = 20


def parse(data: bytes, reading: Reading) -> None:
    message = message_from_bytes(data, _class=EmailMessage, policy=policy.default)
    if not message.keys():
        raise RefusedError("it is not an e-mail: it has no headers")
    reading.title = " ".join(_header(message, "subject").split())[:500] or None
    left_out: list[str] = []
    before = _told(message, reading)
    _read(message, reading, left_out, 0)
    if left_out:
        reading.notes.append(f"{len(left_out)} attachments were not read: {', '.join(left_out[:10])}")
    if len(reading.blocks) == before:
        reading.notes.append("it has no body text: only its headers are stored")


def _told(message: EmailMessage, reading: Reading) -> int:
    """Store the headers. Return the number of blocks so far."""
    told = [f"{name}: {' '.join(said.split())}" for name in _HEADERS if (said := _header(message, name))]
    reading.add("\n".join(told))
    return len(reading.blocks)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):  # Raised for broken headers.
        return next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")


def _read(part: EmailMessage, reading: Reading, left_out: list[str], depth: int) -> None:
    if depth > _MOST_NESTED:
        raise RefusedError(f"its parts are nested deeper than {min(_MOST_NESTED, MAX_NESTING)}")
    kind = part.get_content_type()
    if kind in ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"):
        reading.notes.append("its text is encrypted and was not read")
    elif kind == "multipart/alternative":
        _read_alternative(part, reading, left_out, depth)
    elif kind == "multipart/related":
        root = _root(part)
        for child in _parts(part):
            if child is root:
                _read(child, reading, left_out, depth + 1)
            elif not _is_picture(child):
                left_out.append(_named(child))
    elif part.is_multipart() and kind != "message/rfc822":
        for child in _parts(part):
            _read(child, reading, left_out, depth + 1)
    elif part.get_content_disposition() == "attachment" or (kind == "text/plain" and part.get_filename()):
        left_out.append(_named(part))
    elif kind == "message/rfc822":
        for child in _parts(part):
            _forwarded(child, reading, left_out, depth)
    elif kind == "text/html":
        parse_text(_text(part), reading)
    elif kind in ("text/plain", "text/enriched", "text/markdown"):
        text = _text(part)
        if kind == "text/enriched":
            shown = _PARAMETER.sub("", text)
            reading.hide(len(text) - len(shown))
            text = _ENRICHED.sub(lambda match: "<" if match[0] == "<<" else "", shown)
        for paragraph in paragraphs(text):
            reading.add(paragraph)
    elif not _is_picture(part) and kind != "application/pgp-signature":
        left_out.append(_named(part))


def _forwarded(message: EmailMessage, reading: Reading, left_out: list[str], depth: int) -> None:
    reading.heading(1, _header(message, "subject") or "Forwarded message")
    _told(message, reading)
    _read(message, reading, left_out, depth + 1)


def _read_alternative(part: EmailMessage, reading: Reading, left_out: list[str], depth: int) -> None:
    """Read the last alternative that has words, as mail programs do. Count words that only the others have."""
    forms: list[Reading] = []
    for form in _parts(part):
        forms.append(Reading(title=reading.title))
        _read(form, forms[-1], left_out, depth + 1)
    chosen = next((number for number in reversed(range(len(forms))) if _words(forms[number])), None)
    if chosen is None:
        for form in forms:
            reading.take(form)
        return
    if chosen + 1 < len(forms):
        reading.notes.append("the preferred version of the message has no text: another one was read")
        for form in forms[chosen + 1 :]:
            form.blocks = []
            reading.take(form)
    reading.take(forms[chosen])
    missing = _missing(forms, chosen, _addresses(part))
    if missing:
        reading.hide(sum(map(len, missing)))
        reading.notes.append(
            f"{len(missing):,} words are only in a version of the message that mail programs do not show"
        )


def _missing(forms: list[Reading], chosen: int, addresses: set[str]) -> list[str]:
    """Return the words of other alternatives that the chosen one lacks, except addresses of its links."""
    shown = set(_words(forms[chosen]))
    others = (form for number, form in enumerate(forms) if number != chosen)
    return [word for form in others for word in _words(form, addresses) if word not in shown]


def _words(form: Reading, addresses: Collection[str] = ()) -> list[str]:
    texts = (block.text for block in form.blocks)
    if addresses:
        texts = (_ADDRESS.sub(lambda match: "" if match[0] in addresses else match[0], text) for text in texts)
    return [word.lower() for text in texts for word in _WORD.findall(text)]


def _addresses(part: EmailMessage) -> set[str]:
    """Return the web addresses in the HTML of a part, which plain text spells out."""
    pages = (unescape(_text(each)) for each in part.walk() if each.get_content_type() == "text/html")
    return {address for page in pages for address in _ADDRESS.findall(page)}


def _root(part: EmailMessage) -> EmailMessage | None:
    """Return the displayed part of a multipart/related; the others are its pictures and similar files."""
    parts = _parts(part)
    start = str(part.get_param("start", "")).strip("<> ")
    named = (each for each in parts if start and str(each.get("content-id", "")).strip("<> ") == start)
    texts = (each for each in parts if each.get_content_maintype() in ("text", "multipart"))
    return next(named, None) or next(texts, None) or next(iter(parts), None)


def _is_picture(part: EmailMessage) -> bool:
    """Return whether a part is a picture displayed in the text."""
    return part.get_content_maintype() == "image" and part.get("content-id") is not None


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
