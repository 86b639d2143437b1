"""Counts what makes a new thing cost twice: copies of a list, lines that hide, types that say nothing.

    python tools/count_structure.py [FOLDER]

FOLDER is a checkout, this one by default; give an older one beside it to compare.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LINE = 120
METHOD_LISTS = (
    "src/keeps/doors/server/examples.py",
    "src/keeps/doors/server/routes/*.py",
    "src/keeps/doors/server/custom_routes.py",
    "src/keeps/*/*/part.py",
    "src/keeps/doors/server/routes.py",
    "client/src/keeps_client/_async/*.py",
    "client/src/keeps_client/memory/*.py",
    "client/src/keeps_client/endpoints.py",
)
GENERATED = ("client/src/keeps_client/_sync/*.py",)
NO_METHODS = {"transport.py", "workflow.py", "health.py", "__init__.py"}
"""Of the SDK: how bytes are sent, and helpers that stand on the methods."""
COLUMN_LIST = re.compile(r"trigger_condition\W{1,12}(?:memories\.|page\.|held\.)?procedure_type")
SAMPLE = (
    "get_task_context",
    "put_sub_task",
    "add_relation",
    "store_skill",
    "end_session",
    "undo",
    "log_activity",
    "delete_entry",
)


def found(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths if path.name not in NO_METHODS)


def lines_of_endpoints(root: Path) -> int:
    """Count the lines of endpoints in the wire models: `GET_STATE = Endpoint(...)`."""
    count = 0
    for path in root.glob("client/src/keeps_client/models/*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                made = node.value.func
                if isinstance(made, ast.Name) and made.id == "Endpoint":
                    count += (node.end_lineno or node.lineno) - node.lineno + 1
    return count


def sources(root: Path, suffix: str, *, tests: bool = False) -> Iterator[Path]:
    for folder in ("src", "client/src", *(("tests", "benchmarks", "tools") if tests else ())):
        for path in (root / folder).rglob(f"*{suffix}"):
            if "_sync" not in path.parts and "__pycache__" not in path.parts:
                yield path


def signatures_with_any(root: Path) -> int:
    count = 0
    for path in sources(root, ".py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                said = [*(each.annotation for each in arguments), node.returns]
                count += any(
                    isinstance(part, ast.Name) and part.id == "Any" for each in said if each for part in ast.walk(each)
                )
    return count


def kept_by_hand(root: Path) -> float:
    """In how many files the name of a method stands that must be there for it to exist, of a sample."""
    places = [
        *found(root, METHOD_LISTS),
        *root.glob("src/keeps/**/service.py"),
        *root.glob("client/src/keeps_client/models/*.py"),
        *root.glob("tests/server/test_matrix.py"),
    ]
    texts = [path.read_text(encoding="utf-8") for path in places]
    return sum(bool(re.search(rf"\b{name}\b", text)) for name in SAMPLE for text in texts) / len(SAMPLE)


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    python = list(sources(root, ".py"))
    everywhere = [*sources(root, ".py", tests=True), *sources(root, ".sql")]
    by_hand = lines(found(root, METHOD_LISTS)) + lines_of_endpoints(root)
    generated = lines(found(root, GENERATED))
    over = [line for path in everywhere for line in path.read_text(encoding="utf-8").splitlines() if len(line) > LINE]
    columns = sum(
        len(COLUMN_LIST.findall(path.read_text(encoding="utf-8"))) for path in [*python, *sources(root, ".sql")]
    )
    skips = [
        line
        for path in everywhere
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.endswith("# fmt: skip")
    ]
    print(f"lines in method lists       {by_hand + generated:6,}, of them {generated:,} generated")
    print(f"files that name a method    {kept_by_hand(root):6.1f}")
    print(f"column lists of memories    {columns:6,}")
    print(f"lines over {LINE} columns     {len(over):6,}")
    print(f"fmt: skip                   {len(skips):6,}")
    print(f"signatures with Any         {signatures_with_any(root):6,}")


if __name__ == "__main__":
    main()
