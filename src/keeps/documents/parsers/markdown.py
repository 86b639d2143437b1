"""Markdown: headings, paragraphs, lists, tables, code. Read by lines; what is no structure stays text."""

from __future__ import annotations

import re

from keeps.documents.parsers import Reading, text_of

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s{0,12}(?:[-*+]|\d{1,9}[.)])\s+\S")
_RULE = re.compile(r"[\s|:\-]+")


def parse(data: bytes, reading: Reading) -> None:
    lines = _without_front_matter(text_of(data).split("\n"), reading)
    paragraph: list[str] = []
    fence = ""
    names: list[str] = []

    def end() -> None:
        if paragraph:
            reading.add("\n".join(paragraph))
            paragraph.clear()

    for number, line in enumerate(lines):
        if fence:
            reading.add(line, "code")
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opening := _FENCE.match(line):
            end()
            fence = opening[1]
            reading.add(line, "code")
        elif heading := _HEADING.fullmatch(line):
            end()
            level, said = len(heading[1]), heading[2].rstrip().rstrip("#").rstrip()
            if reading.title is None and level == 1:
                reading.title = said
            reading.heading(level, said)
        elif line.lstrip().startswith("|"):
            end()
            cells = [each.strip() for each in line.strip().strip("|").split("|")]
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if "-" in following and _RULE.fullmatch(following):
                names = cells
            elif not _RULE.fullmatch(line):
                reading.row(names or [""] * len(cells), cells)
            continue
        elif _ITEM.match(line):
            end()
            paragraph.append(line)
        elif line.strip():
            paragraph.append(line)
        else:
            end()
        names = []
    end()


def _without_front_matter(lines: list[str], reading: Reading) -> list[str]:
    if not lines or lines[0].rstrip() != "---":
        return lines
    for number, line in enumerate(lines[1:200], 1):
        if line.rstrip() == "---":
            for each in lines[1:number]:
                name, _, value = each.partition(":")
                if name.strip() == "title" and value.strip():
                    reading.title = value.strip().strip("\"'")[:500]
            return lines[number + 1 :]
    return lines
