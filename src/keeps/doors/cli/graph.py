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

from keeps.doors.cli.command import Answer, command, group, json_object, lines, more, table
from keeps.doors.cli.context import Target, err, in_process
from keeps.doors.cli.parsers import time_option
from keeps.memory.graph.reading import Reader
from keeps_client.errors import NotFoundError, ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Entity, Traversal

app = typer.Typer()
graph = group()
app.add_typer(graph, name="graph")
EntityName = Annotated[str, typer.Argument(help="A name, an alias or an id.")]
Types = Annotated[list[str] | None, typer.Option("--relation", help="Only edges of this type; repeat for several.")]
Hard = Annotated[bool, typer.Option(help="Delete for good, also from the log.")]
Properties = Annotated[
    dict[str, JsonValue] | None, typer.Option(help="A JSON object.", parser=json_object, metavar="JSON")
]


@command(graph, may_make=True)
async def add(
    memory: Memory,
    name: Annotated[str, typer.Argument(help="The entity's name.")],
    kind: Annotated[str, typer.Option("--type", help="Type, such as person, org or city.")] = "custom",
    alias: Annotated[list[str] | None, typer.Option(help="Another name; repeat for several.")] = None,
    properties: Properties = None,
) -> Answer:
    """Store an entity, or update the one of this type and name."""
    entity = await memory.add_entity(name, entity_type=kind, aliases=tuple(alias or ()), properties=properties)
    return Answer(entity, _entity_line(entity))


@command(graph, may_make=True)
async def link(
    memory: Memory,
    source: EntityName,
    relation: Annotated[str, typer.Argument(help="The type of the edge, such as works_at.")],
    to: EntityName,
    properties: Properties = None,
    exclusive: Annotated[bool, typer.Option(help="Close the source's other edges of this type.")] = False,
    valid_from: Annotated[datetime | None, time_option("Time from which it is true.")] = None,
) -> Answer:
    """Store an edge between two existing entities: keeps graph link Alice works_at Acme"""
    edge = await memory.add_relation(
        source, to, relation, properties=properties, exclusive=exclusive, valid_from=valid_from
    )
    return Answer(edge, f"{escape(source)} [dim]─{escape(relation)}→[/] {escape(to)}  [dim]{edge.relation_id}[/]")


@command(graph, "list")
async def list_entities(
    memory: Memory,
    name: Annotated[str | None, typer.Option(help="Only entities with this name or alias.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only entities of this type.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 200.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Cursor that the previous page printed.")] = None,
) -> Answer:
    """List entities, newest first."""
    page = await memory.list_entities(name=name, entity_type=kind, limit=limit, cursor=cursor)
    hint = "`keeps graph add Alice --type person` adds one; `keeps graph read` extracts them from memories."
    return table(
        page.items,
        ["id", "type", "name", "also"],
        lambda entity: (entity.entity_id, entity.entity_type, entity.name, ", ".join(entity.aliases)),
        empty=f"No entities. [dim]{hint}[/]",
        value=page,
        note=more(page.next_cursor),
    )


@command(graph)
async def show(
    memory: Memory,
    entity: EntityName,
    as_of: Annotated[datetime | None, time_option("State at that time.")] = None,
) -> Answer:
    """Show one entity with its edges."""
    subject = await _entity(memory, entity)
    edges = await memory.get_relations(subject.entity_id, as_of=as_of)
    names: dict[UUID, str] = {subject.entity_id: subject.name}
    for entity_id in {end for edge in edges for end in (edge.source_id, edge.target_id)} - set(names):
        names[entity_id] = (await memory.get_entity(entity_id)).name
    edge_lines = [
        f"  {escape(names[edge.source_id])} [dim]─{escape(edge.relation_type)}→[/] {escape(names[edge.target_id])}"
        f"  [dim]since {edge.valid_from:%Y-%m-%d}[/]"
        for edge in edges
    ]
    text = "\n".join([_entity_line(subject), *(edge_lines or ["  [dim]no edges[/]"])])
    return Answer({"entity": subject, "relations": edges}, text)


@command(graph)
async def traverse(
    memory: Memory,
    start: EntityName,
    pattern: Annotated[
        str | None, typer.Option(help="Pattern, such as 'person -works_at-> org <-works_at- person'.")
    ] = None,
    depth: Annotated[int, typer.Option(help="Number of steps, 1 to 10.")] = 2,
    direction: Annotated[str, typer.Option(help="outgoing, incoming or both.")] = "outgoing",
    relation: Types = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Maximum number of entities or paths, 1 to 10,000.")
    ] = 100,
) -> Answer:
    """List the entities reachable from an entity, nearest first, or the paths that match a pattern."""
    any_direction: Any = direction
    traversal = await memory.traverse(
        start, path_pattern=pattern, depth=depth, direction=any_direction, relation_types=relation, limit=limit
    )
    if pattern is not None:
        return _paths(traversal)
    reached = zip(traversal.entities, traversal.depths, strict=True)
    return lines(
        reached,
        lambda each: f"  {'  ' * each[1]}{escape(each[0].name)} [dim]({each[0].entity_type})[/]",
        value=traversal,
        note=_rest(traversal),
    )


