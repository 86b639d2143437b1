"""One Chromium for all."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright, expect

expect.set_options(timeout=30_000)  # a machine with other work is slow; no test depends on how slow


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program is not None, "Chromium is not installed; `make browser` installs it"
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP evil.test 127.0.0.1"],
        )
        yield opened
        await opened.close()
