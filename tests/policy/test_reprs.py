"""A log line, a debugger or an error tracker that shows a value shows no secret."""

from __future__ import annotations

from uuid import uuid4

import pytest

from keeps.base.clock import utc_now
from keeps.base.settings import load_settings
from keeps.doors.cli.context import Target
from keeps.engine import Keeps
from keeps.operate.cells.copying import Place
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


async def test_an_open_keeps_is_shown_in_one_line(keeps: Keeps) -> None:
    shown = repr(keeps)
    assert "postgresql://" not in shown
    assert len(shown) < 100
