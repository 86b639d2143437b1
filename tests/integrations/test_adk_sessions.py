"""ADK's session service with Keeps behind it: what its own services do, and whose sessions are whose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types

from keeps.engine import Keeps
from keeps.integrations.adk import KeepsSessionService
from keeps_client.errors import ForbiddenError, KeepsError
from tests.serving import token

ODD = ("app/with/slashes", "app", "app%2Fwith", "приложение 🐴", "a" * 200)


def event(text: str = "hello", *, author: str = "user", **fields: Any) -> Event:
    delta = fields.pop("delta", {})
    return Event(
        author=author,
        content=types.Content(role="user", parts=[types.Part(text=text)]),
        actions=EventActions(state_delta=delta),
        **fields,
    )


@pytest.fixture
async def service(place: dict[str, Any]) -> AsyncIterator[KeepsSessionService]:
    async with KeepsSessionService(**place) as made:
        yield made


async def begun(service: KeepsSessionService, session_id: str = "s", **fields: Any) -> Session:
    return await service.create_session(**{"app_name": "app", "user_id": "alice", "session_id": session_id, **fields})


async def got(
    service: KeepsSessionService, session_id: str = "s", config: GetSessionConfig | None = None, **whose: Any
) -> Session:
    found = await service.get_session(
        **{"app_name": "app", "user_id": "alice", "session_id": session_id, "config": config, **whose}
    )
    assert found is not None
    return found


async def test_a_session_comes_back_as_it_is(service: KeepsSessionService) -> None:
    session = await begun(service, state={"topic": "bees", "nothing": None})
    whole = Event(
        author="butler",
        invocation_id="i",
        content=types.Content(role="model", parts=[types.Part.from_bytes(data=b"\x89PNG\x00", mime_type="image/png")]),
        grounding_metadata=types.GroundingMetadata(search_entry_point=types.SearchEntryPoint(sdk_blob=b"\x00blob")),
        actions=EventActions(state_delta={"topic": "hens"}, transfer_to_agent="other", artifact_delta={"file": 1}),
        long_running_tool_ids={"tool"},
        custom_metadata={"key": ["value"]},
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1),
        timestamp=1_700_000_000.123,
    )
    await service.append_event(session, whole)
    await service.append_event(session, event("žluťoučký 🐴 שלום"))
    assert await got(service) == session
    assert session.state == {"topic": "hens", "nothing": None}
    assert await service.get_session(app_name="app", user_id="alice", session_id="other") is None
    await service.delete_session(app_name="app", user_id="alice", session_id="s")
    assert await service.get_session(app_name="app", user_id="alice", session_id="s") is None
    await service.delete_session(app_name="app", user_id="alice", session_id="s")


async def test_an_id_is_made_or_kept_and_taken_once(service: KeepsSessionService) -> None:
    assert (await service.create_session(app_name="app", user_id="alice")).id
    assert (await begun(service, " without blanks ")).id == "without blanks"
    with pytest.raises(AlreadyExistsError):
        await begun(service, "without blanks")
    assert (await begun(service, "without blanks", user_id="bob")).user_id == "bob"


async def test_state_by_prefix(service: KeepsSessionService) -> None:
    session = await begun(service, state={"app:a": 1, "user:u": 1, "s": 1, "temp:t": 1})
    assert session.state == {"app:a": 1, "user:u": 1, "s": 1}
    said = event(delta={"app:b": 2, "user:v": 2, "r": 2, "temp:x": 2})
    await service.append_event(session, said)
    assert session.state["temp:x"] == 2
    assert "temp:x" not in said.actions.state_delta
    mine, theirs = await begun(service, "mine"), await begun(service, "theirs", user_id="bob")
    assert mine.state == {"app:a": 1, "app:b": 2, "user:u": 1, "user:v": 2}
    assert theirs.state == {"app:a": 1, "app:b": 2}
    assert (await begun(service, "elsewhere", app_name="other")).state == {}
    assert (await got(service)).state == {"app:a": 1, "app:b": 2, "user:u": 1, "user:v": 2, "s": 1, "r": 2}
    assert await service.get_user_state(app_name="app", user_id="alice") == {"u": 1, "v": 2}
    assert await service.get_user_state(app_name="app", user_id="bob") == {}
    await service.append_event(session, event(delta={"user:u": None, "odd": {1, 2}, "call": len, "inf": float("inf")}))
    assert await service.get_user_state(app_name="app", user_id="alice") == {"u": None, "v": 2}
    assert (await got(service)).state["odd"] == [1, 2]


async def test_the_events_that_are_asked_for(service: KeepsSessionService) -> None:
    session = await begun(service)
    for number in range(1, 6):
        await service.append_event(session, event(str(number), timestamp=float(number)))

    async def times(**config: Any) -> list[float]:
        return [each.timestamp for each in (await got(service, config=GetSessionConfig(**config))).events]

    assert await times() == [1, 2, 3, 4, 5]
    assert await times(num_recent_events=0) == []
    assert await times(num_recent_events=2) == [4, 5]
    assert await times(after_timestamp=4.0) == [4, 5]
    assert await times(after_timestamp=50.0) == []
    assert await times(after_timestamp=2.0, num_recent_events=3) == [3, 4, 5]
    await service.append_event(session, event(partial=True))
    assert len(session.events) == 5


async def test_a_long_session_is_read_whole(service: KeepsSessionService) -> None:
    session = await begun(service)
    for _ in range(3):
        await service.append_event(session, event("x" * 2_000_000))
    assert len((await got(service)).events) == 3
    config = GetSessionConfig(num_recent_events=3)
    assert [each.id for each in (await got(service, config=config)).events] == [each.id for each in session.events]
    with pytest.raises(KeepsError, match="4096 KiB"):
        await service.append_event(session, event("x" * 5_000_000))
    assert len((await got(service)).events) == 3


async def test_whoever_was_overtaken_is_told(service: KeepsSessionService) -> None:
    session = await begun(service)
    for round_ in range(4):
        latest = await got(service)
        writers = [latest.model_copy(deep=True) for _ in range(3)]
        results = await asyncio.gather(
            *(
                service.append_event(writer, event(delta={f"{round_}-{number}": 1, f"user:{round_}-{number}": 1}))
                for number, writer in enumerate(writers)
            ),
            return_exceptions=True,
        )
        assert sorted(type(each).__name__ for each in results) == ["Event", "StaleSessionError", "StaleSessionError"]
    final = await got(service)
    assert (len(final.events), len(final.state)) == (4, 8)
    with pytest.raises(StaleSessionError, match="modified in storage"):
        await service.append_event(session, event())


async def test_appends_to_different_sessions_lose_no_key(service: KeepsSessionService) -> None:
    sessions = [await begun(service, str(number), user_id=f"user-{number % 2}") for number in range(6)]
    await asyncio.gather(
        *(
            service.append_event(each, event(delta={f"app:{number}": 1, f"user:{number}": 1}))
            for number, each in enumerate(sessions)
        )
    )
    assert set((await got(service, "0", user_id="user-0")).state) == {
        *(f"app:{number}" for number in range(6)),
        *(f"user:{number}" for number in (0, 2, 4)),
    }


async def test_a_session_that_went_through_json_can_go_on(service: KeepsSessionService) -> None:
    session = await begun(service)
    await service.append_event(session, event("one"))
    copied = Session.model_validate_json(session.model_dump_json())
    copied.last_update_time -= 0.01
    await service.append_event(copied, event("two"))
    behind = Session.model_validate_json(session.model_dump_json())
    with pytest.raises(StaleSessionError):
        await service.append_event(behind, event("three"))
    assert len((await got(service)).events) == 2


async def test_an_event_that_is_delivered_again_is_one_event(service: KeepsSessionService) -> None:
    session = await begun(service)
    said = event("once", delta={"count": 1})
    await service.append_event(session, said)
    await service.append_event(session, said)
    assert (len((await got(service)).events), len(session.events)) == (1, 1)
    await service.append_event(session, event("and on"))


async def test_a_session_that_is_gone_takes_no_event(service: KeepsSessionService) -> None:
    session = await begun(service)
    await service.delete_session(app_name="app", user_id="alice", session_id="s")
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, event())


async def test_sessions_are_listed_oldest_update_first(service: KeepsSessionService) -> None:
    for number, name in enumerate(("late", "early", "middle")):
        session = await begun(
            service, name, user_id=("alice", "bob", "alice")[number], state={"name": name, "user:n": 1}
        )
        await service.append_event(session, event(timestamp={"late": 9e9, "early": 1.0, "middle": 5e9}[name]))
    own = (await service.list_sessions(app_name="app", user_id="alice")).sessions
    assert [(each.id, each.state["name"], each.events) for each in own] == [
        ("middle", "middle", []),
        ("late", "late", []),
    ]
    everybody = (await service.list_sessions(app_name="app")).sessions
    assert [each.id for each in everybody] == ["early", "middle", "late"]
    assert [each.state["user:n"] for each in everybody] == [1, 1, 1]
    assert (await service.list_sessions(app_name="nothing")).sessions == []


async def test_all_users_are_for_administrators(keeps: Keeps, secured_url: str, tenant: str) -> None:
    async with KeepsSessionService(secured_url, token=token(tenant, "alice", "writer")) as service:
        await begun(service)
        with pytest.raises(ForbiddenError):
            await service.list_sessions(app_name="app")
        with pytest.raises(ForbiddenError):
            await service.get_session(app_name="app", user_id="bob", session_id="s")
        with pytest.raises(ForbiddenError):
            await begun(service, user_id="bob")
    async with KeepsSessionService(secured_url, token=token(tenant, "root", "admin")) as service:
        found = (await service.list_sessions(app_name="app")).sessions
        assert [each.user_id for each in found] == ["alice"]


async def test_no_two_names_run_together(service: KeepsSessionService, keeps: Keeps, tenant: str) -> None:
    for app in ODD:
        for user in ("u/1", "u", "уж", "u:1"):
            await service.create_session(app_name=app, user_id=user, session_id="a/b", state={"who": [app, user]})
    for app in ODD:
        for user in ("u/1", "u", "уж", "u:1"):
            (one,) = (await service.list_sessions(app_name=app, user_id=user)).sessions
            assert (one.id, one.state, one.app_name, one.user_id) == ("a/b", {"who": [app, user]}, app, user)
    other = KeepsSessionService(keeps, tenant_id=f"{tenant}-other")
    assert (await other.list_sessions(app_name="app")).sessions == []
    assert await other.get_session(app_name="app", user_id="u", session_id="a/b") is None
    await other.close()


async def test_a_memory_that_is_away_stops_the_session() -> None:
    async with KeepsSessionService("http://127.0.0.1:9", tenant_id="acme") as service:
        with pytest.raises(KeepsError):
            await begun(service)
