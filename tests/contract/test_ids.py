"""Ids that a header could not carry as they are: refused before anything is sent, not changed on the way."""

from __future__ import annotations

from typing import Any

import pytest

from keeps_client import MemoryClient, sync
from keeps_client.errors import ValidationFailedError

WRONG = ["", " alice", "alice ", "\talice", "a\nb", "a\x7f", "\u00a0alice", "\ud800", "x" * 256, 5]


@pytest.mark.parametrize("client", [MemoryClient, sync.MemoryClient])
@pytest.mark.parametrize("name", ["tenant_id", "user_id", "agent_id"])
def test_id_altered_by_header_is_refused(client: Any, name: str) -> None:
    for wrong in WRONG:
        with pytest.raises(ValidationFailedError, match=name):
            client("http://127.0.0.1:9", **{name: wrong})
