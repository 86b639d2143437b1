"""Small files in the formats of other products, with branches, edits, attachments and bad records."""

from __future__ import annotations

from typing import Any

CHAT = "0f8c7c1e-7a0b-4c1d-9a64-3a0d1d0a1c11"
SECONDS = 1_714_564_800
NOON = "2024-05-01T12:00:00+00:00"


def _node(parent: str | None, role: str, *parts: Any, kind: str = "text", **fields: Any) -> dict[str, Any]:
    message = {
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": SECONDS,
        "content": {"content_type": kind, "parts": list(parts)},
        "recipient": "all",
        "metadata": {},
    }
    return {"message": message | fields, "parent": parent, "children": []}


CHATGPT: list[Any] = [
    {
        "title": "Trip",
        "conversation_id": CHAT,
        "create_time": SECONDS,
        "current_node": "answer",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["system"]},
            "system": _node("root", "system", "You are helpful."),
            "first": _node("system", "user", "Where in Spain?"),
            "edited": _node(
                "system",
                "user",
                {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"},
                "Where in Portugal?",
                kind="multimodal_text",
                metadata={"attachments": [{"id": "f", "name": "map.png"}]},
            ),
            "thought": _node("edited", "assistant", "Let me think.", kind="thoughts"),
            "search": _node("thought", "assistant", "search()", kind="code", recipient="web.search"),
            "tool": _node("search", "tool", "results"),
            "other": _node("tool", "assistant", "An answer that was regenerated."),
            "answer": _node("tool", "assistant", "Porto.\u2028By train.", create_time=None),
        },
    },
    {"title": "no tree"},
    7,
    {
        "conversation_id": "loop",
        "current_node": "a",
        "mapping": {"a": _node("b", "user", "A"), "b": _node("a", "user", "B")},
    },
]
CLAUDE: list[Any] = [
    {
        "uuid": CHAT,
        "name": "Trip",
        "created_at": NOON,
        "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "Where in Spain?", "created_at": NOON, "parent_message_uuid": "0"},
            {"uuid": "2", "sender": "assistant", "text": "Seville.", "created_at": NOON, "parent_message_uuid": "1"},
            {
                "uuid": "3",
                "sender": "human",
                "text": "Where in Portugal?",
                "created_at": NOON,
                "parent_message_uuid": "0",
                "attachments": [{"file_name": "plan.txt", "extracted_content": "Day one"}],
                "files": [{"file_name": "map.png"}],
            },
            {
                "uuid": "4",
                "sender": "assistant",
                "text": "This block is not supported.",
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "tool_use", "name": "search", "input": {}},
                    {"type": "text", "text": "Porto."},
                ],
                "created_at": NOON,
                "parent_message_uuid": "3",
            },
            {"uuid": "5", "sender": "human", "text": "", "created_at": NOON, "parent_message_uuid": "4"},
        ],
    },
    {"name": "no messages"},
]
OPEN_WEBUI: list[Any] = [
    {
        "id": CHAT,
        "user_id": "u1",
        "title": "Trip",
        "chat": {
            "title": "Trip",
            "history": {
                "currentId": "c",
                "messages": {
                    "a": {
                        "id": "a",
                        "parentId": None,
                        "childrenIds": ["b", "c"],
                        "role": "user",
                        "content": "Where to?",
                        "timestamp": SECONDS,
                        "files": [{"name": "map.png"}],
                    },
                    "b": {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "Seville."},
                    "c": {"id": "c", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "Porto."},
                },
            },
        },
    },
    {
        "id": "other",
        "user_id": "u2",
        "chat": {
            "history": {
                "currentId": "a",
                "messages": {"a": {"role": "user", "content": "A secret of another user.", "childrenIds": []}},
            }
        },
    },
    {"id": "broken", "chat": {}},
]
MEM0: Any = {
    "count": 3,
    "next": None,
    "results": [
        {
            "id": "m1",
            "memory": "Lives in Porto",
            "hash": "x",
            "user_id": "alice",
            "metadata": {"city": "Porto"},
            "created_at": "2024-04-01T12:00:00-07:00",
            "updated_at": NOON,
            "categories": ["home"],
        },
        {"id": "m2", "memory": "Bob is vegan", "user_id": "bob", "created_at": NOON, "updated_at": None},
        {"id": "m3", "user_id": "alice"},
    ],
}
MCP_MEMORY = "\n".join(
    [
        '{"type":"entity","name":"John","entityType":"person","observations":["Works at Acme","", 7]}',
        '{"type":"entity","name":"Acme","entityType":"company","observations":[]}',
        '{"type":"relation","from":"John","to":"Acme","relationType":"works_at"}',
        '{"type":"relation","from":"John"}',
        "{broken",
    ]
)
LETTA: Any = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Sam",
            "messages": [
                {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [{"type": "text", "text": "I live in Porto."}],
                    "created_at": NOON,
                },
                {
                    "id": "message-2",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "thinking"}],
                    "created_at": NOON,
                    "tool_calls": [
                        {"id": "t", "function": {"name": "send_message", "arguments": '{"message": "Lovely!"}'}}
                    ],
                },
                {"id": "message-3", "role": "tool", "content": [{"type": "text", "text": "{}"}]},
                "no message",
            ],
        }
    ],
    "blocks": [{"id": "block-0", "label": "human", "value": "Name: Alice"}, {"id": "block-1"}],
    "files": [],
    "sources": [],
    "tools": [],
}
GRAPHITI: Any = {
    "nodes": [{"uuid": "n1", "name": "Alice", "summary": ""}, {"uuid": "n2", "name": "Porto", "group_id": "g"}],
    "episodes": [
        {
            "uuid": "e1",
            "group_id": "g",
            "source": "message",
            "source_description": "chat",
            "valid_at": NOON,
            "content": "Alice (user): I moved to Porto.\nAgent (assistant): Noted.",
        },
        {"uuid": "e2", "content": ""},
    ],
    "edges": [
        {
            "uuid": "f1",
            "group_id": "g",
            "name": "LIVES_IN",
            "fact": "Alice lives in Porto.",
            "valid_at": NOON,
            "source_node_uuid": "n1",
            "target_node_uuid": "n2",
        },
        {
            "uuid": "f2",
            "group_id": "g",
            "name": "LIVES_IN",
            "fact": "Alice lives in Leeds.",
            "valid_at": "2020-01-01T00:00:00Z",
            "invalid_at": NOON,
        },
        {"uuid": "f3", "group_id": "g", "fact": "Bad.", "valid_at": "someday"},
        {"fact": "No identity."},
    ],
}
