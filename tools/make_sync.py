"""Make keeps_client/_sync from keeps_client/memory: python tools/make_sync.py [--check]

The async client is written by hand; what differs in a client without await is words, and these are replaced here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "client" / "src" / "keeps_client"
BY_HAND = {"transport.py"}
WORDS = [
    (r"\basync def\b", "def"),
    (r"\basync with\b", "with"),
    (r"\basync for\b", "for"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bawait asyncio\.to_thread\((\w+), ", r"\1("),
    (r"(?m)^import asyncio\n", ""),
    (r"\bawait ", ""),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"keeps_client\.memory\b", "keeps_client._sync"),
]
NOTE = "# Generated from keeps_client/memory by tools/make_sync.py; change that instead.\n"


def made(source: str) -> str:
    for pattern, word in WORDS:
        source = re.sub(pattern, word, source)
    ruff = Path(sys.executable).parent / "ruff"
    text = NOTE + source
    for arguments in (["check", "--quiet", "--select", "I", "--fix", "-"], ["format", "-"]):
        done = subprocess.run([ruff, *arguments], input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


def main() -> int:
    stale = []
    for path in sorted((CLIENT / "memory").glob("*.py")):
        name = path.name
        if name in BY_HAND:
            continue
        text = made(path.read_text(encoding="utf-8"))
        target = CLIENT / "_sync" / name
        if "--check" in sys.argv:
            if not target.exists() or target.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            target.write_text(text, encoding="utf-8")
    if stale:
        print(f"keeps_client/_sync is not what tools/make_sync.py makes: {', '.join(stale)}; run make format")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
