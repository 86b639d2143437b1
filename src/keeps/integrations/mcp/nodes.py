"""Nodes of the reference memory server's graph: entities by any spelling of their names, their observations and edges.

An observation is a memory of its own, so that two clients that add some at once lose none, and recall finds it.
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
    """A text to store of a node. `place`: which argument it is, as the tool names it."""

    name: str
    text: str
    place: str


def name_key(name: str) -> str:
    """Return a name as the database compares names: in one form of Unicode, without case and needless blanks."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).lower()


def checked_name(name: str, place: str) -> str:
    """Return a name without blanks around it. Raises ToolError that names the argument."""
    try:
        return validated(_Named, {"name": name.strip()}).name
    except ValidationFailedError as error:
        raise ToolError(
            f"{place}: {error.errors[0]['message']}. Nothing was done; change that and call again."
        ) from None


def checked_kind(kind: str, place: str) -> str:
    """Return the type of an entity or relation as it is shown. Raises ToolError that names the argument."""
    if not kind.strip() or len(kind) > MAX_KIND_CHARACTERS:
        raise ToolError(
            f"{place}: must have 1 to {MAX_KIND_CHARACTERS} characters. Nothing was done; change that and call again."
        )
    return kind.strip()


async def find_nodes(memory: Memory, names: Iterable[str]) -> dict[str, Entity]:
    """Return the entities that are there, by the names as they were given, whatever their spelling."""
    found: dict[str, Entity] = {}
    for name in dict.fromkeys(names):
        if named := await _named(memory, name):
            found[name] = named[0]
    return found


async def _named(memory: Memory, name: str) -> list[Entity]:
    """Return the entities of a name, those that are spelt the same first, those with it as an alias last."""
    try:
        page = await memory.list_entities(name=name.strip(), limit=SAME_NAME)
    except ValidationFailedError:  # nothing has such a name
        return []
    wanted = name_key(name)
    return sorted(page.items, key=lambda each: (each.name != name.strip(), name_key(each.name) != wanted))


async def delete_node(memory: Memory, name: str) -> bool:
    """Delete what has a name, with its observations; False where there is none that the user may delete."""
    deleted = False
    for entity in await _named(memory, name):
        if deleted and name_key(entity.name) != name_key(name):
            break  # only an alias of another
        try:
            await memory.delete_entity(entity)
        except NotFoundError:  # somebody else's, who shares it
            continue
        for folder in _folders(entity):
            await _forget(memory, folder)
        deleted = True
    return deleted


def entity_type_of(kind: str) -> str:
    """Return a type as Keeps takes it; as it was given it stays in the properties."""
    return kind if re.fullmatch(NAME_PATTERN, kind) and len(kind) <= 100 else _slug(kind) or "custom"


def relation_type_of(kind: str) -> str:
    """Return a type as Keeps takes it: no two wordings have the same, so that no edge takes the place of another."""
    if re.fullmatch(NAME_PATTERN, kind) and len(kind) <= 100 and not _DIGEST_SUFFIX.search(kind):
        return kind
    return f"{_slug(kind)[:80]}.{_digest(kind)[:12]}"


def wording(relation: Relation) -> str:
    """Return the type of a relation as it was given."""
    return str(relation.properties.get("relationType", relation.relation_type))


class Edges:
    """Edges by their wording, read once for each source in a call."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: dict[tuple[UUID, str], dict[UUID, list[Relation]]] = {}

    async def between(self, source: Entity, kind: str, target_id: UUID) -> list[Relation]:
        """Return the edges of a wording between two entities, also those of earlier versions, which cut the wording."""
        key = source.entity_id, kind
        if key not in self._known:
            known = self._known[key] = {}
            for each in dict.fromkeys((relation_type_of(kind), entity_type_of(kind))):
                for edge in await self._memory.get_relations(source, direction="outgoing", relation_type=each):
                    if wording(edge) == kind:
                        known.setdefault(edge.target_id, []).append(edge)
        return self._known[key].get(target_id, [])

    def add(self, edge: Relation) -> None:
        """Know of an edge that this call made."""
        self._known[edge.source_id, wording(edge)].setdefault(edge.target_id, []).append(edge)


def checked_observations(observations: Sequence[Observation]) -> list[NewMemory]:
    """Return observations as memories, each once. Raises ToolError that names the argument: nothing is stored yet."""
    made: dict[str, NewMemory] = {}
    positions: dict[str, int] = {}
    for each in observations:
        key = f"{_folder(each.name)}/{_digest(each.text)}"
        if key in made:
            continue
        position = positions.setdefault(each.name, 0)
        positions[each.name] += 1
        fields = {
            "content": each.text,
            "namespace": NAMESPACE,
            "key": key,
            "metadata": {"entity": each.name, "position": position},
            "content_type": "observation",
        }
        try:
            made[key] = validated(NewMemory, fields)
        except ValidationFailedError as error:
            raise ToolError(
                f"{each.place}: {error.errors[0]['message']}. Nothing was stored; change that and call again."
            ) from None
    return list(made.values())


async def observe(memory: Memory, new: Sequence[NewMemory]) -> dict[str, list[str]]:
    """Store observations; return those that are new, by the names of their entities."""
    added: dict[str, list[str]] = {}
    for start in range(0, len(new), MAX_BATCH_ITEMS):
        some = list(new[start : start + MAX_BATCH_ITEMS])
        receipts = await memory.remember_many(some, index="now")
        for each, receipt in zip(some, receipts, strict=True):
            if receipt.status == "created":
                added.setdefault(str(each.metadata["entity"]), []).append(each.content)
    return added


async def observations_of(memory: Memory, entity: Entity) -> list[str]:
    """Return what was observed of an entity, under any spelling of its names, oldest first."""
    ranges = [{"key": {"gte": f"{folder}/", "lt": f"{folder}0"}} for folder in _folders(entity)]  # 0 follows the slash
    filters: Any = {"AND": [{"namespace": {"eq": NAMESPACE}}, {"OR": ranges}]}
    keys = {name_key(each) for each in (entity.name, *entity.aliases)}
    held: list[tuple[Any, Any, str]] = []
    cursor: str | None = None
    while True:
        page = await memory.list(filters=filters, limit=MAX_LIMIT, cursor=cursor)
        held += [
            (each.created_at, each.metadata.get("position", 0), each.content)
            for each in page.items
            if name_key(str(each.metadata.get("entity", entity.name))) in keys
        ]
        cursor = page.next_cursor
        if cursor is None:
            break
    return list(dict.fromkeys(text for _, _, text in sorted(held)))


async def delete_observation(memory: Memory, entity: Entity, text: str) -> bool:
    """Forget an observation; False where there is none."""
    return any([await _forget(memory, f"{folder}/{_digest(text)}") for folder in _folders(entity)])


async def find_names(memory: Memory, names: dict[UUID, str], entity_id: UUID) -> str:
    """Return the name of an entity, or the id of one that was deleted meanwhile; `names` keeps what is known."""
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
    """Return where observations of an entity stand: earlier versions took each spelling for a name of its own."""
    names = (entity.name, *entity.aliases)
    return list(dict.fromkeys([_folder(each) for each in names] + [_digest(each.casefold()) for each in names]))


def _folder(name: str) -> str:
    return _digest(name_key(name).casefold())


def _slug(kind: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:/-]+", "_", kind)[:100]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def entity_kind(entity: Entity) -> str:
    """Return the type of an entity as it was given."""
    return str(entity.properties.get("entityType", entity.entity_type))
