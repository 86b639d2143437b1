"""/v1/context: what goes into the prompt; /v1/sources: what can be looked up."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Reader, Segment, Writer, answer, answers
from keeps.server.lean import LeanRoute
from keeps_client.models import ContextRequest, ContextResult, NewSource, Receipt, Source

router = APIRouter(prefix="/v1", tags=["context"], route_class=LeanRoute)
SOURCES = TypeAdapter(list[Source])


@router.post("/context", response_model=ContextResult)
async def build_context(request: ContextRequest, memory: Reader) -> Response:
    """What to put into the prompt of a question: Markdown within a budget of tokens, and how it came about."""
    return answer(await memory.services.router.context(memory.scope, request))


@router.post("/sources", status_code=201, response_model=Source)
async def add_source(new: NewSource, memory: Writer) -> Response:
    """Tell agents of something that can be looked up, and what it is good for."""
    return answer(await memory.add_source(new.name, kind=new.kind, purpose=new.purpose, visibility=new.visibility), 201)


@router.get("/sources", response_model=list[Source])
async def list_sources(memory: Reader) -> Response:
    """What can be looked up, as agents are told of it."""
    return answers(SOURCES, await memory.list_sources())


@router.delete("/sources/{name}", response_model=Receipt)
async def remove_source(name: Segment, memory: Writer) -> Response:
    """Tell of it no more."""
    return answer(await memory.remove_source(name))
