"""Adapters are tested against the frameworks' own packages, in process and over HTTP: `make test-integrations`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from keeps.engine import Keeps

collect_ignore = [] if find_spec("strands") else ["test_strands.py"]
"""Strands needs older packages than others, so it has an environment of its own: `make test-integrations`."""


@pytest.fixture(params=["in process", "over HTTP"])
def place(request: pytest.FixtureRequest, keeps: Keeps, server_url: str, tenant: str) -> dict[str, Any]:
    """Where an adapter finds its memories."""
    return {"keeps": keeps if request.param == "in process" else server_url, "tenant_id": tenant}
