"""Fixtures that put KeepsStore where the tests of langgraph-checkpoint-postgres make a store of their own, and what of
these tests is left out, by name."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from keeps.integrations.langgraph import KeepsStore

PACKAGE = "langgraph-checkpoint-postgres==3.2.0"
FILES = ("test_store.py", "test_async_store.py")
OWN_LOOP = "sync methods work in a running loop here, but for that of an engine that was given"
PSYCOPG = "reaches into psycopg and the tables of that store"
TOY = "scores of its toy embedder, which knows letters alone"
LEFT_OUT = {
    "test_no_running_loop": OWN_LOOP,
    "test_escape_like_literal": PSYCOPG,
    "test_namespace_match_pattern": PSYCOPG,
    "test_nonnull_migrations": PSYCOPG,
    "test_abatch_uses_single_pool_checkout": PSYCOPG,
    "test_omit_expired_filters_read_paths": PSYCOPG,
    "test_omit_expired_disabled_preserves_expired_rows": PSYCOPG,
    "test_omit_expired_refresh_ttl_only_refreshes_live_rows": PSYCOPG,
    "test_omit_expired_search_pagination": PSYCOPG,
    "test_scores": TOY,
}
MINUTES = 6 / 60
TTL: Any = {"default_ttl": MINUTES, "refresh_on_read": True, "sweep_interval_minutes": MINUTES / 2}


def new_tenant() -> str:
    return f"suite-{os.urandom(6).hex()}"


@pytest.fixture(scope="session", autouse=True)
def kept_open() -> Iterator[None]:
    """One engine for all tests."""
    with KeepsStore(tenant_id=new_tenant()) as held:
        held.get(("open",), "it")
        yield


@pytest.fixture
async def async_store() -> AsyncIterator[KeepsStore]:
    async with KeepsStore(tenant_id=new_tenant(), ttl=TTL) as made:
        await made.start_ttl_sweeper()
        yield made


@pytest.fixture
def sync_store() -> Iterator[KeepsStore]:
    with KeepsStore(tenant_id=new_tenant(), ttl=TTL) as made:
        made.start_ttl_sweeper()
        yield made


@contextmanager
def create(*chosen: Any, text_fields: list[str] | None = None, enable_ttl: bool = True) -> Iterator[KeepsStore]:
    index: Any = {"dims": chosen[2].dims, "embed": chosen[2], "fields": text_fields}
    with KeepsStore(tenant_id=new_tenant(), index=index, ttl={"default_ttl": 2} if enable_ttl else None) as made:
        yield made


@asynccontextmanager
async def acreate(*chosen: Any, text_fields: list[str] | None = None) -> AsyncIterator[KeepsStore]:
    index: Any = {"dims": chosen[2].dims, "embed": chosen[2], "fields": text_fields}
    async with KeepsStore(tenant_id=new_tenant(), index=index) as made:
        yield made


@pytest.fixture(params=[True, False], ids=["ttl", "no ttl"])
def vector_store(request: pytest.FixtureRequest, fake_embeddings: Any) -> Iterator[KeepsStore]:
    with create("", "", fake_embeddings, enable_ttl=request.param) as made:
        yield made


@pytest.fixture
async def async_vector_store(fake_embeddings: Any) -> AsyncIterator[KeepsStore]:
    async with acreate("", "", fake_embeddings) as made:
        yield made


OVERRIDES = {
    "test_store.py": (
        "from langgraph_suite import sync_store as store, vector_store, create as _create_vector_store\n"
    ),
    "test_async_store.py": (
        "from langgraph_suite import async_store as store, async_vector_store as vector_store\n"
        "from langgraph_suite import acreate as _create_vector_store\n"
    ),
}
CONFTEST = """
import pytest
from langgraph_suite import LEFT_OUT, kept_open
from tests.embed_test_utils import CharacterEmbeddings

DEFAULT_URI = "none"
VECTOR_TYPES = ["vector", "halfvec"]


@pytest.fixture
def fake_embeddings():
    return CharacterEmbeddings(dims=500)


def pytest_collection_modifyitems(config, items):
    left = [each for each in items if each.originalname in LEFT_OUT]
    items[:] = [each for each in items if each.originalname not in LEFT_OUT]
    config.hook.pytest_deselected(items=left)
"""
