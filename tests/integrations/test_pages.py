"""The Python on the pages about frameworks runs with the frameworks."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from tests.pages.blocks import FRAMEWORKS, PAGES, Block, of, run_python

pytestmark = pytest.mark.anyio


@pytest.mark.slow_step("the first block imports the frameworks")
@pytest.mark.parametrize("page", [each for each in PAGES if each.name in FRAMEWORKS], ids=lambda page: page.name)
async def test_python_runs(
    page: Path, keeps: Keeps, tenant: str, app_url: str, secured_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPS_DATABASE_URL", app_url)
    monkeypatch.setenv("KEEPS_TENANT_ID", tenant)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "nobody is called")
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    key = await keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"}))).admin.make_key("page", roles=("admin",))
    for block in of(page, "python"):
        names: dict[str, Any] = {}
        run = replace(block, code=block.code.replace("keeps_…", key.secret))
        served = secured_url.removeprefix("http://")
        await asyncio.to_thread(lambda b=run, n=names, s=served: asyncio.run(_run_and_close(b, n, s)))


async def _run_and_close(block: Block, names: dict[str, Any], served: str) -> None:
    """What a page leaves open, since its program would end there, is closed."""
    await run_python(block, names, {}, served)
    for each in names.values():
        for held in (each, getattr(each, "client", None)):
            if not isinstance(held, type) and callable(close := getattr(held, "close", None)):
                done = close()
                if inspect.isawaitable(done):
                    await done
