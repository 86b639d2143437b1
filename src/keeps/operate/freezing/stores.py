"""Places of bundles: a folder, or a bucket of an S3-compatible store."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from keeps.base.settings import Settings
from keeps.operate.freezing.s3 import S3Bucket
from keeps_client.errors import NotConfiguredError, UnavailableError

NO_STORE = "KEEPS_FROZEN_STORE is not set: frozen tenants need a folder or a bucket for their bundles"


class BundleStore(Protocol):
    """Keeps bundles by name. A name is a relative path of two parts."""

    @asynccontextmanager
    def keeping(self, name: str) -> AsyncGenerator[Path]:
        """Give the path to write a bundle to, and keep the file that is there at the end of the block."""
        ...

    @asynccontextmanager
    def getting(self, name: str) -> AsyncGenerator[Path]:
        """Give the path of a file with a bundle. Raises UnavailableError if there is none."""
        ...

    async def remove(self, name: str) -> None:
        """Remove a bundle, which may be gone or incomplete."""
        ...

    async def has(self, name: str) -> bool: ...


class FolderStore:
    """Bundles in a folder, which all processes of an installation see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def keeping(self, name: str) -> AsyncGenerator[Path]:
        path = self._folder / name
        try:
            await asyncio.to_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
            yield path
            await asyncio.to_thread(_sync_folders, path, self._folder)
        except OSError as error:
            raise UnavailableError(f"the bundle cannot be written to {path}: {error.strerror}") from None

    @asynccontextmanager
    async def getting(self, name: str) -> AsyncGenerator[Path]:
        path = self._folder / name
        if not await asyncio.to_thread(path.is_file):
            raise UnavailableError(f"the bundle {path} does not exist; bring it back from a backup of that folder")
        try:
            yield path
        except OSError as error:
            raise UnavailableError(f"the bundle {path} cannot be read: {error.strerror}") from None

    async def remove(self, name: str) -> None:
        path = self._folder / name
        try:
            for each in (path, path.with_name(f".{path.name}.partial")):
                await asyncio.to_thread(each.unlink, missing_ok=True)
        except NotADirectoryError:
            pass
        except OSError as error:
            raise UnavailableError(f"the bundle {path} cannot be removed: {error.strerror}") from None

    async def has(self, name: str) -> bool:
        return await asyncio.to_thread((self._folder / name).is_file)


class BucketStore:
    """Bundles in a bucket. Files pass through a temporary folder of this machine; they are sealed there, too."""

    def __init__(self, bucket: S3Bucket) -> None:
        self._bucket = bucket

    @asynccontextmanager
    async def keeping(self, name: str) -> AsyncGenerator[Path]:
        with tempfile.TemporaryDirectory(prefix="keeps-frozen-") as folder:
            path = Path(folder) / "bundle"
            yield path
            await self._bucket.put(name, path)

    @asynccontextmanager
    async def getting(self, name: str) -> AsyncGenerator[Path]:
        with tempfile.TemporaryDirectory(prefix="keeps-frozen-") as folder:
            path = Path(folder) / "bundle"
            await self._bucket.get(name, path)
            yield path

    async def remove(self, name: str) -> None:
        await self._bucket.delete(name)

    async def has(self, name: str) -> bool:
        return await self._bucket.has(name)


def store_of(settings: Settings) -> BundleStore:
    """Return the store that the settings name. Raises NotConfiguredError without one."""
    if settings.frozen_store is None:
        raise NotConfiguredError(NO_STORE)
    parts = urlsplit(settings.frozen_store)
    if parts.scheme == "file":
        return FolderStore(Path(unquote(parts.path)))
    if settings.frozen_store_key is None:
        raise NotConfiguredError("KEEPS_FROZEN_STORE_KEY is not set: an S3-compatible store needs ACCESS_KEY_ID:SECRET")
    return BucketStore(S3Bucket.of(settings.frozen_store, settings.frozen_store_key))


def _sync_folders(path: Path, top: Path) -> None:
    for folder in (path.parent, top):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
