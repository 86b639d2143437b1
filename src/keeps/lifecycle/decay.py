"""Decay: short-term memories that have faded are archived. Left out of default recall, still there, and it can be undone.

What they told in passing stays: see keeps.lifecycle.gist.
"""

from __future__ import annotations

from keeps.clock import new_id
from keeps.db.session import Tx
from keeps.lifecycle.gist import gists_of
from keeps.lifecycle.operations import BATCH, QUERIES, Change, Run, record
from keeps.memories import store
from keeps.memories.images import new_image
from keeps.memories.store import Written


async def archive_batch(tx: Tx, run: Run) -> int:
    """Archive the next of one user's memories whose retention is under 0.3; how many, 0 when none is left."""
    rows = await tx.fetch(QUERIES["memories_faded"], tx.scope.tenant_id, tx.scope.user_id, run.now, BATCH)
    changes = [
        Change(image, {**image, "archived_at": run.now.isoformat()}) for image in map(store.image_from_row, rows)
    ]
    if changes:
        await store.replace(
            tx, [Written(each.after, new_id(), [], b"", None) for each in changes], "memory.archived", run.now
        )
        lasting = [each.after for each in changes if not (each.after["expires_at"] or "9") <= run.now.isoformat()]
        kept = [new_image(new, tx.scope, new_id(), run.now) for new in gists_of(lasting)]
        kept = [{**image, "layer": "long_term"} for image in kept]
        stored = await store.insert_many(tx, [store.written(image, None) for image in kept], "") if kept else set[str]()
        await record(tx, run, [*changes, *(Change(None, image) for image in kept if image["memory_id"] in stored)])
    return len(changes)
