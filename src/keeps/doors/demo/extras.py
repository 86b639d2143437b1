"""Data of the demonstration besides conversations: documents, plans, items, transcripts, entities, questions, a job."""

from __future__ import annotations

from collections.abc import Iterable

from keeps.base.door import through
from keeps.base.scope import Scope
from keeps.doors.demo.story import Turn
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from keeps_client.errors import ConflictError
from keeps_client.models import NewTranscriptEntry

MARK = ("keeps", "demonstration")
"""Namespace of the item that marks a tenant of the demonstration: tenants of these names may be somebody's own."""
OWNER = Scope("harbour", "alice", agent_id="concierge")
QUESTIONS = (
    "What is Alice allergic to?",
    "Where does Alice live now?",
    "Who is Biscuit?",
    "Which song did Alice sing at her wedding?",
)
RELATIONS = (
    (("Alice", "person"), "lives_in", ("Lisbon", "city")),
    (("Alice", "person"), "lived_in", ("Leeds", "city")),
    (("Alice", "person"), "owns", ("Biscuit", "pet")),
    (("Alice", "person"), "sister_of", ("Joanna", "person")),
    (("Dona Graça", "person"), "teaches", ("Alice", "person")),
    (("Joanna", "person"), "married_in", ("Porto", "city")),
    (("Lisbon", "city"), "lies_in", ("Portugal", "country")),
    (("Porto", "city"), "lies_in", ("Portugal", "country")),
)
HANDBOOK = """# House rules for dinner guests

Ask every guest about allergies a week before. Label each dish with nuts, milk, eggs and shellfish.

## Peanuts

Dishes with peanuts are cooked in separate pans, and served on a separate table.
"""


async def mark(keeps: Keeps, owners: Iterable[Scope]) -> None:
    """Mark the tenants of these users as the demonstration's."""
    for owner in owners:
        await keeps.memory(owner).put_item(MARK, "loaded", {"by": "keeps"}, index=False)


async def is_marked(keeps: Keeps, owner: Scope) -> bool:
    """Return whether the tenant of this user of the demonstration is the demonstration's."""
    return await keeps.memory(owner).get_item(MARK, "loaded") is not None


async def add_extras(keeps: Keeps, turns: Iterable[Turn]) -> None:
    """Fill the other pages of the console for the tenants of the demonstration. It can be repeated."""
    talks = dict.fromkeys((turn.scope, str(turn.memory["session_id"])) for turn in turns)
    for scope, session_id in talks:
        try:
            await keeps.memory(scope).create_session(session_id=session_id, name=f"Talk of {session_id}")
        except ConflictError:
            continue
    for scope in dict.fromkeys(scope for scope, _ in talks):
        await keeps.memory(scope).read_entities()
    alice = keeps.memory(OWNER)
    await alice.add_document(HANDBOOK, title="House rules", source="demo/house-rules", tags=["demo"])
    try:
        await alice.create_plan(plan_id="dinner", goal_event="plan the dinner for Alice's birthday")
    except ConflictError:
        pass
    for (source, source_type), relation, (target, target_type) in RELATIONS:
        one = await alice.add_entity(source, entity_type=source_type)
        await alice.add_relation(one, await alice.add_entity(target, entity_type=target_type), relation)
    await alice.store("guests", ["Alice", "Ben", "Chloe"], "dinner")
    await alice.put_item(("harbour", "guests"), "ben", {"diet": "no shellfish"}, index=False)
    entry = NewTranscriptEntry(entry_id="1", entry={"role": "user", "text": "Who comes to the dinner?"})
    await alice.append_to_transcript("concierge", "dinner", [entry], create=True)
    await keeps.service(Lifecycle).run(OWNER.tenant_id, "promotion")
    with through("library"):  # as an agent asks
        for question in QUESTIONS:
            await alice.recall(question)
            await alice.context(question, session_id="dinner")
