"""The OpenAPI document is complete, and says what the app, the SDK and the documentation say."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from keeps.doors.server.custom_routes import CUSTOM_ENDPOINTS
from keeps.doors.server.examples import example_of
from keeps.doors.server.openapi import openapi_document
from keeps.doors.server.public_routes import PUBLIC_PATHS
from keeps.engine import Keeps, LocalMemory
from keeps.store.access.roles import ORDER
from keeps_client import MemoryClient, sync
from keeps_client.endpoints import ENDPOINTS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document()


@pytest.fixture(scope="module")
def operations(document: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{method} {path}": operation
        for path, found in document["paths"].items()
        for method, operation in found.items()
    }


SERVED = [*ENDPOINTS, *CUSTOM_ENDPOINTS]
ROLES = {f"{endpoint.verb.lower()} {endpoint.path}": endpoint.role for endpoint in SERVED}


def test_every_route_is_an_operation(operations: dict[str, Any], keeps: Keeps) -> None:
    """The SDK then has a method for it, a part serves it, and it has a role."""
    assert {name for name in operations if name.split(" ")[1] not in PUBLIC_PATHS} == set(ROLES)
    assert set(keeps.handlers) == set(ENDPOINTS)
    assert len({each.name for each in ENDPOINTS}) == len(ENDPOINTS)


def test_every_route_has_a_tag_and_a_summary(operations: dict[str, Any]) -> None:
    assert [name for name, operation in operations.items() if not (operation["tags"] and operation["summary"])] == []


def test_routes_that_clients_send_once_are_marked(operations: dict[str, Any]) -> None:
    marked = {name for name, operation in operations.items() if operation.get("x-keeps-repeatable") is False}
    assert marked == {f"{each.verb.lower()} {each.path}" for each in SERVED if not each.repeatable}
    assert "post /v1/admin/keys" in marked


@pytest.mark.parametrize("name", sorted(ROLES))
def test_every_route_has_credentials_errors_and_examples(operations: dict[str, Any], name: str) -> None:
    operation = operations[name]
    assert operation["security"] == [{"bearer": []}, {"apiKey": []}]
    assert {"401", "403", "404", "409", "413", "422", "429", "503"} <= set(operation["responses"])
    for media in operation.get("requestBody", {}).get("content", {}).values():
        assert media["example"] is not None
    for status in ("200", "201"):
        for media in operation["responses"].get(status, {}).get("content", {}).values():
            assert "example" in media
    if name.startswith("post"):
        assert "Idempotency-Key" in [each["name"] for each in operation["parameters"]]


def test_examples_are_accepted_by_their_models() -> None:
    for endpoint in ENDPOINTS:
        for kind in (endpoint.body, endpoint.answer):
            if kind is not None:
                TypeAdapter[Any](kind).validate_json(json.dumps(example_of(kind)))
        assert endpoint.body is None or example_of(endpoint.body), endpoint.name


def test_the_reference_says_the_role_of_each_route() -> None:
    reference = (DOCS / "reference" / "http.md").read_text(encoding="utf-8")
    for name, role in ROLES.items():
        method, path = name.split(" ")
        assert f"| `{method.upper()} {path}` | {role} |" in reference
        assert role in ORDER


def public_methods(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


ENGINE_ONLY = {"provider"}
CLIENT_ONLY = {"close"}


def test_the_engine_and_the_clients_have_the_same_methods() -> None:
    engine, by_http, without_await = (
        public_methods(LocalMemory),
        public_methods(MemoryClient),
        public_methods(sync.MemoryClient),
    )
    assert set(engine) - ENGINE_ONLY == set(by_http) - CLIENT_ONLY == set(without_await) - CLIENT_ONLY
    for name in set(engine) - ENGINE_ONLY:
        assert [str(each) for each in engine[name].parameters.values()] == [
            str(each) for each in by_http[name].parameters.values()
        ], name
        assert str(by_http[name]).replace("AsyncIterator", "Iterator") == str(without_await[name]), name


def test_every_method_says_what_it_does() -> None:
    for kind in (LocalMemory, MemoryClient):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                assert method.__doc__, f"{kind.__name__}.{name}"


def test_snake_case_is_what_is_documented(document: dict[str, Any]) -> None:
    assert "task_id" in document["components"]["schemas"]["NewTaskContext"]["properties"]
