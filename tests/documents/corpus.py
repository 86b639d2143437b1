"""The corpus of documents: small files with what a reader sees in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A file of one fault class, with its expected text.

    Attributes:
        shown: texts that must be read, white space apart. Each stands in one block.
        absent: texts that must not be read.
        once: texts that must be read exactly once.
        notes: texts that the notes of the receipt must contain.
        unnoted: texts that the notes must not contain.
        hidden: whether hidden characters must be counted.
    """

    name: str
    form: str
    data: bytes
    shown: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: bool = False
    file: str = "x"
    unnoted: tuple[str, ...] = ()
