"""The graph: entities, typed edges between them, mentions in memories, and paths."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import AsOf, Cursor, Id, Limit, Metadata, Page, Text, UtcTime, Wire
from keeps_client.models.memories import Visibility
from keeps_client.models.names import Name

Direction = Literal["outgoing", "incoming", "both"]
Found = Literal["user", "text", "llm"]
EntityName = Annotated[Text, StringConstraints(min_length=1, max_length=255, pattern=r"\S")]
Weight = Annotated[float, Field(allow_inf_nan=False)]
Depth = Annotated[int, Field(ge=1, le=10)]


class Entity(Wire):
    """A node with a name. `source`: its creator; `merged_into`: the entity that it was merged into."""

    entity_id: UUID
    tenant_id: str
    user_id: str
    name: str
    entity_type: str
    aliases: tuple[str, ...]
    properties: dict[str, JsonValue]
    visibility: Visibility
    source: Found
    merged_into: UUID | None = None
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class NewEntity(Wire):
    """An entity to store. An entity of the same type and name, or with the name as an alias, is updated instead."""

    name: EntityName
    entity_type: Name = "custom"
    properties: Metadata = Field(default_factory=dict[str, JsonValue])
    aliases: Annotated[tuple[EntityName, ...], Field(fail_fast=True, max_length=50)] = ()
    visibility: Visibility = "private"
    entity_id: UUID | None = None


class Relation(Wire):
    """A directed edge, true from `valid_from` until `valid_to`. `memory_id` and `event_id` say where it comes from."""

    relation_id: UUID
    tenant_id: str
    user_id: str
    source_id: UUID
    target_id: UUID
    relation_type: str
    properties: dict[str, JsonValue]
    weight: float
    visibility: Visibility
    valid_from: datetime
    valid_to: datetime | None = None
    memory_id: UUID | None = None
    event_id: UUID
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class NewRelation(Wire):
    """An edge to store. `source` and `target` are ids, or names of existing entities.

    The same edge with other properties ends the previous one; with `exclusive` all other edges of this type from the
    same source end, too, as when somebody changes jobs.
    """

    source: EntityName | UUID
    target: EntityName | UUID
    relation_type: Name
    properties: Metadata = Field(default_factory=dict[str, JsonValue])
    weight: Weight = 1.0
    visibility: Visibility = "private"
    valid_from: UtcTime | None = None
    valid_to: UtcTime | None = None
    memory_id: UUID | None = None
    exclusive: bool = False


class Mention(Wire):
    """A mention of an entity in a memory; `rejected`: a user rejected it."""

    memory_id: UUID
    entity_id: UUID
    user_id: str
    source: Found
    rejected: bool = False
    created_at: datetime
    updated_at: datetime


class NewMention(Wire):
    """A memory and an entity."""

    memory_id: UUID
    entity_id: UUID


class Merge(Wire):
    """The entity to merge into the first."""

    merged_id: UUID


class TraverseRequest(Wire):
    """A start and a way to continue: within `depth` steps, or along a pattern.

    A pattern names types of entities and relations in turn, `*` for any and `a|b` for several:
    `person -works_at-> org <-works_at- person`.
    """

    start: EntityName | UUID
    path_pattern: Annotated[Text, StringConstraints(min_length=1, max_length=2_000)] | None = None
    depth: Depth = 2
    direction: Direction = "outgoing"
    relation_types: Annotated[tuple[Name, ...], Field(fail_fast=True, min_length=1, max_length=50)] | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100


class PathRequest(Wire):
    """The two entities to find the shortest path between."""

    source: EntityName | UUID
    target: EntityName | UUID
    max_depth: Depth = 6
    direction: Direction = "both"
    relation_types: Annotated[tuple[Name, ...], Field(fail_fast=True, min_length=1, max_length=50)] | None = None


class Traversal(Wire):
    """The entities and relations that were reached.

    `entities` nearest first, with their `depths`; `relations` between them; `paths` as lists of entities, for a pattern
    or a shortest path. `truncated`: there are more than the limit.
    """

    entities: list[Entity]
    depths: list[int]
    relations: list[Relation]
    paths: list[list[UUID]] = Field(default_factory=list[list[UUID]])
    truncated: bool = False


class Reading(Wire):
    """The result of reading memories for entities. `pending`: memories that are still to be read."""

    memories: int
    entities: int
    mentions: int
    pending: int


EntityKind = Annotated[Text | None, Field(min_length=1, max_length=100)]


class EntityId(Wire):
    entity_id: UUID


class EntityAt(Wire):
    entity_id: UUID
    as_of: AsOf = None


class EntityQuery(Wire):
    name: Annotated[Id | None, Field(description="A name or alias")] = None
    entity_type: EntityKind = None
    limit: Limit = 50
    cursor: Cursor = None


class DeletedEntity(Wire):
    entity_id: UUID
    hard: bool = False


class RelationQuery(Wire):
    entity_id: Id
    direction: Direction = "both"
    relation_type: EntityKind = None
    as_of: AsOf = None


class DeletedRelation(Wire):
    relation_id: UUID
    hard: bool = False


class MentionQuery(Wire):
    entity_id: UUID | None = None
    memory_id: UUID | None = None
    limit: Limit = 50


class MentionPair(Wire):
    memory_id: UUID
    entity_id: UUID


class ReadAgain(Wire):
    again: bool = False


ADD_ENTITY = Endpoint(
    "add_entity",
    "POST",
    "/v1/graph/entities",
    "writer",
    "graph",
    Entity,
    "Store an entity: 201 if it is new, 200 if one of its type and name existed.",
    body=NewEntity,
    status=201,
    created=lambda answer: answer.version == 1,
)
LIST_ENTITIES = Endpoint(
    "list_entities",
    "GET",
    "/v1/graph/entities",
    "reader",
    "graph",
    Page[Entity],
    "List entities, newest first.",
    params=EntityQuery,
)
GET_ENTITY = Endpoint(
    "get_entity",
    "GET",
    "/v1/graph/entities/{entity_id}",
    "reader",
    "graph",
    Entity,
    "Return one entity, even if it was merged into another.",
    params=EntityAt,
)
DELETE_ENTITY = Endpoint(
    "delete_entity",
    "DELETE",
    "/v1/graph/entities/{entity_id}",
    "writer",
    "graph",
    Entity,
    "Delete an entity with its edges; with `hard`, permanently, also from the log.",
    params=DeletedEntity,
)
GET_RELATIONS = Endpoint(
    "get_relations",
    "GET",
    "/v1/graph/entities/{entity_id}/relations",
    "reader",
    "graph",
    list[Relation],
    "List the edges of an entity, by its id or name, oldest first.",
    params=RelationQuery,
)
MERGE_ENTITIES = Endpoint(
    "merge_entities",
    "POST",
    "/v1/graph/entities/{entity_id}/merge",
    "writer",
    "graph",
    Entity,
    "Merge another entity into this one, with its names, edges and mentions.",
    params=EntityId,
    body=Merge,
)
UNMERGE_ENTITY = Endpoint(
    "unmerge_entity",
    "POST",
    "/v1/graph/entities/{entity_id}/unmerge",
    "writer",
    "graph",
    Entity,
    "Undo a merge: the merged entity is separate again.",
    params=EntityId,
)
ADD_RELATION = Endpoint(
    "add_relation",
    "POST",
    "/v1/graph/relations",
    "writer",
    "graph",
    Relation,
    "Store an edge. The same edge with other properties closes the previous one.",
    body=NewRelation,
    status=201,
)
DELETE_RELATION = Endpoint(
    "delete_relation",
    "DELETE",
    "/v1/graph/relations/{relation_id}",
    "writer",
    "graph",
    Relation,
    "Delete an edge; with `hard`, permanently, also from the log.",
    params=DeletedRelation,
)
TRAVERSE = Endpoint(
    "traverse",
    "POST",
    "/v1/graph/traverse",
    "reader",
    "graph",
    Traversal,
    "Return the entities reachable within some steps, or the paths that match a pattern.",
    body=TraverseRequest,
)
SHORTEST_PATH = Endpoint(
    "shortest_path",
    "POST",
    "/v1/graph/shortest-path",
    "reader",
    "graph",
    Traversal,
    "Return the path with the fewest edges between two entities.",
    body=PathRequest,
)
GET_MENTIONS = Endpoint(
    "get_mentions",
    "GET",
    "/v1/graph/mentions",
    "reader",
    "graph",
    list[Mention],
    "List the memories that mention an entity, or the entities that a memory mentions.",
    params=MentionQuery,
)
ADD_MENTION = Endpoint(
    "add_mention",
    "POST",
    "/v1/graph/mentions",
    "writer",
    "graph",
    Mention,
    "Record that a memory mentions an entity.",
    body=NewMention,
)
REMOVE_MENTION = Endpoint(
    "remove_mention",
    "DELETE",
    "/v1/graph/mentions",
    "writer",
    "graph",
    Mention,
    "Record that a memory does not mention an entity.",
    params=MentionPair,
)
READ_ENTITIES = Endpoint(
    "read_entities",
    "POST",
    "/v1/graph/read",
    "writer",
    "graph",
    Reading,
    "Extract entities from your unread memories by rules; with `again`, from all memories.",
    params=ReadAgain,
)
