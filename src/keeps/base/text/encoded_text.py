"""Decode parts of a text that carry another text: base64, hexadecimal, letters in place of others. Pure, linear."""

from __future__ import annotations

import base64
import binascii
import codecs
import re

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{16,4000}={0,2}(?![A-Za-z0-9+/=_-])")
_HEXADECIMAL = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){12,2000}(?![0-9A-Za-z])")
_SPACED = re.compile(r"(?<!\S)(?:[^\W_] ){5,400}[^\W_](?!\S)")
_SPACED_WORDS = re.compile(r"(?<!\S)(?:[^\W_] {1,3}){7,400}[^\W_](?!\S)")
_DIGITS_FOR_LETTERS = str.maketrans("013457@$", "oieastas")
_MIXED = re.compile(r"(?<![\w@$])(?=[\w@$]{0,30}[a-z])(?=[\w@$]{0,30}[0134579@$])[a-z0134579@$]{3,30}(?![\w@$])", re.I)
_MOST_PARTS = 50
_LEAST_WORDS = 2


def decoded_texts(text: str) -> list[str]:
    """Return the texts that parts of a text decode to, those of more than one word."""
    texts: list[str] = []
    for part in _BASE64.findall(text)[:_MOST_PARTS]:
        plain = part.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            data = base64.b64decode(plain + "=" * (-len(plain) % 4))
        except (ValueError, binascii.Error):
            continue
        texts += _as_text(data)
    for part in _HEXADECIMAL.findall(text)[:_MOST_PARTS]:
        texts += _as_text(bytes.fromhex(part))
    return texts


def other_readings(text: str) -> list[str]:
    """Return a text as it reads with spaced letters joined, digits as letters, and letters moved by thirteen."""
    readings: list[str] = []
    joined = _SPACED_WORDS.sub(lambda run: "  ".join(part.replace(" ", "") for part in run[0].split("   ")), text)
    joined = _SPACED.sub(lambda run: run[0].replace(" ", ""), joined)
    if joined != text:
        readings.append(" ".join(joined.split()))
    digits = _MIXED.sub(lambda word: word[0].translate(_DIGITS_FOR_LETTERS), text)
    if digits != text:
        readings.append(digits)
    readings.append(codecs.encode(text, "rot13"))
    return readings


def _as_text(data: bytes) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return []
    return [text] if text.isprintable() and len(text.split()) >= _LEAST_WORDS else []
