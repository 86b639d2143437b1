"""Plain text: paragraphs."""

from __future__ import annotations

from keeps.sources.documents.parsers import Reading, text_of


def parse(data: bytes, reading: Reading) -> None:
    for paragraph in paragraphs(text_of(data)):
        reading.add(paragraph)


def paragraphs(text: str) -> list[str]:
    """Return the parts between empty lines."""
    blocks: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        if line.strip():
            lines.append(line)
        elif lines:
            blocks.append("\n".join(lines))
            lines = []
    return [*blocks, "\n".join(lines)] if lines else blocks
