"""What is wrong with an argument is said in words that its caller knows, not in those of a library."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import NewExchange, NewMemory, NewSource, RecallRequest


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (NewMemory, {"content": "x", "tags": "health"}, "tags: must be a list"),
        (NewMemory, {"content": 5}, "content: must be text"),
        (NewMemory, {"content": "x", "importance": "high"}, "importance: must be a number"),
        (NewMemory, {"content": "x", "metadata": [1]}, "metadata: must be an object"),
        (NewMemory, {"content": "x", "tag": "y"}, "tag: is unknown; check the spelling"),
        (RecallRequest, {"query": "x", "since": "yesterday"}, "since: must be a time, such as 2026-11-27"),
        (RecallRequest, {}, "query: is missing"),
        (RecallRequest, {"query": "kayak", "user_id": "bob"}, "user_id: is not a field: the header X-User-ID"),
        (NewMemory, {"content": "x", "tenantId": "acme"}, "tenantId: is not a field: the header X-Tenant-ID"),
        (NewSource, {"name": "x", "agent_id": "a"}, "agent_id: is not a field: the header X-Agent-ID"),
        (NewExchange, {"messages": [{"role": "user", "text": "x"}]}, "messages.0.content: is missing"),
    ],
)
def test_a_wrong_argument_is_named_in_plain_words(model: type[BaseModel], given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationFailedError) as found:
        validated(model, given)
    assert said in str(found.value)
