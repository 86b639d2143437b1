"""A log line, a debugger or an error tracker that shows a value shows no secret."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.doors.cli.context import Target
from keeps.engine import Keeps
from keeps.operate.cells.copying import Place
from keeps_client import MemoryClient, sync
from keeps_client.errors import UnavailableError
from keeps_client.models import MadeKey, MadeWebhook, NewDatabase

SECRET = "swordfish"
URL = f"postgresql://someone:{SECRET}@db.example.com/keeps"
VALUES = (
    Place("main", URL),
    Target(database_url=URL, token=SECRET),
    MadeKey.model_construct(secret=SECRET, key_id="k"),
    MadeWebhook.model_construct(secret=SECRET, webhook_id=uuid4(), created_at=utc_now()),
    NewDatabase.model_construct(name="shop", url=URL),
    load_settings({"KEEPS_JWT_SECRET": SECRET * 5, "KEEPS_REDIS_URL": f"redis://:{SECRET}@host"}, database_url=URL),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_repr_shows_no_secret(value: object) -> None:
    assert SECRET not in f"{value!r} {value}"


@pytest.mark.parametrize("kind", [MemoryClient, sync.MemoryClient])
def test_client_shows_server_and_caller(kind: Any) -> None:
    client = kind(f"http://me:{SECRET}@127.0.0.1:9", token=SECRET, tenant_id="acme", user_id="alice")
    assert repr(client) == "<MemoryClient http://127.0.0.1:9, tenant 'acme', user 'alice', with a token>"
    assert repr(kind(user_id="zoë")) == "<MemoryClient http://127.0.0.1:8765, user 'zoë'>"
    assert "bob" in repr(client.for_user("bob"))


def test_local_memory_shows_whose_it_is(keeps: Keeps) -> None:
    assert repr(keeps.memory(Scope("acme", "alice", "planner"))) == (
        "<LocalMemory tenant 'acme', user 'alice', agent 'planner'>"
    )


async def test_keeps_that_is_not_open_says_how_to_open_it() -> None:
    opening: Any = Keeps.open()
    with pytest.raises(AttributeError, match=r"async with Keeps\.open"):
        opening.memory(Scope())
    with pytest.raises(TypeError, match=r"async with Keeps\.open"), opening:
        pass
    assert "await Keeps.open()" in repr(opening)


async def test_client_of_the_other_kind_is_named() -> None:
    client: Any = MemoryClient()
    with pytest.raises(TypeError, match=r"keeps_client\.sync"), client:
        pass
    plain: Any = sync.MemoryClient()
    with pytest.raises(TypeError, match="from keeps_client import MemoryClient"):
        async with plain:
            pass


async def test_server_that_is_away_is_one_error() -> None:
    async with MemoryClient("http://127.0.0.1:9") as memory:
        with pytest.raises(UnavailableError, match="check that Keeps is running there") as found:
            await memory.list()
    assert found.value.__cause__ is None
    assert found.value.__suppress_context__ or found.value.__context__ is None


async def test_an_open_keeps_is_shown_in_one_line(keeps: Keeps) -> None:
    shown = repr(keeps)
    assert "postgresql://" not in shown
    assert len(shown) < 100
