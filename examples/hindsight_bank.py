"""A program written for Hindsight, with Keeps behind it: only the address and the key change.

keeps keys create hindsight --role admin && keeps serve --auth keys  # in another terminal
pip install hindsight-client && HINDSIGHT_API_KEY=keeps_… python examples/hindsight_bank.py
"""

from __future__ import annotations

import asyncio
import os
import sys

from hindsight_client import Hindsight


async def main(client: Hindsight) -> list[str]:
    """Recall what Alice's bank retained, and nothing of it in Bob's."""
    await client.aretain("alice", "Alice keeps two hens called Ada and Grace.")
    said: list[str] = []
    for bank in ("alice", "bob"):
        found = await client.arecall(bank, "What are the hens called?")
        said.append(f"{bank}: {[result.text for result in found.results]}")
    return said


async def run(url: str) -> None:
    client = Hindsight(base_url=url, api_key=os.environ.get("HINDSIGHT_API_KEY"))
    for line in await main(client):
        print(line)
    await client.aclose()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8765/hindsight"))
