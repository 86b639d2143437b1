"""Every page of the console, with what is sent to it: the table that the tests go through."""

from __future__ import annotations

from typing import Any

from keeps.doors.console.pages import PAGES

ROWS: dict[str, tuple[str, dict[str, str]]] = {
    "GET /ui/": ("?q={mark}", {}),
    "GET /ui/welcome": ("", {}),
    "GET /ui/memories": ("?order=importance", {}),
    "GET /ui/memories/new": ("", {}),
    "POST /ui/memories/new": ("", {"content": "A memory of whoever asks.", "kind": "semantic"}),
    "POST /ui/memories/forget": ("", {"id": "{memory_id}", "sure": "1"}),
    "POST /ui/memories/edit": ("", {"id": "{memory_id}", "add_tag": "of-a-stranger"}),
    "GET /ui/memories/export": ("", {}),
    "POST /ui/memories/import": ("", {"nothing": "x"}),
    "GET /ui/memories/{memory_id:uuid}": ("", {}),
    "POST /ui/memories/{memory_id:uuid}": ("", {"content": "Changed by somebody.", "tags": ""}),
    "POST /ui/memories/{memory_id:uuid}/forget": ("", {}),
    "POST /ui/memories/{memory_id:uuid}/restore": ("", {}),
    "POST /ui/memories/{memory_id:uuid}/remove": ("", {"sure": "1"}),
    "GET /ui/inbox": ("?reason=instructions", {}),
    "GET /ui/inbox/count": ("", {}),
    "POST /ui/inbox": ("", {"id": "{memory_id}", "decision": "drop"}),
    "POST /ui/inbox/sources": ("", {"source": "tool:nobody"}),
    "GET /ui/spaces": ("?all=1", {}),
    "POST /ui/spaces": ("", {"space_id": "of-whoever-asks", "title": ""}),
    "GET /ui/spaces/{space_id}": ("", {}),
    "POST /ui/spaces/{space_id}": ("", {"title": "Changed by somebody.", "archived": ""}),
    "POST /ui/spaces/{space_id}/members": (
        "",
        {"member_type": "user", "member_id": "mallory", "role": "curator", "until": ""},
    ),
    "POST /ui/spaces/{space_id}/members/remove": ("", {"member_type": "user", "member_id": "{user_id}"}),
    "POST /ui/spaces/{space_id}/erase": ("", {"again": "{space_id}"}),
    "GET /ui/conversations": ("", {}),
    "GET /ui/conversations/{session_id}": ("", {}),
    "POST /ui/conversations/{session_id}/end": ("", {}),
    "GET /ui/transcripts": ("", {}),
    "GET /ui/transcripts/{app}": ("", {}),
    "GET /ui/transcripts/{app}/{transcript_id}": ("", {}),
    "GET /ui/items": ("?ns={app}", {}),
    "GET /ui/items/one": ("?ns={app}&key={app}", {}),
    "GET /ui/context": ("?q={mark}", {}),
    "GET /ui/playground": ("?q={mark}&session={session_id}&why_not={mark}&user=alice-the-owner", {}),
    "POST /ui/playground": ("", {"message": "Hello."}),
    "GET /ui/graph": ("?from=other&to=other", {}),
    "GET /ui/graph/{entity_id:uuid}": ("", {}),
    "POST /ui/graph/{entity_id:uuid}/merge": ("", {"other": "other"}),
    "POST /ui/graph/{entity_id:uuid}/unmerge": ("", {}),
    "GET /ui/time": ("?q={mark}", {}),
    "GET /ui/events": ("", {}),
    "GET /ui/events/{sequence}": ("", {}),
    "POST /ui/events/verify": ("", {}),
    "GET /ui/workspace": ("", {}),
    "GET /ui/workspace/plans/{plan_id}": ("", {}),
    "GET /ui/workspace/tasks/{task_id}": ("", {}),
    "GET /ui/operations": ("", {}),
    "GET /ui/operations/{operation_id:uuid}": ("", {}),
    "POST /ui/operations/{operation_id:uuid}/undo": ("", {}),
    "POST /ui/operations/retry": ("", {"job_id": "999999999"}),
    "GET /ui/insights": ("", {}),
    "GET /ui/insights/numbers": ("", {}),
    "GET /ui/insights/junk": ("", {}),
    "GET /ui/pick/users": ("?user=nobody", {}),
    "GET /ui/pick/tenants": ("?tenant=nobody", {}),
    "GET /ui/requests": ("", {}),
    "GET /ui/requests/{request_id:uuid}": ("", {}),
    "GET /ui/knowledge": ("?q={mark}", {}),
    "POST /ui/knowledge/documents": ("", {"nothing": "x"}),
    "GET /ui/knowledge/queries": ("", {}),
    "GET /ui/knowledge/documents/{document_id:uuid}": ("", {}),
    "POST /ui/knowledge/documents/{document_id:uuid}/forget": ("", {"hard": "1"}),
    "GET /ui/costs": ("?by=job", {}),
    "GET /ui/admin": ("", {}),
    "POST /ui/admin/prove": ("", {}),
    "POST /ui/admin/keys": ("", {"name": "a key of whoever asks", "role": "reader"}),
    "POST /ui/admin/keys/{key_id:uuid}/revoke": ("", {}),
    "POST /ui/admin/webhooks": ("", {"url": "https://hooks.example.com/keeps", "types": "memory.*"}),
    "GET /ui/admin/webhooks/{webhook_id:uuid}": ("", {}),
    "POST /ui/admin/webhooks/{webhook_id:uuid}/remove": ("", {}),
    "POST /ui/admin/webhooks/{webhook_id:uuid}/retry": ("", {}),
    "POST /ui/admin/quota": ("", {"tenant_id": "{tenant_id}", "max_memories": "1000000"}),
    "POST /ui/demo": ("", {}),
    "POST /ui/demo/remove": ("", {}),
    "POST /ui/admin/erase": ("", {"user_id": "{user_id}", "again": "{user_id}"}),
}
"""By method and path: what is asked for, and the form that is sent."""

SHARED = frozenset({"GET /ui/workspace/plans/{plan_id}", "GET /ui/knowledge"})
"""Pages whose contents all users of a tenant see: the working memory of its plans, and its databases, which writers
ask."""


def asked(ids: dict[str, str], mark: str) -> list[tuple[str, str, str, dict[str, str]]]:
    """Name, method, address and form of each, with somebody's ids in it."""
    values: dict[str, Any] = {**ids, "mark": mark, "sequence": ids.get("sequence", "1")}
    found: list[tuple[str, str, str, dict[str, str]]] = []
    for name, (query, form) in ROWS.items():
        method, path = name.split(" ")
        bare = path.replace(":uuid", "").replace(":int", "")
        sent = {field: value.format(**values) for field, value in form.items()}
        found.append((name, method, (bare + query).format(**values), sent))
    return found


def test_every_page_has_a_row() -> None:
    assert set(ROWS) == set(PAGES), "give the new page a row: what is asked of it, and what is sent"