@command(graph)
async def path(
    memory: Memory,
    source: EntityName,
    to: EntityName,
    max_depth: Annotated[int, typer.Option(help="Maximum number of steps, 1 to 10.")] = 6,
    relation: Types = None,
) -> Answer:
    """Show the shortest path between two entities."""
    return _paths(await memory.shortest_path(source, to, max_depth=max_depth, relation_types=relation))


@command(graph)
async def merge(
    memory: Memory,
    entity: EntityName,
    merged: Annotated[str, typer.Argument(help="Entity to merge into the first: name, alias or id.")],
) -> Answer:
    """Merge two entities that are the same: the second becomes part of the first. `unmerge` undoes it."""
    one, other = await _entity(memory, entity), await _entity(memory, merged)
    result = await memory.merge_entities(one.entity_id, other.entity_id)
    return Answer(result, _entity_line(result), f"undo: keeps graph unmerge {other.entity_id}")


@command(graph)
async def unmerge(memory: Memory, entity_id: Annotated[str, typer.Argument(help="Id of the merged entity.")]) -> Answer:
    """Undo a merge: the merged entity is separate again."""
    entity = await memory.unmerge_entity(entity_id)
    return Answer(entity, _entity_line(entity))


@command(graph)
async def delete(memory: Memory, entity: EntityName, hard: Hard = False) -> Answer:
    """Delete an entity with its edges. Reading memories again does not bring it back."""
    deleted = await memory.delete_entity((await _entity(memory, entity)).entity_id, hard=hard)
    return Answer(deleted, f"{escape(deleted.name)} is deleted" + (" for good" if hard else ""))


@command(graph, shared=False)
async def read(
    memory: Memory, target: Target, again: Annotated[bool, typer.Option(help="Read all memories again.")] = False
) -> Answer:
    """Extract entities from new memories, by rules or by the LLM if one is configured."""
    if in_process(memory):
        from rich.progress import Progress

        with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
            task = bar.add_task("reading memories", total=None)
            result = await memory.keeps.service(Reader).read(
                target.scope, again=again, progress=lambda done: bar.advance(task, done)
            )
    else:
        result = await memory.read_entities(again=again)
    return Answer(
        result, f"{result.memories:,} memories read: {result.entities:,} new entities, {result.mentions:,} mentions"
    )


@command(graph)
async def mentions(
    memory: Memory,
    entity: EntityName,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 200.")] = 20,
) -> Answer:
    """List the memories that mention an entity, newest first."""
    found_mentions = await memory.get_mentions(entity_id=(await _entity(memory, entity)).entity_id, limit=limit)
    memories = [await memory.get(item.memory_id) for item in found_mentions if not item.rejected]
    return lines(
        memories,
        lambda item: f"  {item.valid_from:%Y-%m-%d}  {escape(item.content[:120])}  [dim]{item.memory_id}[/]",
        empty="No memory mentions it. [dim]`keeps graph read` reads new memories.[/]",
        value=found_mentions,
    )


async def _entity(memory: Memory, name: str) -> Entity:
    try:
        return await memory.get_entity(UUID(name))
    except ValueError:
        entities = (await memory.list_entities(name=name, limit=2)).items
    if not entities:
        raise NotFoundError(f"no entity is named {name!r}; `keeps graph list` lists the entities")
    if len(entities) > 1:
        raise ValidationFailedError(
            f"several entities are named {name!r}; choose one by id: "
            + ", ".join(f"{each.entity_id} ({each.entity_type})" for each in entities)
        )
    return entities[0]


def _entity_line(entity: Entity) -> str:
    also = f" [dim]also {escape(', '.join(entity.aliases))}[/]" if entity.aliases else ""
    known = f" [dim]{escape(json.dumps(entity.properties, ensure_ascii=False))}[/]" if entity.properties else ""
    return f"[bold]{escape(entity.name)}[/] ({entity.entity_type}){also}{known}  [dim]{entity.entity_id}[/]"


def _paths(traversal: Traversal) -> Answer:
    names = {item.entity_id: item.name for item in traversal.entities}
    types = {(item.source_id, item.target_id): item.relation_type for item in traversal.relations}

    def line(path: list[UUID]) -> str:
        shown = escape(names[path[0]])
        for here, there in itertools.pairwise(path):
            forward, back = types.get((here, there)), types.get((there, here))
            arrow = f"─{forward}→" if forward else f"←{back}─"
            shown += f" [dim]{escape(arrow)}[/] {escape(names[there])}"
        return f"  {shown}"

    return lines(traversal.paths, line, empty="No such path.", value=traversal, note=_rest(traversal))


def _rest(traversal: Traversal) -> str:
    return "there are more: raise --limit" if traversal.truncated else ""
