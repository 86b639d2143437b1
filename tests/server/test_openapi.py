"""The OpenAPI document is complete, and says what the app, the SDK and the documentation say."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from keeps.access.roles import ORDER
from keeps.scoped import ScopedMemory
from keeps.server.app import create_app
from keeps.server.deps import ROLES
from keeps.server.edge import PUBLIC
from keeps.server.examples import ANSWERS, BODIES
from keeps.settings import Settings
from keeps_client import MemoryClient, sync
from keeps_client._async import admin, client, graph, layers, log, providers, state

APP = create_app(Settings(home=Path("unused")), lambda: None)  # type: ignore[arg-type]
DOCUMENT = APP.openapi()
OPERATIONS = {
    f"{method} {path}": operation for path, found in DOCUMENT["paths"].items() for method, operation in found.items()
}
DOCS = Path(__file__).parents[2] / "docs"


def role_of(name: str) -> str:
    method, path = name.split(" ")
    for route in APP.routes:
        if isinstance(route, APIRoute) and route.path_format == path and method.upper() in route.methods:
            found = [ROLES[each.call] for each in route.dependant.dependencies if each.call in ROLES]
            assert len(found) == 1, f"{name} names no role, or several: give it one of keeps.server.deps"
            return found[0]
    raise AssertionError(name)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_route_has_credentials_errors_and_examples(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation["tags"], name
    assert operation["summary"], name
    if name.split(" ")[1] in PUBLIC:
        return
    assert operation["security"] == [{"bearer": []}, {"apiKey": []}]
    assert {"401", "403", "404", "409", "413", "422", "429", "503"} <= set(operation["responses"])
    for media in operation.get("requestBody", {}).get("content", {}).values():
        assert media["example"] is not None
    for status in ("200", "201"):
        for media in operation["responses"].get(status, {}).get("content", {}).values():
            assert "example" in media
    if name.startswith("post"):
        assert "Idempotency-Key" in [each["name"] for each in operation["parameters"]]


def test_there_is_no_example_for_a_route_that_is_gone() -> None:
    assert set(BODIES) | set(ANSWERS) <= set(OPERATIONS)


def test_examples_are_right() -> None:
    """Each body is accepted by its model, and each answer read by it."""
    from pydantic import TypeAdapter

    checked = 0
    for route in APP.routes:
        if not isinstance(route, APIRoute):
            continue
        for method in route.methods:
            name = f"{method.lower()} {route.path_format}"
            if name in BODIES and route.body_field is not None:
                TypeAdapter(route.body_field.field_info.annotation).validate_python(BODIES[name])
                checked += 1
            if name in ANSWERS and route.response_model is not None:
                TypeAdapter(route.response_model).validate_python(ANSWERS[name])
                checked += 1
    assert checked > 65


def test_the_table_of_roles_is_what_the_routes_ask() -> None:
    table = (DOCS / "access.md").read_text(encoding="utf-8")
    said = {
        f"{method.lower()} {path}": role
        for role, method, path in re.findall(r"^\| (\w+) \| (\w+) `([^`]+)` \|", table, re.MULTILINE)
    }
    asked = {name: role_of(name) for name in OPERATIONS if name.split(" ")[1] not in PUBLIC}
    assert said == asked, "docs/access.md has the table of roles"
    assert set(asked.values()) <= set(ORDER)


def test_every_route_is_reachable_from_the_sdk() -> None:
    """Each route's segments stand in a call of the client, in order."""
    calls: list[tuple[str, list[str]]] = []
    for module in (client, state, graph, providers, log, layers, admin):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "call":
                method, *fixed = [each.value for each in node.args if isinstance(each, ast.Constant)]
                calls.append((method.lower(), fixed))
    missing = []
    for name in OPERATIONS:
        method, path = name.split(" ")
        if path in PUBLIC or "/working/" in path or path.endswith("/import"):
            continue
        fixed = [part for part in path.removeprefix("/v1/").split("/") if not part.startswith("{")]
        if (method, fixed) not in calls:
            missing.append(name)
    assert missing == []


def public_methods(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


ENGINE_ONLY = {"remember_new", "change", "ask", "provider"}
CLIENT_ONLY = {"close"}


def test_the_engine_and_the_clients_have_the_same_methods() -> None:
    engine, by_http, without_await = (
        public_methods(ScopedMemory),
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
    for kind in (ScopedMemory, MemoryClient):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                assert method.__doc__, f"{kind.__name__}.{name}"


def test_the_sync_client_is_what_the_tool_makes() -> None:
    import subprocess
    import sys

    tool = Path(__file__).parents[2] / "tools" / "make_sync.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def any_schema(name: str) -> Any:
    return DOCUMENT["components"]["schemas"][name]


def test_snake_case_is_what_is_documented() -> None:
    assert "task_id" in any_schema("NewTaskContext")["properties"]
