"""graph: entities, edges, and paths between them."""

from __future__ import annotations

import itertools
import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Column, Table

from keeps.cli.context import Json, Target, err, in_process, out, print_json, run, targeted
from keeps.graph.reading import Reader
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import Entity, Traversal

if TYPE_CHECKING:
    from keeps_client import Memory


graph_app = typer.Typer(help="The graph: entities, edges, and the ways between them.", no_args_is_help=True)
Named = Annotated[str, typer.Argument(help="A name, an alias or an id.")]
Types = Annotated[list[str] | None, typer.Option("--relation", help="Only edges of this type; repeat for more.")]
Hard = Annotated[bool, typer.Option(help="For good, also from the log.")]


def register(app: typer.Typer) -> None:
    for command in (add, link, show, traverse, path, merge, unmerge, delete, read, mentions):
        graph_app.command()(targeted(command))
    graph_app.command("list")(targeted(list_entities))
    app.add_typer(graph_app, name="graph")


def add(
    name: Annotated[str, typer.Argument(help="The entity's name.")],
    kind: Annotated[str, typer.Option("--type", help="Such as person, org, city.")] = "custom",
    alias: Annotated[list[str] | None, typer.Option(help="Another name; repeat for more.")] = None,
    properties: Annotated[str | None, typer.Option(help="A JSON object.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Store an entity, or update the one of this type and name."""

    async def work() -> None:
        async with target.memory() as memory:
            made = await memory.add_entity(
                name, entity_type=kind, aliases=tuple(alias or ()), properties=_object(properties)
            )
        _print_entity(made, as_json=as_json)

    run(work)


def link(
    source: Named,
    relation: Annotated[str, typer.Argument(help="The type of the edge, such as works_at.")],
    to: Named,
    properties: Annotated[str | None, typer.Option(help="A JSON object.")] = None,
    exclusive: Annotated[bool, typer.Option(help="Ends the source's other edges of this type.")] = False,
    valid_from: Annotated[datetime | None, typer.Option(help="True since (UTC).")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Store an edge between two existing entities: keeps graph link Alice works_at Acme"""

    async def work() -> None:
        async with target.memory() as memory:
            made = await memory.add_relation(
                source, to, relation, properties=_object(properties), exclusive=exclusive, valid_from=valid_from
            )
        if as_json:
            print_json(made.model_dump(mode="json"))
        else:
            out.print(f"{escape(source)} [dim]─{escape(relation)}→[/] {escape(to)}  [dim]{made.relation_id}[/]")

    run(work)


def list_entities(
    name: Annotated[str | None, typer.Option(help="Only with this name or alias.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 200.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List entities, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            page = await memory.list_entities(name=name, entity_type=kind, limit=limit, cursor=cursor)
        if as_json:
            print_json(page.model_dump(mode="json"))
            return
        if not page.items:
            out.print(
                "No entities. [dim]`keeps graph add Alice --type person` adds one; `keeps graph read` finds them in"
                " memories.[/]"
            )
            return
        table = Table(Column("id", no_wrap=True), "type", "name", "also", box=None, header_style="dim")
        for each in page.items:
            table.add_row(str(each.entity_id), each.entity_type, escape(each.name), escape(", ".join(each.aliases)))
        out.print(table)
        if page.next_cursor:
            err.print(f"[dim]more: --cursor {page.next_cursor}[/]", soft_wrap=True)

    run(work)


def show(
    entity: Named,
    as_of: Annotated[datetime | None, typer.Option(help="As it was known then (UTC).")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show one entity with its edges."""

    async def work() -> None:
        async with target.memory() as memory:
            subject = await _entity(memory, entity)
            edges = await memory.get_relations(subject.entity_id, as_of=as_of)
            others: dict[UUID, str] = {subject.entity_id: subject.name}
            for item in {end for edge in edges for end in (edge.source_id, edge.target_id)} - set(others):
                others[item] = (await memory.get_entity(item)).name
        if as_json:
            print_json(
                {
                    "entity": subject.model_dump(mode="json"),
                    "relations": [item.model_dump(mode="json") for item in edges],
                }
            )
            return
        _print_entity(subject, as_json=False)
        for edge in edges:
            out.print(
                f"  {escape(others[edge.source_id])} [dim]─{escape(edge.relation_type)}→[/]"
                f" {escape(others[edge.target_id])}  [dim]since {edge.valid_from:%Y-%m-%d}[/]"
            )
        if not edges:
            out.print("  [dim]no edges[/]")

    run(work)


def traverse(
    start: Named,
    pattern: Annotated[str | None, typer.Option(help="Such as 'person -works_at-> org <-works_at- person'.")] = None,
    depth: Annotated[int, typer.Option(help="How many steps, 1 to 10.")] = 2,
    direction: Annotated[str, typer.Option(help="outgoing, incoming or both.")] = "outgoing",
    relation: Types = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many entities or paths, 1 to 10,000.")] = 100,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show what can be reached from an entity, nearest first; or paths along a pattern."""
    wanted: Any = direction

    async def work() -> None:
        async with target.memory() as memory:
            found = await memory.traverse(
                start, path_pattern=pattern, depth=depth, direction=wanted, relation_types=relation, limit=limit
            )
        _print_traversal(found, as_json=as_json, by_path=pattern is not None)

    run(work)


def path(
    source: Named,
    to: Named,
    max_depth: Annotated[int, typer.Option(help="At most so many steps, 1 to 10.")] = 6,
    relation: Types = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show the shortest path between two entities."""

    async def work() -> None:
        async with target.memory() as memory:
            found = await memory.shortest_path(source, to, max_depth=max_depth, relation_types=relation)
        _print_traversal(found, as_json=as_json, by_path=True)

    run(work)


def merge(
    entity: Named,
    merged: Annotated[str, typer.Argument(help="The one that it takes in: name, alias or id.")],
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Merge two entities that are the same: the first takes over the second. `unmerge` undoes it."""

    async def work() -> None:
        async with target.memory() as memory:
            one, other = await _entity(memory, entity), await _entity(memory, merged)
            kept = await memory.merge_entities(one.entity_id, other.entity_id)
        if not as_json:
            err.print(f"[dim]undo: keeps graph unmerge {other.entity_id}[/]", soft_wrap=True)
        _print_entity(kept, as_json=as_json)

    run(work)


def unmerge(
    entity_id: Annotated[str, typer.Argument(help="The id of the entity that was taken in.")],
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Undo a merge: the entity that was taken over is separate again."""

    async def work() -> None:
        async with target.memory() as memory:
            _print_entity(await memory.unmerge_entity(entity_id), as_json=as_json)

    run(work)


def delete(entity: Named, hard: Hard = False, *, target: Target, as_json: Json = False) -> None:
    """Delete an entity with its edges. One found in text does not come back."""

    async def work() -> None:
        async with target.memory() as memory:
            gone = await memory.delete_entity((await _entity(memory, entity)).entity_id, hard=hard)
        if as_json:
            print_json(gone.model_dump(mode="json"))
        else:
            out.print(f"{escape(gone.name)} is deleted" + (" for good" if hard else ""))

    run(work)


def read(
    again: Annotated[bool, typer.Option(help="Read everything anew.")] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Find entities in memories that were not read yet, by rules, without an LLM."""

    async def work() -> None:
        async with target.memory() as memory:
            if in_process(memory):
                from rich.progress import Progress

                with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
                    task = bar.add_task("reading memories", total=None)
                    reading = await memory.keeps.service(Reader).read(
                        target.scope, again=again, progress=lambda done: bar.advance(task, done)
                    )
            else:
                reading = await memory.read_entities(again=again)
        if as_json:
            print_json(reading.model_dump(mode="json"))
        else:
            out.print(
                f"{reading.memories:,} memories read: {reading.entities:,} new entities, {reading.mentions:,} mentions"
            )

    run(work)


def mentions(
    entity: Named,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 200.")] = 20,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List the memories that mention an entity, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            found = await memory.get_mentions(entity_id=(await _entity(memory, entity)).entity_id, limit=limit)
            memories = [await memory.get(item.memory_id) for item in found if not item.rejected]
        if as_json:
            print_json([item.model_dump(mode="json") for item in found])
            return
        if not memories:
            out.print("No memory speaks of it. [dim]`keeps graph read` reads those that are new.[/]")
        for item in memories:
            out.print(f"  {item.valid_from:%Y-%m-%d}  {escape(item.content[:120])}  [dim]{item.memory_id}[/]")

    run(work)


async def _entity(memory: Memory, wanted: str) -> Entity:
    try:
        return await memory.get_entity(UUID(wanted))
    except ValueError:
        entities = (await memory.list_entities(name=wanted, limit=2)).items
    if not entities:
        raise NotFoundError(f"no entity is named {wanted!r}; `keeps graph list` shows what there is")
    if len(entities) > 1:
        raise ValidationFailedError(
            f"several entities are named {wanted!r}; say which by its id: "
            + ", ".join(f"{each.entity_id} ({each.entity_type})" for each in entities)
        )
    return entities[0]


def _object(text: str | None) -> dict[str, JsonValue] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValidationFailedError('--properties must be a JSON object, such as {"role": "cook"}')
    return value


def _print_entity(entity: Entity, *, as_json: bool) -> None:
    if as_json:
        print_json(entity.model_dump(mode="json"))
        return
    also = f" [dim]also {escape(', '.join(entity.aliases))}[/]" if entity.aliases else ""
    known = f" [dim]{escape(json.dumps(entity.properties, ensure_ascii=False))}[/]" if entity.properties else ""
    out.print(f"[bold]{escape(entity.name)}[/] ({entity.entity_type}){also}{known}  [dim]{entity.entity_id}[/]")


def _print_traversal(found: Traversal, *, as_json: bool, by_path: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    names = {item.entity_id: item.name for item in found.entities}
    kinds = {(item.source_id, item.target_id): item.relation_type for item in found.relations}
    if by_path:
        for item in found.paths:
            shown = escape(names[item[0]])
            for here, there in itertools.pairwise(item):
                forward, back = kinds.get((here, there)), kinds.get((there, here))
                arrow = f"─{forward}→" if forward else f"←{back}─"
                shown += f" [dim]{escape(arrow)}[/] {escape(names[there])}"
            out.print(f"  {shown}")
        if not found.paths:
            out.print("No such path.")
    else:
        for entity, depth in zip(found.entities, found.depths, strict=True):
            out.print(f"  {'  ' * depth}{escape(entity.name)} [dim]({entity.entity_type})[/]")
    if found.truncated:
        err.print("[dim]there is more: raise --limit[/]")
