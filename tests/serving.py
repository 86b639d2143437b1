"""A real HTTP server around an open engine, for tests."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from keeps.base.clock import utc_now
from keeps.base.settings import Settings
from keeps.doors.cli.serving import console_door, other_protocols
from keeps.doors.server.app import create_app
from keeps.doors.server.protocol import GuardedProtocol
from keeps.engine import Keeps
from keeps.store.access.tokens import make_token

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
JWT_SECRET = "a secret of the tests, long enough for any HMAC that is tried here"


def token(tenant: str, user: str, *roles: str, secret: str = JWT_SECRET, **claims: Any) -> str:
    """A token as the identity service makes them."""
    base = {"tenant_id": tenant, "user_id": user, "roles": list(roles) or ["writer"], "exp": int(time.time()) + 600}
    return make_token(secret, {name: value for name, value in (base | claims).items() if value is not None})


@asynccontextmanager
async def serving(keeps: Keeps, clock: Any = utc_now, **settings: Any) -> AsyncGenerator[str]:
    """The address of a server that uses this engine, and leaves it open."""

    @asynccontextmanager
    async def opening() -> AsyncGenerator[Keeps]:
        yield keeps

    # Named TCP: else asyncio sets no TCP_NODELAY, and the second part of each answer waits 40 ms for an
    # acknowledgement.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    made = Settings(home=Path("unused"), **settings)
    mounts, door = other_protocols(made, console=True), console_door(made, "a secret of the tests")
    app = create_app(made, opening, clock=clock, mounts=mounts, door=door)
    config = uvicorn.Config(
        app, http=GuardedProtocol, log_config=None, access_log=False, ws="none", proxy_headers=False
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.01)
        if task.done():
            task.result()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        app.state.end_streams()
        server.should_exit = True
        await task
        listener.close()
