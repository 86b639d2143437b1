"""The public suite agent-memory-integrity: every edit at rest is reported; whose memory is served to whom."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS
from agmi.check import run

from keeps.engine import Keeps
from tests.proof.agmi_adapters import EVENTS, MEMORIES, KeepsAtRest, KeepsRecall, Rows

EDITS = [f"T{number}" for number in range(1, 10)]


async def verdicts(server: Any, shared: Any, rows: Rows, *, anchored: bool) -> dict[str, tuple[str, str]]:
    """Return the verdict and the detail of each edit."""

    def attacked() -> list[dict[str, Any]]:
        adapter = KeepsAtRest(server, rows, anchored=anchored, embedder=shared)
        try:
            return run(adapter)
        finally:
            adapter.end()

    return {row["edit"].split()[0]: (row["verdict"], row["detail"]) for row in await asyncio.to_thread(attacked)}


@pytest.mark.parametrize("rows", [EVENTS, MEMORIES], ids=["events", "memories"])
async def test_every_edit_at_rest_is_reported(server: Any, shared: Any, rows: Rows) -> None:
    found = await verdicts(server, shared, rows, anchored=True)
    assert list(found) == EDITS
    assert {edit: verdict for edit, (verdict, _) in found.items()} == dict.fromkeys(EDITS, "REPORTED"), found
    assert found["T9"][1].endswith("(event 6: older than an anchor)")


async def test_without_an_anchor_only_a_roll_back_of_everything_is_accepted(server: Any, shared: Any) -> None:
    found = await verdicts(server, shared, EVENTS, anchored=False)
    assert [edit for edit, (verdict, _) in found.items() if verdict != "REPORTED"] == ["T9"]
    assert found["T9"][0] == "ACCEPTED"


@pytest.mark.meaning
async def test_injections_reach_their_own_user_only(keeps: Keeps) -> None:
    """What a user's own key wrote is served to this user: recall without a filter of trust does not judge it."""
    loop = asyncio.get_running_loop()
    results = await asyncio.to_thread(
        lambda: {attack.name: attack().run(KeepsRecall(keeps, loop)) for attack in ALL_MEMORY_ATTACKS}
    )
    assert results["cross_session_bleed"].status == "safe"
    assert {name for name, result in results.items() if result.status == "n/a"} == set()
