"""Row images: a memory with every column, as JSON can carry it. Pure.

The database stores an image as it is, and the event of the write holds the same, so replaying events gives the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keeps.scope import Scope
from keeps.text.importance import estimate_importance
from keeps.text.words import count_terms
from keeps_client.models import NewMemory

Image = dict[str, Any]
DEFAULT_LAYER = {"semantic": "long_term", "procedural": "long_term", "episodic": "short_term"}


def new_image(new: NewMemory, scope: Scope, memory_id: UUID, now: datetime) -> Image:
    """The image of a memory that `scope` writes at `now`."""
    image: Image = {
        "tenant_id": scope.tenant_id,
        "memory_id": str(memory_id),
        "user_id": scope.user_id,
        "agent_id": new.agent_id or scope.agent_id,
        "session_id": new.session_id or scope.session_id,
        "kind": new.kind,
        "layer": DEFAULT_LAYER[new.kind],
        "namespace": new.namespace,
        "key": new.key,
        "content": new.content,
        "value": new.value,
        "content_type": new.content_type,
        "role": new.role,
        "trigger_condition": new.trigger_condition,
        "procedure_type": new.procedure_type,
        "metadata": new.metadata,
        "tags": list(dict.fromkeys(new.tags)),
        "source": new.source,
        "importance": estimate_importance(new.content, new.role) if new.importance is None else new.importance,
        "visibility": new.visibility,
        "valid_from": (new.valid_from or now).isoformat(),
        "valid_to": None,
        "superseded_by": None,
        "expires_at": _expiry(new, now),
        "archived_at": None,
        "deleted_at": None,
        "document_id": None,
        "version": 1,
        "created_at": now.isoformat(),
        "updated_at": now.isoformat(),
    }
    image["content_hash"] = content_hash(image, occurred_at=new.valid_from)
    return image


def content_hash(image: Mapping[str, Any], occurred_at: datetime | None = None) -> str:
    """What makes a memory the same as another of its owner, as `\\x…` for PostgreSQL.

    A fact is its words. A skill also belongs to its agent and trigger. An experience belongs to its agent, session and
    speaker, and to its moment where that was given: saying "yes" twice is two experiences.
    """
    identity: list[object] = [image["kind"], image["namespace"], image["content"]]
    if image["kind"] != "semantic":
        identity += [image["agent_id"], image["role"], image["trigger_condition"], image["procedure_type"]]
    if image["kind"] == "episodic":
        speaker = image["metadata"].get("speaker")
        identity += [image["session_id"], speaker, occurred_at.isoformat() if occurred_at else None]
    return "\\x" + hashlib.sha256(json.dumps(identity, ensure_ascii=False).encode()).hexdigest()


def audience_of(image: Mapping[str, Any]) -> str:
    """Who may find it: its owner, or the empty text for the whole tenant."""
    return "" if image["visibility"] == "tenant" else image["user_id"]


def life_of(image: Mapping[str, Any]) -> str:
    """Where it is in its life: what keeps.memory_life says in SQL."""
    if image["deleted_at"]:
        return "deleted"
    if image["superseded_by"]:
        return "superseded"
    return "archived" if image["archived_at"] else "current"


def speaker_of(image: Mapping[str, Any]) -> str | None:
    """Who said an episodic memory, if that is known."""
    speaker = image["metadata"].get("speaker") if image["kind"] == "episodic" else None
    return speaker if isinstance(speaker, str) and speaker else None


def embedded_text(image: Mapping[str, Any]) -> str:
    """The text whose meaning is searched: who said it, when a skill applies, and the content."""
    if speaker := speaker_of(image):
        return f"{speaker}: {image['content']}"
    if image["trigger_condition"]:
        return f"{image['trigger_condition']}\n{image['content']}"
    return image["content"]


def searched_terms(image: Mapping[str, Any]) -> Counter[str]:
    """The words that are searched: the embedded text, the tags, and the words of the key."""
    counts = count_terms(embedded_text(image))
    key = "" if image["kind"] == "episodic" else image["key"] or ""  # of an experience, a key is only an address
    named = " ".join([*image["tags"], key])
    for term in count_terms(named):
        counts.setdefault(term, 1)
    return counts


def _expiry(new: NewMemory, now: datetime) -> str | None:
    if new.ttl_days is not None:
        return (now + timedelta(days=new.ttl_days)).isoformat()
    return new.expires_at.isoformat() if new.expires_at else None
