"""Pictures of the console for the documentation: python tools/make_screenshots.py

Starts Keeps on a home of its own, loads the demonstration, and photographs pages in light, dark and on a phone. Needs
Chromium.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from pathlib import Path

from playwright.async_api import Page, async_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
KEEPS = Path(__file__).parents[1] / ".venv" / "bin" / "keeps"
PAGES = {
    "search": "/ui/?q=What+is+Alice+allergic+to%3F",
    "memory": "/ui/memories",
    "context": "/ui/context?q=What+shall+we+cook+for+Alice%3F",
    "insights": "/ui/insights",
}
LOOKS = {"light": (1_200, 800, "light"), "dark": (1_200, 800, "dark"), "phone": (390, 760, "light")}


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        server = await asyncio.create_subprocess_exec(
            KEEPS, "ui", "--home", f"{home}/home", "--no-browser", stderr=asyncio.subprocess.PIPE
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
                    await _photographed(await context.new_page(), look)
                    await context.close()
                await browser.close()
        finally:
            server.terminate()
            await server.wait()


async def _photographed(page: Page, look: str) -> None:
    await page.goto("/ui/memories?look=" + look)
    load = page.get_by_role("button", name="Load the demonstration")
    if await load.count():
        await load.click()
    else:
        await page.goto("/ui/")
        await page.get_by_role("button", name="Load the demonstration").click()
    await page.get_by_role("button", name="Look as alice").click()
    while "waiting for the index</dt><dd>0" not in await (await page.request.get("/ui/insights/numbers")).text():
        await page.wait_for_timeout(500)
    for name, path in PAGES.items():
        await page.goto(path)
        if name == "memory":
            await page.locator("td.content a").first.click()
        await page.locator("h1").first.wait_for()
        await page.wait_for_load_state("networkidle")
        await page.screenshot(path=FOLDER / f"{name}-{look}.png")


if __name__ == "__main__":
    asyncio.run(main())
