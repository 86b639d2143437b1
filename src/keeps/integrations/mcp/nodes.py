"""Nodes of the reference memory server's graph: entities by any spelling of their names, with observations and edges.

An observation is a separate memory, so that recall finds it and concurrent clients lose none.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from keeps.integrations.marks import marked
from keeps_client.checked import validated
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.memory.whole import Memory
from keeps_client.models import Entity, NewMemory, Relation
from keeps_client.models.common import MAX_BATCH_ITEMS, MAX_LIMIT, NAME_PATTERN
from keeps_client.models.graph import EntityName

NAMESPACE = "observations"
MAX_KIND_CHARACTERS = 255
SAME_NAME = 20
_DIGEST_SUFFIX = re.compile(r"\.[0-9a-f]{12}$")


class _Named(BaseModel):
    name: EntityName


@dataclass(frozen=True, slots=True)
class Observation:
    """A text to store for a node. `place`: its argument, as the tool names it."""

    name: str
    text: str
    place: str


def name_key(name: str) -> str:
    """Return a name as the database compares names: in one Unicode form, without case and redundant spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).lower()


def checked_name(name: str, place: str) -> str:
    """Return a name without spaces around it. Raises ToolError that names the argument."""
    try:
        return validated(_Named, {"name": name.strip()}).name
    except ValidationFailedError as error:
        raise ToolError(
            f"{place}: {error.errors[0]['message']}. Nothing was done; correct that and call again."
        ) from None


def checked_kind(kind: str, place: str) -> str:
    """Return the type of an entity or relation as it is shown. Raises ToolError that names the argument."""
    if not kind.strip() or len(kind) > MAX_KIND_CHARACTERS:
        raise ToolError(
            f"{place}: must have 1 to {MAX_KIND_CHARACTERS} characters. Nothing was done; correct that and call again."
        )
    return kind.strip()


async def find_nodes(memory: Memory, names: Iterable[str]) -> dict[str, Entity]:
    """Return the existing entities by the names that were passed, in any spelling."""
    entities: dict[str, Entity] = {}
    for name in dict.fromkeys(names):
        if named := await _named(memory, name):
            entities[name] = named[0]
    return entities


async def _named(memory: Memory, name: str) -> list[Entity]:
    """Return the entities of a name: first those with the same spelling, last those with it as an alias."""
    try:
        page = await memory.list_entities(name=name.strip(), limit=SAME_NAME)
    except ValidationFailedError:  # no entity has such a name
        return []
    wanted = name_key(name)
    return sorted(page.items, key=lambda each: (each.name != name.strip(), name_key(each.name) != wanted))


async def delete_node(memory: Memory, name: str) -> bool:
    """Delete the entity of a name, with its observations; return False if there is none that the user may delete."""
    deleted = False
    for entity in await _named(memory, name):
        if deleted and name_key(entity.name) != name_key(name):
            break  # only an alias of another entity
        try:
            await memory.delete_entity(entity)
        except NotFoundError:  # shared by another user
            continue
        for folder in _folders(entity):
            await _forget(memory, folder)
        deleted = True
    return deleted


def entity_type_of(kind: str) -> str:
    """Return a valid type for Keeps; the original wording stays in the properties."""
    return kind if re.fullmatch(NAME_PATTERN, kind) and len(kind) <= 100 else _slug(kind) or "custom"


def relation_type_of(kind: str) -> str:
    """Return a valid type for Keeps. Different wordings have different types, so that no edge replaces another."""
    if re.fullmatch(NAME_PATTERN, kind) and len(kind) <= 100 and not _DIGEST_SUFFIX.search(kind):
        return kind
    return f"{_slug(kind)[:80]}.{_digest(kind)[:12]}"


def wording(relation: Relation) -> str:
    """Return the original wording of a relation's type."""
    return str(relation.properties.get("relationType", relation.relation_type))


