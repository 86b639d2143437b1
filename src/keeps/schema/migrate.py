"""Bring a database to the newest schema, and give the two roles what they need."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from keeps.schema.files import HEAD

__all__ = ["HEAD", "migrate"]


async def migrate(owner_url: str, revision: str = "head") -> None:
    """Run all pending revisions as keeps_owner. Safe to call at any time, and by several processes at once.

    `owner_url`: postgresql://keeps_owner:…@host/database · `revision`: up to which
    """
    await asyncio.to_thread(_migrate_blocking, owner_url, revision)


def _migrate_blocking(owner_url: str, revision: str) -> None:
    # Alembic and SQLAlchemy take 300 ms to import, and only a migration needs them.
    from alembic import command
    from alembic.config import Config

    parts = urlsplit(owner_url)
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["url"] = urlunsplit(parts._replace(scheme="postgresql+asyncpg"))
    config.attributes["whole"] = revision == "head"  # the policies are of the newest tables
    command.upgrade(config, revision)
