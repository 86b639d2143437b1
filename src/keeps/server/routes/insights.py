"""/v1/insights: what a memory says about itself."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from keeps.server.deps import Reader, answer
from keeps.server.lean import LeanRoute
from keeps_client.models import Insights, JunkAudit

router = APIRouter(prefix="/v1", tags=["insights"], route_class=LeanRoute)


@router.get("/insights", response_model=Insights)
async def get_insights(memory: Reader) -> Response:
    """One's own memory in numbers: totals, growth, use, decay ahead, junk, storage, index lag."""
    return answer(await memory.insights())


@router.get("/insights/junk", response_model=JunkAudit)
async def audit_junk(memory: Reader) -> Response:
    """What a promotion run would promote now, and the share of small talk and mere questions in it."""
    return answer(await memory.audit_junk())
