"""/v1/exchanges, /v1/activities: what is said and done; /v1/sessions/{id}/notes and /end."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from keeps.server.deps import Reader, Segment, Writer, answer
from keeps.server.lean import LeanRoute
from keeps_client.models import ExchangeReceipt, NewActivity, NewExchange, Receipt, SessionNotes

router = APIRouter(prefix="/v1", tags=["conversations"], route_class=LeanRoute)


@router.post("/exchanges", status_code=201, response_model=ExchangeReceipt)
async def store_exchange(new: NewExchange, memory: Writer) -> Response:
    """Store what was said: messages as short-term memories, facts that the user states, and the session's notes."""
    return answer(
        await memory.store_exchange(
            new.messages, session_id=new.session_id, agent_id=new.agent_id, metadata=new.metadata
        ),
        201,
    )


@router.post("/activities", status_code=201, response_model=Receipt)
async def log_activity(new: NewActivity, memory: Writer) -> Response:
    """Keep what an agent did by itself: a short-term memory of little weight."""
    return answer(
        await memory.log_activity(
            new.content, activity=new.activity, session_id=new.session_id, agent_id=new.agent_id, metadata=new.metadata
        ),
        201,
    )


@router.get("/sessions/{session_id}/notes", response_model=SessionNotes | None)
async def session_notes(session_id: Segment, memory: Reader) -> Response:
    """What a conversation is about; null where nothing was said in it."""
    notes = await memory.session_notes(session_id)
    return Response(b"null", media_type="application/json") if notes is None else answer(notes)


@router.post("/sessions/{session_id}/end", response_model=Receipt)
async def end_session(session_id: Segment, memory: Writer) -> Response:
    """End a conversation; the receipt is of the memory that sums it up."""
    return answer(await memory.end_session(session_id))
