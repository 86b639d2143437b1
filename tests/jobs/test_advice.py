"""What the worker's log says of failures that an operator can mend."""

from __future__ import annotations

from pgqueuer.errors import FailingListenerError

from keeps.memory.jobs.worker import _advice


def test_silent_listener_is_logged_with_advice() -> None:
    assert "KEEPS_WORKER_DATABASE_URL" in _advice(FailingListenerError())["advice"]
    assert _advice(ValueError("anything else")) == {}
