"""Count the parts of a JSON text before it is parsed. Pure.

Eight megabytes of `[],` become three million Python lists, which takes more than a second without a break and half a
gigabyte.
"""

from __future__ import annotations

from keeps_client.errors import PayloadTooLargeError

MOST_PARTS = 100_000
STEP = 1 << 16
"""Number of bytes that are split at once: splitting the whole text could create millions of strings."""


class JsonParts:
    """Counts commas, colons and opening brackets outside strings, in pieces of a text as they arrive.

    Each value adds at least one of these, and each name one more.
    """

    def __init__(self) -> None:
        self.count = 0
        self._inside = False
        self._escape = b""

    def see(self, text: bytes) -> None:
        """Count the next piece. Raises PayloadTooLargeError if there are too many parts so far."""
        for start in range(0, len(text), STEP):
            self._see(text[start : start + STEP])
            if self.count > MOST_PARTS:
                raise PayloadTooLargeError(
                    f"JSON has at most {MOST_PARTS:,} values, names and brackets here; send it in several requests"
                )

    def _see(self, piece: bytes) -> None:
        if self._escape:
            piece = self._escape + piece
        ends = (len(piece) - len(piece.rstrip(b"\\"))) % 2
        self._escape = b"\\" * ends
        plain = piece[: len(piece) - ends]
        if b"\\" in plain:
            plain = plain.replace(b"\\\\", b"").replace(b'\\"', b"")
        quoted = plain.split(b'"')
        outside = b"".join(quoted[self._inside :: 2])
        self._inside ^= len(quoted) % 2 == 0
        self.count += sum(map(outside.count, (b",", b":", b"[", b"{")))
