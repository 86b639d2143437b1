"""Move the memories of a key and of the keys below it, in one transaction. Keys form paths."""

from __future__ import annotations

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.memories import store
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import MemoryRow
from keeps.store.db.answers import plain
from keeps.store.db.session import Database, Tx
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import KeysChanged
from keeps_client.models.common import MAX_BATCH_ITEMS
from keeps_client.models.memories import MAX_KEY_CHARACTERS

COUNT = plain(int)


class MemoryKeys:
    """Moves keys. keeps.memory.federated forgets them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def move(self, scope: Scope, namespace: str, key: str, to: str) -> KeysChanged:
        """Move a key and all keys below it, with their older versions, or none of them.

        Raises NotFoundError, and ConflictError if the target is occupied.
        """
        if to == key or to.startswith(f"{key}/"):
            raise ValidationFailedError(f"to: {to!r} is {key!r} itself or below it")

        write = self._database.writing(scope, COUNT)
        async for attempt in write:
            async with attempt as tx:
                rows = await below(tx, namespace, key)
                if await store.lock_below(tx, namespace, to, 1):
                    raise ConflictError(f"a key already exists under {to!r}; nothing was moved")
                now = self._clock()
                for row in rows:
                    place = to + (row.key or "")[len(key) :]
                    if len(place) > MAX_KEY_CHARACTERS:
                        raise ValidationFailedError(
                            f"to: {place!r} would have more than {MAX_KEY_CHARACTERS} characters"
                        )
                    older = [NewMemoryRow(each.evolve(key=place)) for each in await store.lock_older(tx, row.memory_id)]
                    if older:
                        await store.replace(tx, older, "memory.superseded", now)
                    new = written(row.evolve(key=place, updated_at=now, version=row.version + 1))
                    await store.replace(tx, [new], "memory.written")
                    await store.store_words(tx, new)
                write.result = len(rows)
        return KeysChanged(changed=write.result)


async def below(tx: Tx, namespace: str, key: str) -> list[MemoryRow]:
    """Return the user's own current memories of a key and the keys below it, locked. Raises NotFoundError."""
    rows = await store.lock_below(tx, namespace, key, MAX_BATCH_ITEMS + 1)
    if not rows:
        raise NotFoundError(f"you have no memory under {namespace}/{key}")
    if len(rows) > MAX_BATCH_ITEMS:
        raise ValidationFailedError(f"more than {MAX_BATCH_ITEMS:,} keys are below {key!r}; move them in parts")
    return rows
