"""The part of entities and their relations."""

from __future__ import annotations

from uuid import UUID

from keeps.memory.graph.export import EXPORTS
from keeps.memory.graph.reading import Reader
from keeps.memory.graph.service import GraphService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import NewMention
from keeps_client.models import graph as api


def make(core: Core) -> None:
    core.add(GraphService(core.database, core.introducer, core.clock))
    core.add(Reader(core.database, core.introducer, core.chat_for("graph"), core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service, reader = core.get(GraphService), core.get(Reader)
    return (
        serves(api.ADD_ENTITY, lambda s, _, b: service.add_entity(s, b)),
        serves(api.GET_ENTITY, lambda s, p, _: service.get_entity(s, p.entity_id, as_of=p.as_of)),
        serves(
            api.LIST_ENTITIES,
            lambda s, p, _: service.page(s, name=p.name, entity_type=p.entity_type, limit=p.limit, cursor=p.cursor),
        ),
        serves(api.DELETE_ENTITY, lambda s, p, _: service.delete_entity(s, p.entity_id, hard=p.hard)),
        serves(api.MERGE_ENTITIES, lambda s, p, b: service.merge(s, p.entity_id, b.merged_id)),
        serves(api.UNMERGE_ENTITY, lambda s, p, _: service.unmerge(s, p.entity_id)),
        serves(api.ADD_RELATION, lambda s, _, b: service.add_relation(s, b)),
        serves(
            api.GET_RELATIONS,
            lambda s, p, _: service.relations_of(
                s, _id_or_name(p.entity_id), direction=p.direction, relation_type=p.relation_type, as_of=p.as_of
            ),
        ),
        serves(api.DELETE_RELATION, lambda s, p, _: service.delete_relation(s, p.relation_id, hard=p.hard)),
        serves(api.TRAVERSE, lambda s, _, b: service.traverse(s, b)),
        serves(api.SHORTEST_PATH, lambda s, _, b: service.shortest_path(s, b)),
        serves(
            api.GET_MENTIONS,
            lambda s, p, _: service.mentions(s, entity_id=p.entity_id, memory_id=p.memory_id, limit=p.limit),
        ),
        serves(api.ADD_MENTION, lambda s, _, b: service.set_mention(s, b, rejected=False)),
        serves(
            api.REMOVE_MENTION,
            lambda s, p, _: service.set_mention(
                s, NewMention(memory_id=p.memory_id, entity_id=p.entity_id), rejected=True
            ),
        ),
        serves(api.READ_ENTITIES, lambda s, p, _: reader.read(s, again=p.again)),
    )


def _id_or_name(text: str) -> UUID | str:
    try:
        return UUID(text)
    except ValueError:
        return text


PART = Part("graph", make, endpoints, exports=EXPORTS)
