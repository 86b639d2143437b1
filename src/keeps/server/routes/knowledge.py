"""/v1/memory/semantic, episodic, procedural: memories under their CoALA names."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Reader, Writer, answer, answers
from keeps.server.lean import LeanRoute
from keeps_client.errors import NotFoundError
from keeps_client.models import (
    EpisodicItem,
    KnowledgeUpsert,
    NewInteraction,
    NewKnowledge,
    NewSkill,
    ProceduralItem,
    SemanticItem,
    Upserted,
)

router = APIRouter(prefix="/v1/memory", tags=["CoALA memory"], route_class=LeanRoute)
SEMANTIC = TypeAdapter(list[SemanticItem])
EPISODIC = TypeAdapter(list[EpisodicItem])
PROCEDURAL = TypeAdapter(list[ProceduralItem])
Question = Annotated[str, Query(min_length=1, max_length=10_000)]
Agent = Annotated[str | None, Query(min_length=1, max_length=255, description="Without it: the agent who asks.")]
Few = Annotated[int, Query(ge=1, le=20)]
Some = Annotated[int, Query(ge=1, le=50)]


@router.post("/semantic", status_code=201, response_model=SemanticItem)
async def store_knowledge(new: NewKnowledge, memory: Writer) -> Response:
    """Store a fact."""
    _own(new.user_id, memory.scope.user_id)
    public = new.is_public if new.public is None else new.public
    return answer(
        await memory.store_knowledge(
            new.content, external_id=new.external_id, is_public=public, metadata=new.metadata, tags=new.tags, source=new.source
        ),
        201,
    )  # fmt: skip


@router.post("/semantic/upsert", response_model=Upserted)
async def upsert_knowledge(new: KnowledgeUpsert, memory: Writer) -> Response:
    """Store a fact, or put it in place of one's own that says the same."""
    _own(new.user_id, memory.scope.user_id)
    return answer(
        await memory.upsert_knowledge(new.content, metadata=new.metadata, dedupe_threshold=new.dedupe_threshold)
    )


@router.post("/semantic/query", response_model=list[SemanticItem])
async def query_knowledge(memory: Reader, query: Question, limit: Some = 5, include_public: bool = True) -> Response:
    """The facts that best answer, best first."""
    return answers(SEMANTIC, await memory.query_knowledge(query, limit=limit, include_public=include_public))


@router.get("/semantic/search", response_model=list[SemanticItem])
async def search_knowledge(memory: Reader, q: Question, limit: Some = 5) -> Response:
    """The facts that best answer, best first."""
    return answers(SEMANTIC, await memory.search_knowledge(q, limit=limit))


@router.post("/episodic", status_code=201, response_model=EpisodicItem)
async def log_interaction(new: NewInteraction, memory: Writer) -> Response:
    """Store what was said or done."""
    _own(new.user_id, memory.scope.user_id)
    return answer(
        await memory.log_interaction(
            new.agent_id, new.role, new.content, metadata=new.metadata, session_id=new.session_id
        ),
        201,
    )


@router.get("/episodic/recent", response_model=list[EpisodicItem])
async def get_recent_history(
    memory: Reader, agent_id: Agent = None, limit: Annotated[int, Query(ge=1, le=200)] = 10
) -> Response:
    """What an agent logged last, newest first."""
    return answers(EPISODIC, await memory.get_recent_history(agent_id, limit=limit))


@router.get("/episodic/search", response_model=list[EpisodicItem])
async def search_interactions(memory: Reader, q: Question, agent_id: Agent = None, limit: Some = 5) -> Response:
    """What an agent logged that best answers, best first."""
    return answers(EPISODIC, await memory.search_interactions(agent_id, q, limit=limit))


@router.post("/procedural", status_code=201, response_model=ProceduralItem)
async def store_skill(new: NewSkill, memory: Writer) -> Response:
    """Store a prompt or example for an agent."""
    _own(new.user_id, memory.scope.user_id)
    return answer(
        await memory.store_skill(
            new.agent_id, new.content, procedure_type=new.procedure_type, trigger_condition=new.trigger_condition
        ),
        201,
    )


@router.get("/procedural/context", response_model=list[ProceduralItem])
async def get_relevant_skills(memory: Reader, q: Question, agent_id: Agent = None, limit: Few = 3) -> Response:
    """The skills of an agent that best fit, best first."""
    return answers(PROCEDURAL, await memory.get_relevant_skills(agent_id, q, limit=limit))


def _own(named: str | None, user_id: str) -> None:
    """A body never chooses its owner; one that names somebody else meant something else than it would get."""
    if named not in (None, user_id):
        raise NotFoundError("the body names another user than the token; leave user_id out")
