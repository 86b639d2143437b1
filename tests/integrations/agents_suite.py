"""Fixtures that put KeepsSession where the tests of openai-agents make a session, and the names of tests left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from keeps import Memory
from keeps.integrations.openai_agents import KeepsSession

PACKAGE = "openai-agents==0.24.0"
FILES = ("test_session.py", "test_session_limit.py")
TENANT = f"suite-{os.urandom(6).hex()}"
SQLITE = "reaches into the connections, files and locks of SQLite"
LEFT_OUT = {
    "test_await_mutation_cancellation_hides_later_failure_without_loop_error": "tests a function of the SDK alone",
    "test_sqlite_session_close_closes_worker_thread_connections": SQLITE,
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": SQLITE,
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": SQLITE,
    "test_sqlite_session_keeps_connections_of_live_worker_threads": SQLITE,
    "test_sqlite_session_closed_rejects_empty_add_items": SQLITE,
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": SQLITE,
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": SQLITE,
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": SQLITE,
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": SQLITE,
    "test_sqlite_session_file_lock_is_shared_across_instances": SQLITE,
    "test_sqlite_session_failed_add_items_releases_write_lock": SQLITE,
    "test_sqlite_session_failed_clear_session_rolls_back": SQLITE,
    "test_sqlite_session_failed_pop_item_releases_write_lock": SQLITE,
    "test_sqlite_session_rollback_failure_evicts_connection": SQLITE,
    "test_sqlite_session_close_retries_quarantined_connection": SQLITE,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": SQLITE,
}


class Session(KeepsSession):
    """Takes SQLite's arguments: the path of a database is an app."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", **settings: Any) -> None:
        app = f"{os.urandom(6).hex()}" if str(db_path) == ":memory:" else str(db_path)[-100:]
        super().__init__(session_id, user_id="alice", tenant_id=TENANT, app=app, **settings)

    def close(self) -> None:  # type: ignore[override]
        """SQLite's is synchronous; the engine stays open for the next test."""


@pytest.fixture(scope="session", autouse=True)
def kept_open() -> Iterator[None]:
    """Keep one engine open for all tests."""
    with Memory("alice", tenant=TENANT) as memory:
        memory.warm()
        yield


OVERRIDE = "\n\nfrom agents_suite import Session as SQLiteSession, kept_open\n"
CONFTEST = """
from agents_suite import LEFT_OUT


def pytest_collection_modifyitems(config, items):
    left = [each for each in items if each.originalname in LEFT_OUT]
    items[:] = [each for each in items if each.originalname not in LEFT_OUT]
    config.hook.pytest_deselected(items=left)
"""
