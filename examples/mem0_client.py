"""A program written for mem0, with Keeps behind it: only the address and the key change.

keeps keys create mem0 && keeps serve --auth keys  # in another terminal
pip install mem0ai && MEM0_API_KEY=keeps_… python examples/mem0_client.py [http://127.0.0.1:8765/mem0]
"""

from __future__ import annotations

import sys

from mem0 import MemoryClient


def main(client: MemoryClient) -> list[str]:
    """Find what Alice said for her, and for nobody else."""
    client.add("Alice keeps two hens called Ada and Grace.", user_id="alice", infer=False)
    said: list[str] = []
    for user in ("alice", "bob"):
        found = client.search("What are the hens called?", filters={"user_id": user})
        said.append(f"{user}: {[each['memory'] for each in found['results']]}")
    return said


if __name__ == "__main__":
    for line in main(MemoryClient(host=sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8765/mem0")):
        print(line)
