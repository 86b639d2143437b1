"""Search terms as the numbers that the database keeps. Pure.

A term becomes a 32-bit hash salted with tenant and audience. So a posting list of the shared index belongs to one
audience, and its length does not grow with other people's data. A packed row is, for each term, the hash
(4 bytes, little-endian, signed) and its frequency (1 byte, at most 255).
"""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np

PACKED = np.dtype([("term", "<i4"), ("count", "u1")])
EVERY_MEMORY = "\x00"
"""A term that every memory has: asking for it shows all rows of an audience."""


def salt_of(tenant_id: str, audience: str) -> int:
    """The salt of one audience: a user id, or the empty text for all users of the tenant."""
    return zlib.crc32(f"{tenant_id}\x00{audience}\x00".encode())


def hash_term(term: str, salt: int) -> int:
    """A signed 32-bit number."""
    number = zlib.crc32(term.encode(), salt)
    return number - 0x1_0000_0000 if number >= 0x8000_0000 else number


def pack(counts: Counter[str], salt: int) -> tuple[list[int], bytes]:
    """The hashes to be found by (with the one that every memory has), and the packed row."""
    packed = np.empty(len(counts), dtype=PACKED)
    packed["term"] = [hash_term(term, salt) for term in counts]
    packed["count"] = np.minimum(np.fromiter(counts.values(), dtype=np.int64, count=len(counts)), 255)
    return [hash_term(EVERY_MEMORY, salt), *packed["term"].tolist()], packed.tobytes()
