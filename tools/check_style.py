"""Count what STYLE forbids, against limits that may only shrink: python tools/check_style.py [--write]

The limits are in tools/style_limits.toml. The check fails above a limit, and below it, too: then `--write` lowers it.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tools" / "style_limits.toml"
FOLDERS = ("src", "client/src", "benchmarks", "tools")
QUESTIONS = frozenset({"What", "Whether", "Who", "Whom", "Whose", "Where", "When", "How", "Which", "Of", "So"})
"""First words of docstrings that neither say what is done nor name a thing."""
VAGUE = frozenset({"each", "found", "held", "told", "known", "said", "asked", "given", "kept", "meant"})
VAGUE_LINES = 3
"""A vague name may be used for so many lines."""
LONG_LINES = 60
Function = ast.FunctionDef | ast.AsyncFunctionDef


def counts() -> dict[str, dict[str, int]]:
    """Return how often each rule is broken, and the lines of each long function."""
    totals: Counter[str] = Counter()
    long: dict[str, int] = {}
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        if "_sync" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
        totals["docstrings"] += sum(1 for _ in _questions(tree))
        totals["names"] += sum(_vague(function) for function in functions)
        name = path.relative_to(ROOT)
        long |= {f"{name}:{each.name}": lines for each in functions if (lines := _lines(each)) > LONG_LINES}
    return {"total": dict(totals), "functions": long}


def _questions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, ast.ClassDef | Function | ast.Module) else None
        if text and text.split(maxsplit=1)[0].strip(",.:;") in QUESTIONS:
            yield text


def _vague(function: Function) -> int:
    """Return how many vague names of a function are used beyond a few lines after they are assigned."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in VAGUE:
            line = node.lineno
            if isinstance(node.ctx, ast.Store):
                first[node.id] = min(line, first.get(node.id, line))
            last[node.id] = max(line, last.get(node.id, line))
    return sum(last[name] - line > VAGUE_LINES for name, line in first.items())


def _lines(function: Function) -> int:
    """Return the lines of a function's body, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def _written(limits: dict[str, dict[str, int]]) -> str:
    lines = [
        "# What tools/check_style.py allows. Limits only shrink; `python tools/check_style.py --write` lowers them."
    ]
    for rule, by_name in limits.items():
        lines += ["", f"[{rule}]", *(f'"{name}" = {count}' for name, count in sorted(by_name.items()))]
    return "\n".join(lines) + "\n"


def main() -> int:
    actual = counts()
    limits = tomllib.loads(LIMITS.read_text(encoding="utf-8")) if LIMITS.exists() else actual
    broken = [
        f"{rule}: {name} has {count}, at most {limits.get(rule, {}).get(name, 0)} allowed"
        for rule, by_name in actual.items()
        for name, count in by_name.items()
        if count > limits.get(rule, {}).get(name, 0)
    ]
    print("\n".join(broken), end="\n" if broken else "")
    if broken:
        return 1
    if _written(actual) == (LIMITS.read_text(encoding="utf-8") if LIMITS.exists() else ""):
        return 0
    if "--write" not in sys.argv:
        print("tools/style_limits.toml allows more than there is; run python tools/check_style.py --write")
        return 1
    LIMITS.write_text(_written(actual), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
