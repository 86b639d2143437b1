"""providers: list them, work with their entries, and check them against the contract."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, cast

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Column, Table

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps.providers.contract import MemoryProvider
from keeps.providers.service import ProviderService
from keeps.transfer.erasure import TenantService
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.models import Entry

providers_app = typer.Typer(help="Memory providers: list, read and write, rebuild, check.", no_args_is_help=True)
ProviderId = Annotated[str, typer.Argument(help="The name that `keeps providers list` prints.")]
Key = Annotated[str, typer.Argument(help="The entry's key.")]
SessionId = Annotated[
    str | None, typer.Option("--session", "-s", help="Whose scratchpad, with the provider `working`.")
]


def register(app: typer.Typer) -> None:
    for command in (put, read, delete, rebuild, append, check):
        providers_app.command()(targeted(command))
    providers_app.command("list")(targeted(list_providers))
    app.add_typer(providers_app, name="providers")


def list_providers(*, target: Target, as_json: Json = False) -> None:
    """List every provider, with its features and whether it answers."""

    async def work() -> None:
        async with target.memory() as memory:
            providers = await memory.list_providers()
        if as_json:
            print_json([provider.model_dump(mode="json") for provider in providers])
            return
        table = Table("provider", "tier", "from", "search", "graph", "writes", "state", box=None, header_style="dim")
        for provider in providers:
            table.add_row(
                provider.provider_id,
                provider.tier,
                "Keeps" if provider.builtin else "a package",
                "yes" if provider.supports_search else "no",
                "yes" if provider.supports_graph else "no",
                "no" if provider.read_only else "yes",
                provider.state,
            )
        out.print(table)
        for provider in providers:
            for what, why in provider.problems.items():
                err.print(f"{provider.provider_id}, {what}: {why}", markup=False, highlight=False, soft_wrap=True)

    run(work)


def put(
    provider_id: ProviderId,
    key: Key,
    value: Annotated[str, typer.Argument(help="What to store; - reads standard input.")],
    content_type: Annotated[str | None, typer.Option("--type", help="Such as profile, activity, event, fact.")] = None,
    value_is_json: Annotated[bool, typer.Option("--value-json", help="The value is JSON, not text.")] = False,
    session_id: SessionId = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Store an entry."""

    async def work() -> None:
        text = sys.stdin.read() if value == "-" else value
        stored: Any = _parsed(text) if value_is_json else text
        async with target.memory() as memory:
            made = await memory.write_entry(
                provider_id,
                key,
                stored,
                metadata={"content_type": content_type} if content_type else None,
                session_id=session_id,
            )
        _print_entry(made, as_json=as_json)

    run(work)


def read(
    provider_id: ProviderId, key: Key, session_id: SessionId = None, *, target: Target, as_json: Json = False
) -> None:
    """Show one entry."""

    async def work() -> None:
        async with target.memory() as memory:
            _print_entry(await memory.read_entry(provider_id, key, session_id=session_id), as_json=as_json)

    run(work)


def delete(
    provider_id: ProviderId, key: Key, session_id: SessionId = None, *, target: Target, as_json: Json = False
) -> None:
    """Remove an entry. `keeps forget` reaches all providers at once."""

    async def work() -> None:
        async with target.memory() as memory:
            gone = await memory.delete_entry(provider_id, key, session_id=session_id)
        if as_json:
            print_json(gone.model_dump(mode="json"))
        else:
            out.print(f"{escape(gone.key)} is deleted")

    run(work)


def rebuild(provider_id: ProviderId, *, target: Target, as_json: Json = False) -> None:
    """Have a provider rebuild its derived data for this user; reads continue meanwhile."""

    async def work() -> None:
        async with target.memory() as memory:
            with err.status(f"rebuilding {provider_id} …"):
                done = await memory.rebuild_provider(provider_id)
        if as_json:
            print_json(done.model_dump(mode="json"))
        else:
            out.print(f"{done.entries:,} entries of {done.provider_id} made anew")

    run(work)


def append(
    text: Annotated[str, typer.Argument(help="What to put into the Markdown memory; - reads standard input.")],
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Run a text through the Markdown pipeline: statements become entries of profile, event and activity, linked."""

    async def work() -> None:
        whole = sys.stdin.read() if text == "-" else text
        async with target.memory() as memory:
            made = await memory.append_markdown(whole)
        if as_json:
            print_json([entry.model_dump(mode="json") for entry in made])
            return
        for entry in made:
            links = cast("list[str]", entry.metadata.get("links") or [])
            linked = f"  [dim]→ {escape(', '.join(links))}[/]" if links else ""
            out.print(
                f"  {entry.metadata['content_type']!s:<9} [bold]{escape(entry.key)}[/]  "
                f"{escape(str(entry.value))}{linked}"
            )

    run(work)


def check(
    only: Annotated[list[str] | None, typer.Argument(help="Only these providers.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Run the conformance checks on the providers of this installation, in temporary tenants.

    Exit code 1 if one fails.
    """

    async def work() -> int:
        from keeps.providers.conformance import CHECKS, Subject
        from keeps.scope import Scope

        results: dict[str, dict[str, str]] = {}
        async with target.open() as keeps:
            service = keeps.service(ProviderService)
            tenants: set[str] = set()

            async def planted(scope: Scope, key: str, text: str) -> None:
                await (await service.provider(scope, "postgres")).write(key, text)

            for info in await service.infos(target.scope):
                name = info.provider_id
                if only and name not in only:
                    continue

                async def opened(scope: Scope, n: str = name) -> MemoryProvider:
                    tenants.add(scope.tenant_id)
                    return await service.provider(scope, n)

                subject = Subject(opened, planted if info.read_only else None)
                for check_name, run_check in CHECKS.items():
                    try:
                        with err.status(f"{name}: {check_name} …"):
                            await run_check(subject)
                        results.setdefault(name, {})[check_name] = "ok"
                    except (AssertionError, KeepsError) as error:
                        results.setdefault(name, {})[check_name] = str(error).split("\n")[0] or type(error).__name__
            for tenant_id in tenants:
                try:
                    await keeps.service(TenantService).erase_tenant(Scope(tenant_id))
                except KeepsError:
                    continue
            keeps.service(ProviderService).forget_folders(tenants)
        if as_json:
            print_json(results)
        else:
            table = Table(Column("check", no_wrap=True), *results, box=None, header_style="dim")
            for each in CHECKS:
                table.add_row(
                    each, *("ok" if outcome[each] == "ok" else "[red]fails[/]" for outcome in results.values())
                )
            out.print(table)
            for name, outcome in results.items():
                for check_name, why in outcome.items():
                    if why != "ok":
                        err.print(f"{name}, {check_name}: {why}", markup=False, highlight=False)
        return 0 if all(why == "ok" for outcome in results.values() for why in outcome.values()) else 1

    run(work)


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except ValueError:
        raise ValidationFailedError("the value is not JSON") from None


def _print_entry(entry: Entry, *, as_json: bool) -> None:
    if as_json:
        print_json(entry.model_dump(mode="json"))
        return
    shown = entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)
    out.print(f"[bold]{escape(entry.key)}[/]  {escape(shown)}  [dim]{entry.metadata.get('content_type', '')}[/]")
