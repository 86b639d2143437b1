"""scan: finds credentials in stored memories."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from keeps.base.text.credentials import REMOVED, without_credentials
from keeps.doors.cli.command import Answer, command
from keeps.doors.cli.context import Target, err, out
from keeps.doors.cli.counts import counted

if TYPE_CHECKING:
    from keeps_client.models import Memory

app = typer.Typer()
PAGE = 200
SHOWN_CHARACTERS = 60
"""Characters around a credential that are shown."""


@command(app)
async def scan(target: Target) -> Answer:
    """Find keys, tokens and passwords in a user's memories.

    It prints the ids and the text around each credential, but not the credential. It changes nothing: `keeps forget ID
    --hard` deletes a memory with its earlier versions.
    """
    findings: list[dict[str, Any]] = []
    count, cursor = 0, None
    async with target.memory() as memory:
        while True:
            page = await memory.list(limit=PAGE, cursor=cursor)
            count += len(page.items)
            findings += await asyncio.to_thread(_findings, page.items)
            if (cursor := page.next_cursor) is None:
                break

    def text() -> None:
        for finding in findings:
            out.print(f"{finding['memory_id']}  {escape(finding['text'])}")
        err.print(f"[dim]{counted(len(findings), 'memory')} with credentials, of {count:,}[/]")
        if findings:
            err.print("Delete one with `keeps forget ID --hard`, and replace the credential: it was stored as text.")

    return Answer({"scanned": count, "findings": findings}, text)


def _findings(memories: list[Memory] | tuple[Memory, ...]) -> list[dict[str, Any]]:
    """Return the memories with a credential, with the text around the first one."""
    findings: list[dict[str, Any]] = []
    for memory in memories:
        plain = without_credentials(memory.content)
        if plain != memory.content:
            place = max(plain.find(REMOVED), 0)
            around = plain[max(0, place - SHOWN_CHARACTERS) : place + len(REMOVED) + SHOWN_CHARACTERS]
            findings.append(
                {"memory_id": str(memory.memory_id), "namespace": memory.namespace, "text": " ".join(around.split())}
            )
    return findings
