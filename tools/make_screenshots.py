"""Pictures of the console: python tools/make_screenshots.py [--home HOME --to FOLDER --question TEXT]

For the documentation: starts Keeps on a home of its own, loads the demonstration, and photographs some pages in light,
dark and on a phone. With --home, every page over what that home holds, into a folder. Needs Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote_plus

from playwright.async_api import Page, async_playwright

from keeps.doors.console.views import MENU

FOLDER = Path(__file__).parents[1] / "docs" / "images"
KEEPS = Path(__file__).parents[1] / ".venv" / "bin" / "keeps"
PAGES = {
    "search": "/ui/?q=What+is+Alice+allergic+to%3F",
    "memory": "/ui/memories",
    "context": "/ui/context?q=What+shall+we+cook+for+Alice%3F",
    "overview": "/ui/insights",
    "requests": "/ui/requests",
    "playground": "/ui/playground?user=alice&q=What+shall+we+cook+for+Alice%3F",
    "entity": "/ui/graph?name=Alice",
}
LOOKS = {"light": (1_200, 800, "light"), "dark": (1_200, 800, "dark"), "phone": (390, 760, "light")}


async def main(home: str | None, folder: Path, question: str) -> None:
    with tempfile.TemporaryDirectory() as fresh:
        server = await asyncio.create_subprocess_exec(
            KEEPS, "ui", "--home", home or f"{fresh}/home", "--no-browser", stderr=asyncio.subprocess.PIPE
        )
        try:
            assert server.stderr is not None
            found = None
            while found is None:
                found = re.search(rb"http://[\d.:]+", await server.stderr.readline())
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                for look, (width, height, scheme) in LOOKS.items():
                    context = await browser.new_context(
                        viewport={"width": width, "height": height},
                        color_scheme=scheme,  # pyright: ignore[reportArgumentType]
                        base_url=found[0].decode(),
                    )
                    page = await context.new_page()
                    if home is None:
                        await _load_the_demonstration(page)
                    await _photographed(page, PAGES if home is None else _every_page(question), folder, look)
                    await context.close()
                await browser.close()
        finally:
            server.terminate()
            await server.wait()


def _every_page(question: str) -> dict[str, str]:
    asks = {"Search": "?q=", "Context": "?q=", "Time": "?q=", "Knowledge": "?q="}
    pages = {
        each.name.lower(): each.path + (asks[each.name] + quote_plus(question) if each.name in asks else "")
        for each in MENU
    }
    return pages | {"memory": "/ui/memories", "entity": "/ui/graph", "conversation": "/ui/conversations"}


async def _load_the_demonstration(page: Page) -> None:
    await page.goto("/ui/memories")
    load = page.get_by_role("button", name="Load the demonstration")
    if not await load.count():
        await page.goto("/ui/")
    await page.get_by_role("button", name="Load the demonstration").click()
    await page.get_by_role("button", name="View as alice of harbour").click()
    while (
        "<strong>0</strong> <span>wait for their vector"
        not in await (await page.request.get("/ui/insights/numbers")).text()
    ):
        await page.wait_for_timeout(500)


async def _photographed(page: Page, pages: dict[str, str], folder: Path, look: str) -> None:
    for name, path in pages.items():
        await page.goto(path)
        first = page.locator(
            {"memory": "td.content a", "entity": "li.card > a", "conversation": "main li a"}.get(name, "h1")
        )
        if name in ("memory", "entity", "conversation") and await first.count():
            await first.first.click()
        await page.locator("h1").first.wait_for()
        await page.wait_for_load_state("networkidle")
        await page.screenshot(path=folder / f"{name}-{look}.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home")
    parser.add_argument("--to", type=Path, default=FOLDER)
    parser.add_argument("--question", default="What happened last week?")
    given = parser.parse_args()
    given.to.mkdir(exist_ok=True, parents=True)
    asyncio.run(main(given.home, given.to, given.question))
