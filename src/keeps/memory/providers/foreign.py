"""Providers of other packages: each has its own thread and event loop, where every result is checked.

One that blocks, fails or returns invalid results affects only its own answers.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic import JsonValue

from keeps.base.telemetry.logs import log
from keeps.providers.answers import (
    BadAnswerError,
    checked_bool,
    checked_capabilities,
    checked_count,
    checked_entry,
    checked_keys,
    checked_matches,
)
from keeps.providers.contract import Filters, Match, MemoryProvider, writable_metadata
from keeps_client.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    PayloadTooLargeError,
    UnavailableError,
    ValidationFailedError,
)
from keeps_client.models import Entry, ProviderCapabilities

CLOSE_SECONDS = 2.0
MAX_MESSAGE_CHARACTERS = 500
REFUSALS = (ValidationFailedError, ForbiddenError, NotFoundError, PayloadTooLargeError, ConflictError)
"""Errors by which a provider rejects a request. The provider works, so they are passed on."""
ResultT = TypeVar("ResultT")


class ProviderFailedError(UnavailableError):
    """A provider raised, timed out or returned an invalid result. `reason` names the fault."""

    def __init__(self, provider_id: str, reason: str) -> None:
        super().__init__(f"the provider {provider_id} failed: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Outcome(Generic[ResultT]):
    """The result of a call: a value or an error. No exception of a provider may end its thread."""

    value: ResultT | None = None
    error: BaseException | None = None


class ProviderThread:
    """The thread in which all objects of one provider run, for all scopes. It starts with the first call."""

    def __init__(self, provider_id: str) -> None:
        self._provider_id = provider_id
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, work: Callable[[], Awaitable[ResultT]]) -> Outcome[ResultT]:
        """Await `work` in the thread. A cancelled caller stops waiting even if the thread is blocked."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_outcome(work), self._started()))

    async def close(self) -> None:
        """Stop the thread. A blocked one is abandoned; it is a daemon."""
        if self._thread is None or self._loop is None or not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)
        if self._thread.is_alive():
            log().warning("provider blocks its thread", provider=self._provider_id)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._thread is None or not self._thread.is_alive():
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_serve, args=(self._loop,), name=f"keeps-provider-{self._provider_id}", daemon=True
            )
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, then cancel its remaining tasks."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _outcome(work: Callable[[], Awaitable[ResultT]]) -> Outcome[ResultT]:
    try:
        return Outcome(value=await work())
    except BaseException as error:  # noqa: BLE001  sys.exit() of a provider, too
        return Outcome(error=error)


class ForeignProvider:
    """A provider of another package for one scope. Its object is made at the first call, and again if that failed.

    Raises ProviderFailedError for its faults, and refuses operations that its capabilities do not name.
    """

    def __init__(self, provider_id: str, make: Callable[[], MemoryProvider], thread: ProviderThread) -> None:
        self._provider_id = provider_id
        self._make = make
        self._thread = thread
        self._provider: MemoryProvider | None = None
        self._capabilities: ProviderCapabilities | None = None

    async def open(self) -> ProviderCapabilities:
        """Make the object if needed, and return its capabilities."""
        if self._provider is not None and self._capabilities is not None:
            return self._capabilities

        async def nothing(_: MemoryProvider) -> None: ...

        await self._call("capabilities", nothing, lambda _: None)
        return self.capabilities()

    def capabilities(self) -> ProviderCapabilities:
        """Return the capabilities from when the provider was opened."""
        if self._capabilities is None:
            raise ProviderFailedError(self._provider_id, "it is not open")
        return self._capabilities

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        """Store a value.

        Raises:
            ForbiddenError: The provider is read-only.
            ValidationFailedError: It does not accept the content type.
        """
        known = writable_metadata(await self.open(), metadata)
        await self._call("write", lambda held: held.write(key, value, known), lambda _: None)

    async def read(self, key: str) -> Entry | None:
        return await self._call("read", lambda held: held.read(key), lambda answer: checked_entry(answer, key))

    async def delete(self, key: str) -> bool:
        if (await self.open()).read_only:
            return False
        return await self._call("delete", lambda held: held.delete(key), checked_bool)

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        capabilities = await self.open()
        if not capabilities.supports_search or _excludes(capabilities, filters):
            return []
        return await self._call(
            "search",
            lambda held: held.search(query, filters, limit),
            lambda answer: checked_matches(answer, limit),
        )

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        return await self._call("list_keys", lambda held: held.list_keys(filters), checked_keys)

    async def rebuild(self) -> int:
        return await self._call("rebuild", lambda held: held.rebuild(), checked_count)

    async def close(self) -> None:
        """Close the object, if there is one. The next use makes it again."""
        if self._provider is not None:
            await self._call("close", lambda held: held.close(), lambda _: None)
            self._provider = None

    async def _call(
        self,
        method: str,
        work: Callable[[MemoryProvider], Awaitable[object]],
        checked: Callable[[object], ResultT],
    ) -> ResultT:
        """Call a method in the provider's thread and check its result there."""

        async def call() -> ResultT:
            return checked(await work(self._opened()))

        outcome = await self._thread.run(call)
        error = outcome.error
        if error is None:
            return cast("ResultT", outcome.value)
        if isinstance(error, ProviderFailedError):
            raise error
        for kind in REFUSALS:
            if isinstance(error, kind):
                raise kind(_plain(error.detail)) from None
        if isinstance(error, BadAnswerError):
            raise ProviderFailedError(self._provider_id, _plain(error)) from None
        raise ProviderFailedError(self._provider_id, f"{method} raised {type(error).__name__}") from error

    def _opened(self) -> MemoryProvider:
        if self._provider is None:
            try:
                provider = self._make()
                self._capabilities = checked_capabilities(provider.capabilities(), self._provider_id)
            except BadAnswerError:
                raise
            except BaseException as error:
                said = _plain(f"{type(error).__name__}: {_message_of(error)}")
                raise ProviderFailedError(self._provider_id, f"it cannot be opened ({said})") from error
            self._provider = provider
        return self._provider


def _excludes(capabilities: ProviderCapabilities, filters: Mapping[str, object] | None) -> bool:
    """Return whether no entry can match, since the provider declares none of the requested content types."""
    wanted = Filters.of(filters).content_types
    return (
        wanted is not None and "*" not in capabilities.content_types and not {*wanted} & {*capabilities.content_types}
    )


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  __str__ is another's code, too
        return ""


def _plain(text: Any) -> str:
    """Return text for logs and answers, on one line and without the credentials of URLs."""
    line = " ".join(str(text).encode("utf-8", "replace").decode().replace("\x00", " ").split())
    return re.sub(r"://[^/\s@]{1,200}@", "://…@", line[: 2 * MAX_MESSAGE_CHARACTERS])[:MAX_MESSAGE_CHARACTERS]
