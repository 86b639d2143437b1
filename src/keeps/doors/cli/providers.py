"""providers: list them, work with their entries, and check them against the contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Column, Table

from keeps.doors.cli.command import Answer, command, group, lines, or_stdin, table
from keeps.doors.cli.context import Target, err, out
from keeps.memory.providers.service import ProviderService
from keeps.memory.transfer.erasure import TenantService
from keeps_client.errors import KeepsError, ValidationFailedError

if TYPE_CHECKING:
    from keeps.base.scope import Scope
    from keeps.engine import Keeps
    from keeps.providers.contract import MemoryProvider
    from keeps_client import Memory
    from keeps_client.models import Entry

app = typer.Typer()
providers = group()
app.add_typer(providers, name="providers")
ProviderId = Annotated[str, typer.Argument(help="The name that `keeps providers list` prints.")]
Key = Annotated[str, typer.Argument(help="The entry's key.")]
SessionId = Annotated[
    str | None, typer.Option("--session", "-s", help="Session of the scratchpad, for the provider `working`.")
]


@command(providers, "list")
async def list_providers(memory: Memory) -> Answer:
    """List every provider, with its features and whether it answers."""
    infos = await memory.list_providers()
    problems = [f"{info.provider_id}, {what}: {escape(why)}" for info in infos for what, why in info.problems.items()]
    return table(
        infos,
        ["provider", "tier", "from", "search", "graph", "writes", "state"],
        lambda info: (
            info.provider_id,
            info.tier,
            "Keeps" if info.builtin else "a package",
            "yes" if info.supports_search else "no",
            "yes" if info.supports_graph else "no",
            "no" if info.read_only else "yes",
            info.state,
        ),
        note="\n".join(problems),
    )


@command(providers, may_make=True)
async def put(
    memory: Memory,
    provider_id: ProviderId,
    key: Key,
    value: Annotated[str, typer.Argument(help="Value to store; - reads standard input.", callback=or_stdin)],
    content_type: Annotated[
        str | None, typer.Option("--type", help="Content type, such as profile, activity, event or fact.")
    ] = None,
    value_is_json: Annotated[bool, typer.Option("--value-json", help="The value is JSON, not text.")] = False,
    session_id: SessionId = None,
) -> Answer:
    """Store an entry."""
    stored: Any = _parse(value) if value_is_json else value
    metadata: dict[str, JsonValue] | None = {"content_type": content_type} if content_type else None
    return _entry(await memory.write_entry(provider_id, key, stored, metadata=metadata, session_id=session_id))


@command(providers)
async def read(memory: Memory, provider_id: ProviderId, key: Key, session_id: SessionId = None) -> Answer:
    """Show one entry."""
    return _entry(await memory.read_entry(provider_id, key, session_id=session_id))


@command(providers)
async def delete(memory: Memory, provider_id: ProviderId, key: Key, session_id: SessionId = None) -> Answer:
    """Remove an entry. `keeps forget` reaches all providers at once."""
    deleted = await memory.delete_entry(provider_id, key, session_id=session_id)
    return Answer(deleted, f"{escape(deleted.key)} is deleted")


@command(providers)
async def rebuild(memory: Memory, provider_id: ProviderId) -> Answer:
    """Have a provider rebuild its derived data for this user; reads continue meanwhile."""
    with err.status(f"rebuilding {provider_id} …"):
        done = await memory.rebuild_provider(provider_id)
    return Answer(done, f"{done.entries:,} entries of {done.provider_id} rebuilt")


@command(providers)
async def append(
    memory: Memory,
    text: Annotated[str, typer.Argument(help="Text to add; - reads standard input.", callback=or_stdin)],
) -> Answer:
    """Run a text through the Markdown pipeline: statements become entries of profile, event and activity, linked."""

    def line(entry: Entry) -> str:
        links = cast("list[str]", entry.metadata.get("links") or [])
        linked = f"  [dim]→ {escape(', '.join(links))}[/]" if links else ""
        kind = str(entry.metadata["content_type"])
        return f"  {kind:<9} [bold]{escape(entry.key)}[/]  {escape(str(entry.value))}{linked}"

    return lines(await memory.append_markdown(text), line)


@command(providers)
async def check(
    target: Target, only: Annotated[list[str] | None, typer.Argument(help="Only these providers.")] = None
) -> Answer:
    """Run the conformance checks on the providers of this installation, in temporary tenants.

    Exit code 1 if one fails.
    """
    async with target.open() as keeps:
        results = await _conformance(keeps, target.scope, only)

    def text() -> None:
        shown = Table(Column("check", no_wrap=True), *results, box=None, header_style="dim")
        for name in next(iter(results.values()), {}):
            shown.add_row(name, *("ok" if each[name] == "ok" else "[red]fails[/]" for each in results.values()))
        out.print(shown, soft_wrap=False)
        for provider_id, outcome in results.items():
            for name, why in outcome.items():
                if why != "ok":
                    err.print(f"{provider_id}, {name}: {escape(why)}")

    failed = any(why != "ok" for outcome in results.values() for why in outcome.values())
    return Answer(results, text, failed=failed)


async def _conformance(keeps: Keeps, scope: Scope, only: list[str] | None) -> dict[str, dict[str, str]]:
    """Run every check on each provider; return `ok` or the problem, by provider and check."""
    from keeps.base.scope import Scope
    from keeps.providers.conformance import CHECKS, Subject

    service = keeps.service(ProviderService)
    tenants: set[str] = set()

    async def write(scope: Scope, key: str, text: str) -> None:
        await (await service.provider(scope, "postgres")).write(key, text)

    results: dict[str, dict[str, str]] = {}
    for info in await service.infos(scope):
        provider_id = info.provider_id
        if only and provider_id not in only:
            continue

        async def open_provider(scope: Scope, provider_id: str = provider_id) -> MemoryProvider:
            tenants.add(scope.tenant_id)
            return await service.provider(scope, provider_id)

        subject = Subject(open_provider, write if info.read_only else None)
        outcome = results[provider_id] = {}
        for name, run_check in CHECKS.items():
            try:
                with err.status(f"{provider_id}: {name} …"):
                    await run_check(subject)
                outcome[name] = "ok"
            except (AssertionError, KeepsError) as error:
                outcome[name] = str(error).split("\n")[0] or type(error).__name__
    for tenant_id in tenants:
        try:
            await keeps.service(TenantService).erase_tenant(Scope(tenant_id))
        except KeepsError:
            continue
    service.forget_folders(tenants)
    return results


def _parse(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except ValueError:
        raise ValidationFailedError("the value is not JSON") from None


def _entry(entry: Entry) -> Answer:
    shown = entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)
    kind = entry.metadata.get("content_type", "")
    return Answer(entry, f"[bold]{escape(entry.key)}[/]  {escape(shown)}  [dim]{kind}[/]")
