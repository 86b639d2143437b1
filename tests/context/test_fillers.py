"""Fillers stay in the transcript, but are no hits and no lines of a note or a context."""

from keeps import Keeps, Scope

FILLERS = ("Noted.", "OK.", "Thanks!", "Got it.", "Alles klar, danke!")


async def test_fillers_are_stored_but_no_hits_and_no_lines(living: Keeps, tenant: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    messages: list[dict[str, str]] = [{"role": "user", "content": "The boiler was serviced by Ravi."}]
    for text in FILLERS:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": text}]
    await memory.store_exchange(messages, session_id="one")
    stored = (await memory.list(filters={"session_id": {"eq": "one"}}, limit=50)).items
    assert {item.content for item in stored} >= set(FILLERS)
    hits = (await memory.recall("who serviced the boiler? thanks", limit=10)).hits
    assert hits
    assert not {hit.memory.content for hit in hits} & set(FILLERS)
    inside = (await memory.context("who serviced the boiler?", session_id="one")).text
    await memory.end_session("one")
    (summary,) = (await memory.list(filters={"content_type": {"eq": "session_summary"}})).items
    for text in FILLERS:
        assert text not in inside
        assert text not in summary.content


async def test_fillers_are_hits_where_nothing_else_is(living: Keeps, tenant: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    await memory.store_exchange([{"role": "user", "content": "OK, thanks!"}], session_id="one")
    assert [hit.memory.content for hit in (await memory.recall("what did I say?")).hits] == ["OK, thanks!"]


async def test_an_answer_to_a_question_is_no_filler(living: Keeps, tenant: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    said = [{"role": "assistant", "content": "Shall I book the blue room?"}, {"role": "user", "content": "Yes."}]
    await memory.store_exchange(said, session_id="one")
    assert "Yes." in (await memory.context("Which room?", session_id="one")).text
