"""Graph: the neighbourhood of one entity, never the whole; edges as they were true at a time."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.drawing import HEIGHT, WIDTH, draw
from keeps.doors.console.mount import Call
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.models import Memory

PAGE, REACHED, MENTIONS = 50, 60, 30


async def entities(call: Call) -> Response:
    name, start, end = call.asked("name"), call.asked("from"), call.asked("to")
    page = await call.memory.list_entities(name=name or None, limit=PAGE, cursor=call.asked("cursor") or None)
    path = await call.memory.shortest_path(start, end) if start and end else None
    return call.page("graph.html", items=page.items, more=call.more(page.next_cursor), path=path)


async def entity(call: Call) -> Response:
    entity_id = call.given("entity_id")
    as_of = call.moment("as_of")
    depth = 1 if call.asked("depth") == "1" else 2
    middle = await call.memory.get_entity(entity_id, as_of=as_of)
    relations = await call.memory.get_relations(middle.entity_id, as_of=as_of)
    around = await call.memory.traverse(middle.entity_id, depth=depth, direction="both", limit=REACHED)
    entities = {item.entity_id: item for item in [middle, *around.entities]}
    picture = draw(middle, entities, {each.relation_id: each for each in [*relations, *around.relations]}.values())
    memories: list[Memory] = []
    for mention in await call.memory.get_mentions(entity_id=middle.entity_id, limit=MENTIONS):
        try:
            memories.append(await call.memory.get(mention.memory_id))
        except KeepsError:
            continue
    return call.page(
        "entity.html",
        entity=middle,
        relations=relations,
        known=entities,
        picture=picture,
        depth=depth,
        memories=memories,
        cut=around.truncated or picture.left_out > 0,
        size=(WIDTH, HEIGHT),
    )


async def merge(call: Call) -> Response:
    form = await call.form()
    named = str(form.get("other", "")).strip()
    others = (await call.memory.list_entities(name=named, limit=3)).items if named else []
    others = [each for each in others if each.entity_id != call.given("entity_id")]
    if len(others) > 1:
        raise ValidationFailedError("several entities have this name: enter the id")
    found = await call.memory.merge_entities(call.given("entity_id"), others[0].entity_id if others else named)
    return call.go(f"/ui/graph/{found.entity_id}", "merged")


async def unmerge(call: Call) -> Response:
    found = await call.memory.unmerge_entity(call.given("entity_id"))
    return call.go(f"/ui/graph/{found.entity_id}", "unmerged")


PAGES = {
    "GET /ui/graph": entities,
    "GET /ui/graph/{entity_id:uuid}": entity,
    "POST /ui/graph/{entity_id:uuid}/merge": merge,
    "POST /ui/graph/{entity_id:uuid}/unmerge": unmerge,
}
