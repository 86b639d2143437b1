"""Character sets of files: from a byte order mark or declaration, else UTF-8, else windows-1252, as in browsers."""

from __future__ import annotations

import codecs
import re

import webencodings

from keeps.sources.documents.parsers import BYTE_ORDER_MARKS

_LOOKED_THROUGH = 4_096
_ASCII = ("us-ascii", "ascii", "ansi_x3.4-1968")
"""Character sets that old programs declare regardless of the content."""
_DECLARED = re.compile(rb"""<meta\s[^>]{0,400}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w:.\-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w:.\-]{1,40})""", re.IGNORECASE)


def decoded(data: bytes, declared: str | None = None) -> str:
    """Return bytes as text. Undecodable bytes become a replacement character.

    Args:
        declared: The character set declared outside the data, as in the header of a message.
    """
    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    codec = (None if (declared or "").lower() in _ASCII else codec_of(declared)) or "utf-8"
    try:
        return data.decode(codec)
    except (UnicodeDecodeError, LookupError):
        pass
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252" if codec == "utf-8" else codec, "replace")


def decoded_page(data: bytes, declared: str | None = None) -> str:
    """Return a page of HTML as text, by its own declaration if there is none outside it."""
    if declared is None:
        for name, sample in (("utf-16-le", b"<\x00"), ("utf-16-be", b"\x00<")):
            if data.startswith(sample):
                return data.decode(name, "replace")
        head = data[:_LOOKED_THROUGH]
        found = _DECLARED.search(head) or _XML.match(head)
        declared = found[1].decode("ascii") if found else None
        if declared and declared.lower().startswith("utf-16"):
            declared = "utf-8"  # UTF-16 would have been unreadable up to here.
    return decoded(data, declared)


def codec_of(name: str | None) -> str | None:
    """Return Python's name of a character set, as browsers interpret it; None if it is unknown."""
    if not name:
        return None
    encoding = webencodings.lookup(name.strip(" \"'"))
    if encoding is not None and encoding.name not in ("replacement", "x-user-defined"):
        return {"shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs", "gbk": "gb18030"}.get(
            encoding.name, encoding.codec_info.name
        )
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
