"""Checks of a server for `keeps status` and `keeps doctor`, over its API, with the caller's credentials."""

from __future__ import annotations

from typing import Any

import aiohttp

from keeps.doors.cli.checks import Check
from keeps.doors.cli.context import Target
from keeps_client.errors import KeepsError

TIMEOUT_SECONDS = 10.0


async def check_server(target: Target) -> list[Check]:
    """Check that a server answers, that its database does, and that it accepts the caller's credentials."""
    checks: list[Check] = []
    for name, path in (("server", "/health"), ("database", "/ready")):
        problem = await _problem(f"{str(target.url).rstrip('/')}{path}")
        checks.append(Check(name, "failed" if problem else "ok", problem or f"{target.url}{path} answers"))
        if problem:
            return checks
    try:
        async with target.client() as client:
            insights = await client.insights()
    except KeepsError as error:
        return [*checks, Check("access", "failed", error.detail)]
    checks.append(Check("access", "ok", f"the server accepts your credentials; {insights.total_memories:,} memories"))
    if insights.index_pending:
        checks.append(Check("index", "note", f"{insights.index_pending:,} memories wait for a vector"))
    return checks


async def report_server(target: Target) -> dict[str, Any]:
    """Report a server's status, and that of the caller's memory."""
    async with target.client() as client:
        insights = await client.insights()
    return {
        "server": target.url,
        "memories": insights.total_memories,
        "pending": insights.index_pending,
        "lag_seconds": round(insights.index_lag_seconds, 1),
    }


async def _problem(url: str) -> str | None:
    try:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http, http.get(url) as answer:
            return None if answer.status == 200 else f"{url} answers {answer.status}: {(await answer.text())[:200]}"
    except (aiohttp.ClientError, TimeoutError) as error:
        return (
            f"{url} does not answer ({type(error).__name__}); check --url or KEEPS_URL, and that the server is running"
        )
