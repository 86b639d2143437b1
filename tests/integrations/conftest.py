"""Adapters are tested against the frameworks' own packages, in process and over HTTP: `make test-integrations`."""

from __future__ import annotations

from typing import Any

import pytest

from keeps.engine import Keeps


@pytest.fixture(params=["in process", "over HTTP"])
def place(request: pytest.FixtureRequest, keeps: Keeps, server_url: str, tenant: str) -> dict[str, Any]:
    """Where an adapter finds its memories."""
    return {"keeps": keeps if request.param == "in process" else server_url, "tenant_id": tenant}
