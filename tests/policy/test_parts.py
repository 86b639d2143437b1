"""The list of parts: each endpoint, job and line of an export belongs to exactly one."""

from __future__ import annotations

from collections import Counter

import pytest

from keeps.engine import Keeps
from keeps.memory.memories.service import MemoryService
from keeps.parts import PARTS
from keeps_client.endpoints import ENDPOINTS


def test_each_endpoint_is_served_by_one_part(keeps: Keeps) -> None:
    served = Counter(handler.endpoint for part in PARTS for handler in part.endpoints(keeps.core))
    assert set(served) == set(ENDPOINTS)
    assert {endpoint.name for endpoint, count in served.items() if count > 1} == set()


def test_each_job_and_export_is_declared_once() -> None:
    for names in (
        [part.name for part in PARTS],
        [job.name for part in PARTS for job in part.jobs],
        [export.kind for part in PARTS for export in part.exports],
    ):
        assert [name for name, count in Counter(names).items() if count > 1] == []


def test_a_service_is_found_by_its_class(keeps: Keeps) -> None:
    assert type(keeps.service(MemoryService)) is MemoryService


def test_a_service_that_no_part_made_is_named(keeps: Keeps) -> None:
    with pytest.raises(LookupError, match="no part made NoService"):
        keeps.service(type("NoService", (), {}))
