"""Recall@5 in nine languages: by words only, by words and meaning, and asked in another language.

    keeps bench languages [--only german,hindi] [--json]

For each language one user has 300 memories (20 people, 15 matters each), written for this purpose
(`benchmarks/sets/languages`), and 100 questions, which say in other words what they ask about. Meaning is that of
KEEPS_EMBEDDER. Across: the same questions in English, with the names as the memories write them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import temporary_folder
from keeps import Keeps, Scope

FOLDER = Path(__file__).parent / "sets/languages"
QUESTIONS, FOUND_IN = 100, 5


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    people: list[str]
    matters: list[dict[str, Any]]

    def memory(self, matter: int, person: int) -> str:
        values = self.matters[matter]["values"]
        return self.matters[matter]["told"].format(
            who=self.people[person], what=values[(person * 3 + matter) % len(values)]
        )

    def question(self, matter: int, who: str, how: str = "asked") -> str:
        return self.matters[matter][how].format(who=who)


def run(only: list[str], *, as_json: bool) -> int:
    rows = asyncio.run(_run(only))
    if as_json:
        print(json.dumps(rows))
        return 0
    columns = [name for name in rows[0] if name != "language"]
    table = Table("language", *columns)
    for row in rows:
        table.add_row(row["language"], *(f"{row[name]:.2f}" for name in columns))
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return 0


async def _run(only: list[str]) -> list[dict[str, Any]]:
    languages = {path.stem: _read(path) for path in sorted(FOLDER.glob("*.toml"))}
    wanted = only or list(languages)
    if unknown := set(wanted) - languages.keys():
        raise SystemExit(f"no set is in {', '.join(sorted(unknown))}; there are {', '.join(languages)}")
    rows: list[dict[str, Any]] = []
    with temporary_folder("languages") as folder:
        async with Keeps.open(folder / "home") as keeps:
            for name in wanted:
                memory = keeps.memory(Scope("bench", name))
                texts = [languages[name].memory(matter, person) for matter in range(15) for person in range(20)]
                await memory.remember_many([{"content": text} for text in texts], index="now")
                asked = [(number % 15, (number * 7 + number // 15) % 20) for number in range(QUESTIONS)]
                row: dict[str, Any] = {"language": name}
                for column, how, asking, scope in (
                    ("its words: words", "alike", name, "persistent"),
                    ("meaning", "alike", name, "indexed"),
                    ("both", "alike", name, "all"),
                    ("other words: words", "asked", name, "persistent"),
                    ("meaning ", "asked", name, "indexed"),
                    ("both ", "asked", name, "all"),
                    ("in English", "asked", "english", "all"),
                ):
                    found = 0
                    for matter, person in asked:
                        question = languages[asking].question(matter, languages[name].people[person], how)
                        request = {"query": question, "limit": FOUND_IN, "scope": scope}
                        hits = (await memory.recall(**request)).hits
                        found += texts[matter * 20 + person] in [hit.memory.content for hit in hits]
                    row[column] = found / QUESTIONS
                rows.append(row)
    return rows


def _read(path: Path) -> Language:
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    return Language(path.stem, said["people"], said["matters"])
