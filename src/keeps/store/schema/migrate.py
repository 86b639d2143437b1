"""Migrate a database to the newest schema, and grant the two roles their rights."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from keeps.base.telemetry.logs import log
from keeps.store.schema.files import HEAD
from keeps_client.errors import UnavailableError

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["HEAD", "Step", "migrate", "steps"]

LOCK_SECONDS, PAUSE_SECONDS, ATTEMPTS = 3.0, 2.0, 30
_LOCKED = "55P03"
_ONE_AT_A_TIME = threading.Lock()
"""Alembic keeps its state in a global."""


@dataclass(frozen=True, slots=True)
class Step:
    """A revision of the schema, with its description."""

    revision: str
    what: str


async def migrate(owner_url: str, revision: str = "head") -> None:
    """Run all pending revisions as keeps_owner. Safe to call at any time, also by several processes at once.

    A table in use is waited for LOCK_SECONDS and tried again later, since waiting for a table blocks all others from
    it.

    Args:
        owner_url: postgresql://keeps_owner:…@host/database
        revision: The last revision to run.

    Raises:
        UnavailableError: The table was in use all the time.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await asyncio.to_thread(_migrate_blocking, owner_url, revision)
            return
        except Exception as error:
            if getattr(getattr(error, "orig", error), "sqlstate", None) != _LOCKED:
                raise
            log().warning("a table is in use; the schema is changed later", attempt=attempt)
            await asyncio.sleep(PAUSE_SECONDS)
    raise UnavailableError(
        "the schema could not be changed: a table was in use all the time. Look for long transactions"
        " (pg_stat_activity), end them, and run keeps migrate again; nothing was changed"
    )


def steps(current: str | None) -> list[Step]:
    """Return the pending steps of a database at this revision, in order; None: an empty database."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_config("postgresql://"))
    all_steps = [Step(step.revision, (step.doc or "").strip()) for step in script.walk_revisions()][::-1]
    return [step for step in all_steps if current is None or step.revision > current]


def _config(owner_url: str) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["url"] = urlunsplit(urlsplit(owner_url)._replace(scheme="postgresql+asyncpg"))
    config.attributes["lock_seconds"] = LOCK_SECONDS
    return config


def _migrate_blocking(owner_url: str, revision: str) -> None:
    # Alembic and SQLAlchemy take 300 ms to import, and only migrations need them.
    from alembic import command

    config = _config(owner_url)
    config.attributes["whole"] = revision == "head"  # The policies require the newest tables.
    with _ONE_AT_A_TIME:
        command.upgrade(config, revision)
