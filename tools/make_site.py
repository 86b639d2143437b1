"""Build the documentation as a site: python tools/make_site.py

From docs/ alone, cold and strict, without network. Links of the built pages and their anchors are checked, and that no
page loads anything from elsewhere. Beside each page stands its Markdown; `llms.txt` lists them all.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

ROOT = Path(__file__).parents[1]
STAGED, SITE = ROOT / "build" / "site-docs", ROOT / "site"
OUTSIDE = re.compile(r"\[([^\]]*)\]\((\.\./[^)]*)\)")
ADDRESS = "https://keeps.example/"


class Page(HTMLParser):
    """Links, loads and anchors of a built page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev", "alternate"):
            self.loads.append(given.get("href", ""))


def stage() -> list[Path]:
    """The pages, where the builder reads them. What links leave the folder name files of the repository."""
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGED)
    (STAGED / "images").mkdir(exist_ok=True)
    shutil.copy(ROOT / "src/keeps/doors/console/static/keeps.svg", STAGED / "images")
    pages = sorted(STAGED.rglob("*.md"))
    for path in pages:
        text = path.read_text(encoding="utf-8")

        def named(found: re.Match[str], path: Path = path) -> str:
            target = (path.parent / found[2].partition("#")[0]).resolve()
            if STAGED in target.parents:
                return found[0]
            inside = (ROOT / "docs" / path.relative_to(STAGED)).parent / found[2]
            return f"{found[1]} (`{inside.resolve().relative_to(ROOT)}`)"

        path.write_text(OUTSIDE.sub(named, text), encoding="utf-8")
    return pages


def check() -> tuple[int, int, list[str]]:
    """Return the numbers of pages and links, and what is wrong."""
    pages: dict[str, Page] = {}
    for path in sorted(SITE.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.relative_to(SITE).as_posix()] = page
    wrong: list[str] = []
    links = 0
    for name, page in pages.items():
        base = urljoin(ADDRESS, name)
        wrong += [
            f"{name} loads {each}"
            for each in page.loads
            if urlsplit(urljoin(base, each)).netloc != urlsplit(ADDRESS).netloc
        ]
        for link in page.links if name != "404.html" else []:
            target, anchor = urldefrag(urljoin(base, link))
            if not target.startswith(ADDRESS):
                continue
            links += 1
            path = unquote(target.removeprefix(ADDRESS))
            path = f"{path}index.html" if not path or path.endswith("/") else path
            if not (SITE / path).exists():
                wrong.append(f"{name} points at {link}, which is not there")
            elif anchor and path in pages and unquote(anchor) not in pages[path].anchors:
                wrong.append(f"{name} points at {link}, which has no such anchor")
    return len(pages), links, wrong


def _place() -> Callable[[Path], tuple[int, str]]:
    """Pages in the order of the menu, then those that are not in it."""
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    names = re.findall(r"[\w./-]+\.md", str(nav))
    order = {name: number for number, name in enumerate(names)}
    return lambda path: (
        order.get(path.relative_to(STAGED).as_posix(), len(order)),
        path.relative_to(STAGED).as_posix(),
    )


def _told(text: str, default: str) -> tuple[str, str]:
    """A page's title, and the first sentence below it."""
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    below = re.sub(r"^ *```.*?^ *```", "", text[title.end() :] if title else text, flags=re.MULTILINE | re.DOTALL)
    prose = re.search(r"^(?![#!|<>\[*-])(\S.+?[.:])(?:\s|$)", below, re.MULTILINE | re.DOTALL)
    return title[1] if title else default, " ".join(prose[1].split()).rstrip(":") if prose else ""


def main() -> int:
    pages = stage()
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"], cwd=ROOT, check=False
    )
    if done.returncode:
        return done.returncode
    lines = ["# Keeps", "", "> One memory for AI agents, isolated by the database.", ""]
    for path in sorted(pages, key=_place()):
        name = path.relative_to(STAGED)
        target = SITE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
        title, first = _told(path.read_text(encoding="utf-8"), name.stem)
        lines.append(f"- [{title}]({ADDRESS}{name.as_posix()}){f': {first}' if first else ''}")
    (SITE / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    count, links, wrong = check()
    for each in wrong:
        print(each)
    print(f"{count} pages, {links} links checked, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
