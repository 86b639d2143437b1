"""What goes out of one tenant comes into another as it was over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from keeps_client import MemoryClient
from keeps_client._requests import Answer
from keeps_client.memory.http import HttpAdmin
from keeps_client.sync import MemoryClient as SyncClient

BREAKS = "\u2028 \u2029 \u0085 \x0b \x0c \x1c \x1d \x1e \r \r\n \n \n\n \t".split(" ")
"""What str.splitlines or a terminal takes for the end of a line."""
EDGES = [
    "\\n",
    "\\u2028",
    '{"type": "memory"}',
    "'\"\\",
    "\ufeff",
    "e\u0301",
    "\U0001f468\u200d\U0001f469",
    "\u202e",
    "日本",
]
CONTENTS = [f"{at}: before{each}after" for at, each in enumerate(BREAKS + EDGES)]


def _memories() -> list[dict[str, Any]]:
    return [
        {
            "content": content,
            "namespace": "n",
            "key": f"{content}",
            "metadata": {content: [content, {"deep": content}]},
            "tags": [f"t{at}"],
            "source": content,
        }
        for at, content in enumerate(CONTENTS)
    ]


def _facts(memories: Any) -> list[dict[str, Any]]:
    left_out = {"tenant_id", "life"}
    return sorted((each.model_dump(exclude=left_out) for each in memories), key=lambda each: str(each["memory_id"]))


async def test_every_line_separator_survives_a_server(server_url: str, tenant: str) -> None:
    async with (
        MemoryClient(server_url, tenant_id=tenant) as first,
        MemoryClient(server_url, tenant_id=f"{tenant}-2") as second,
    ):
        await first.remember_many(_memories())
        lines = await first.admin.export_lines()
        assert len([line for line in lines if line.startswith('{"type": "memory"')]) == len(CONTENTS)
        summary = await second.admin.import_lines(lines)
        assert (summary.stored, summary.failed, summary.errors) == (len(lines), 0, [])
        assert _facts((await second.list(limit=200)).items) == _facts((await first.list(limit=200)).items)
        assert (await second.admin.import_lines(lines)).unchanged == len(lines)


async def test_the_sync_client_exports_the_same_lines(server_url: str, tenant: str) -> None:
    async with MemoryClient(server_url, tenant_id=tenant) as memory:
        await memory.remember_many(_memories())
        lines = await memory.admin.export_lines()

    def exported(name: str) -> list[str]:
        with SyncClient(server_url, tenant_id=name) as client:
            return client.admin.export_lines()

    assert await asyncio.to_thread(exported, tenant) == lines
    assert await asyncio.to_thread(exported, f"{tenant}-empty") == []


class _Body:
    """A transport whose server answers with one body."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def send(self, call: Any) -> Answer:
        del call
        return Answer(200, {}, self._body)


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1), max_size=8))
def test_lines_end_at_newlines_alone(lines: list[str]) -> None:
    body = "".join(f"{line}\n" for line in lines).encode()
    admin = HttpAdmin(_Body(body))  # pyright: ignore[reportArgumentType]
    assert asyncio.run(admin.export_lines()) == lines
