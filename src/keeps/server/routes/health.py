"""/health, /ready, /metrics: for those who run it. No credentials, no secrets."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from keeps_client.errors import KeepsError

router = APIRouter(tags=["operations"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Whether the process answers. Never touches the database."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request) -> Response:
    """Whether requests can be served: asks the database. 503 where it does not answer."""
    try:
        await request.app.state.keeps.server_version()
    except KeepsError as error:
        return JSONResponse({"status": "unavailable", "detail": error.detail}, 503)
    return JSONResponse({"status": "ready"})


@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Prometheus metrics."""
    state: Any = request.app.state
    await state.gauges.refresh()
    return Response(
        state.keeps.metrics.text() + state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
