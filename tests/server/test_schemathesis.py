"""Schemathesis against the whole API: a real `keeps serve`, with an administrator's token."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.test_killed_service import ended, serve
from tests.serving import JWT_SECRET, token

SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"
# What a schema cannot say, such as that two fields exclude each other, is refused too; and 1 is taken for true.
LEFT_OUT = "positive_data_acceptance,negative_data_rejection"


@pytest.mark.parametrize(
    ("paths", "phases", "requests"),
    [
        pytest.param("^/v1/(recall|memories|plans)$", "examples,fuzzing", 15, id="a few"),
        # Also every value at the edge of what the schema allows.
        pytest.param("^/", "examples,coverage,fuzzing", 3_000, id="all", marks=pytest.mark.load),
    ],
)
async def test_no_input_breaks_the_api_or_its_promises(
    made_home: Callable[..., Path], tmp_path: Path, paths: str, phases: str, requests: int
) -> None:
    environment = {
        "KEEPS_EMBEDDER": "none",
        "KEEPS_AUTH": "jwt",
        "KEEPS_JWT_SECRET": JWT_SECRET,
        "KEEPS_SECRET_KEYS": "a-key-of-the-operator-for-tests-0001",
        "KEEPS_READS_PER_MINUTE": "9999999",
        "KEEPS_WRITES_PER_MINUTE": "9999999",
    }
    process, url = await serve(made_home(), **environment)
    run = await asyncio.create_subprocess_exec(
        SCHEMATHESIS,
        "run",
        f"{url}/openapi.json",
        "-H",
        f"Authorization: Bearer {token('fuzzed', 'alice', 'admin')}",
        "--phases",
        phases,
        "--include-path-regex",
        paths,
        "--max-examples",
        "3",
        "--exclude-checks",
        LEFT_OUT,
        "--exclude-path-regex",  # without an LLM they answer 501, which is right, and to schemathesis never is
        "^/v1/(query|databases/.*/query)$",
        "--exclude-path",
        "/v1/admin/tenants/{tenant_id}",
        "--exclude-path",
        "/v1/admin/import",
        "--exclude-path",
        "/v1/events/stream",
        "--continue-on-failure",
        "--no-color",
        "--generation-database",
        "none",
        "--warnings",
        "off",
        "--seed",
        "1",
        "--request-timeout",
        "20",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    shown = (await run.communicate())[0].decode()
    await ended(process, signal.SIGTERM)
    assert run.returncode == 0, "\n".join(line[:300] for line in shown.splitlines()[-400:])
    counted = re.search(r"(\d+) generated", shown)
    assert counted is not None
    assert int(counted.group(1)) > requests
