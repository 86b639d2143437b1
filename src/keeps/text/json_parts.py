"""How much is in a JSON text, told before anything is made of it: of eight megabytes of `[],` Python makes three
million lists, for more than a second in one step, and in half a gigabyte. Pure."""

from __future__ import annotations

from keeps_client.errors import PayloadTooLargeError

MOST_PARTS = 100_000
STEP = 1 << 16
"""A text is taken apart in pieces of so many bytes: of millions of strings as many objects would be made."""


class JsonParts:
    """Counts commas, colons and opening brackets outside of strings, in pieces of a text as they come. Each value
    brings at least one, each name another."""

    def __init__(self) -> None:
        self.count = 0
        self._inside = False
        self._escape = b""

    def see(self, text: bytes) -> None:
        """What comes next. Raises PayloadTooLargeError where there is too much by now."""
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
