"""The public suite agent-memory-integrity: every edit at rest is reported; whose memory is served to whom."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS, MemoryAttackResult
from agmi.check import run

from keeps.engine import Keeps
from keeps_client.models.names import Trust
from tests.proof.agmi_adapters import EVENTS, MEMORIES, KeepsAtRest, KeepsRecall, Rows

EDITS = [f"T{number}" for number in range(1, 10)]
PAGE = Path(__file__).parents[2] / "docs/proof.md"
EXTERNAL_SERVED = {
    "memory_injection": 5,
    "retrieval_hijack": 5,
    "indirect_prompt_injection": 0,
    "update_poisoning": 3,
    "metadata_poisoning": 5,
}
"""Attacks that recall without a filter serves, of five that are labelled as text from outside."""


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


async def attack_recall(keeps: Keeps, *, min_trust: Trust | None) -> dict[str, dict[str, int]]:
    """Return how many of the five attacks of each family were served, by the channel of the attacker's write."""
    loop = asyncio.get_running_loop()

    def attacked() -> dict[str, MemoryAttackResult]:
        adapter = KeepsRecall(keeps, loop, min_trust=min_trust)
        return {attack.name: attack().run(adapter) for attack in ALL_MEMORY_ATTACKS}

    results = await asyncio.to_thread(attacked)
    assert {name: result.error for name, result in results.items() if result.status == "n/a"} == {}
    served = {name: {key: sum(held) for key, held in result.channels.items()} for name, result in results.items()}
    assert served.pop("cross_session_bleed") == {"cross-user": 0}
    return served


def test_docs_report_what_injections_were_served() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d) of 5 \| (\d) of 5 \| (\d) of 5 \|$", PAGE.read_text(), re.MULTILINE)
    assert {name: (int(plain), int(filtered), int(own)) for name, plain, filtered, own in rows} == {
        name: (external, 0, 5) for name, external in EXTERNAL_SERVED.items()
    }


@pytest.mark.meaning
async def test_injections_that_are_served_without_a_filter(keeps: Keeps) -> None:
    served = await attack_recall(keeps, min_trust=None)
    assert {name: channels["external"] for name, channels in served.items()} == EXTERNAL_SERVED


@pytest.mark.meaning
async def test_min_trust_keeps_out_all_that_is_labelled_as_external(keeps: Keeps) -> None:
    """Words that a key of the user writes as the user's own are served: no filter of trust can know better."""
    served = await attack_recall(keeps, min_trust="agent")
    assert served == {name: {"external": 0, "laundered": 5, "agent-laundered": 5} for name in EXTERNAL_SERVED}