class Edges:
    """Edges by their wording, read once for each source of a call."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: dict[tuple[UUID, str], dict[UUID, list[Relation]]] = {}

    async def between(self, source: Entity, kind: str, target_id: UUID) -> list[Relation]:
        """Return the edges of a wording between two entities, including those of earlier versions, which cut it."""
        key = source.entity_id, kind
        if key not in self._known:
            by_target = self._known[key] = {}
            for relation_type in dict.fromkeys((relation_type_of(kind), entity_type_of(kind))):
                for edge in await self._memory.get_relations(source, direction="outgoing", relation_type=relation_type):
                    if wording(edge) == kind:
                        by_target.setdefault(edge.target_id, []).append(edge)
        return self._known[key].get(target_id, [])

    def add(self, edge: Relation) -> None:
        """Add an edge that this call stored."""
        self._known[edge.source_id, wording(edge)].setdefault(edge.target_id, []).append(edge)


def checked_observations(observations: Sequence[Observation]) -> list[NewMemory]:
    """Return observations as memories, each once. Raises ToolError that names the argument; it stores nothing."""
    made: dict[str, NewMemory] = {}
    positions: dict[str, int] = {}
    for observation in observations:
        key = f"{_folder(observation.name)}/{_digest(observation.text)}"
        if key in made:
            continue
        position = positions.setdefault(observation.name, 0)
        positions[observation.name] += 1
        fields = {
            "content": observation.text,
            "namespace": NAMESPACE,
            "key": key,
            "metadata": {"entity": observation.name, "position": position},
            "content_type": "observation",
        }
        try:
            made[key] = validated(NewMemory, fields)
        except ValidationFailedError as error:
            raise ToolError(
                f"{observation.place}: {error.errors[0]['message']}. Nothing was stored; correct that and call again."
            ) from None
    return list(made.values())


async def observe(memory: Memory, new: Sequence[NewMemory]) -> dict[str, list[str]]:
    """Store observations; return the new ones by the names of their entities."""
    added: dict[str, list[str]] = {}
    for start in range(0, len(new), MAX_BATCH_ITEMS):
        some = list(new[start : start + MAX_BATCH_ITEMS])
        receipts = await memory.remember_many(some, index="now")
        for each, receipt in zip(some, receipts, strict=True):
            if receipt.status == "created":
                added.setdefault(str(each.metadata["entity"]), []).append(each.content)
    return added


async def observations_of(memory: Memory, entity: Entity) -> list[str]:
    """Return the observations of an entity, under any spelling of its names, oldest first."""
    ranges = [{"key": {"gte": f"{folder}/", "lt": f"{folder}0"}} for folder in _folders(entity)]  # "0" comes after "/"
    filters: Any = {"AND": [{"namespace": {"eq": NAMESPACE}}, {"OR": ranges}]}
    keys = {name_key(name) for name in (entity.name, *entity.aliases)}
    observations: list[tuple[Any, Any, str]] = []
    cursor: str | None = None
    while True:
        page = await memory.list(filters=filters, limit=MAX_LIMIT, cursor=cursor)
        observations += [
            (observation.created_at, observation.metadata.get("position", 0), marked(observation))
            for observation in page.items
            if name_key(str(observation.metadata.get("entity", entity.name))) in keys
        ]
        cursor = page.next_cursor
        if cursor is None:
            break
    return list(dict.fromkeys(text for _, _, text in sorted(observations)))


async def delete_observation(memory: Memory, entity: Entity, text: str) -> bool:
    """Forget an observation; return False if there is none."""
    return any([await _forget(memory, f"{folder}/{_digest(text)}") for folder in _folders(entity)])


async def find_names(memory: Memory, names: dict[UUID, str], entity_id: UUID) -> str:
    """Return the name of an entity, or the id of a deleted one; `names` caches the names."""
    if entity_id not in names:
        try:
            names[entity_id] = (await memory.get_entity(entity_id)).name
        except NotFoundError:
            names[entity_id] = str(entity_id)
    return names[entity_id]


async def _forget(memory: Memory, key: str) -> bool:
    try:
        await memory.forget_keys(NAMESPACE, key)
    except NotFoundError:
        return False
    return True


def _folders(entity: Entity) -> list[str]:
    """Return the folders of an entity's observations: in earlier versions, each spelling had its own."""
    names = (entity.name, *entity.aliases)
    return list(dict.fromkeys([_folder(each) for each in names] + [_digest(each.casefold()) for each in names]))


def _folder(name: str) -> str:
    return _digest(name_key(name).casefold())


def _slug(kind: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:/-]+", "_", kind)[:100]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def entity_kind(entity: Entity) -> str:
    """Return the original wording of an entity's type."""
    return str(entity.properties.get("entityType", entity.entity_type))
