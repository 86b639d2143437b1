"""serve, token."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keeps.base.settings import AuthMode, Settings
from keeps.doors.cli.command import Answer, command
from keeps.doors.cli.context import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Agent, DatabaseUrl, Home, err
from keeps_client.errors import UnavailableError, ValidationFailedError

if TYPE_CHECKING:
    from types import FrameType

    from starlette.applications import Starlette
    from starlette.types import ASGIApp

    from keeps.doors.server.mounts import Mount


Roles = Annotated[list[str] | None, typer.Option("--role", help="reader, writer, admin or operator; several times.")]


app = typer.Typer()
PROBE_SECONDS = 2.0
"""Seconds to wait for what uses a port to say what it is."""


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.", envvar="KEEPS_HOST")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port; 0 chooses a free one. Default: 8765.", envvar="KEEPS_PORT", min=0, max=65535),
    ] = None,
    auth: Annotated[
        str | None,
        typer.Option(
            help="none (loopback only), jwt, keys, jwt+keys. Default: none on loopback, else keys.", envvar="KEEPS_AUTH"
        ),
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning, error.", envvar="KEEPS_LOG_LEVEL")
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Run no background jobs here; `keeps worker` does.")
    ] = False,
    no_ui: Annotated[bool, typer.Option("--no-ui", help="Do not serve the console (/ui).")] = False,
    workers: Annotated[int, typer.Option(help="Number of processes, each with its own model.", min=1, max=64)] = 1,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Serve HTTP. Ctrl-C stops it after the current requests are answered."""
    from keeps.base.settings import load_settings

    given = {"KEEPS_AUTH": auth, "KEEPS_LOG_LEVEL": log_level, "KEEPS_HOST": host}
    settings = load_settings(
        home=home, database_url=database_url, given={name: value for name, value in given.items() if value}
    )
    settings = replace(settings, port=settings.port if port is None else port)
    _serve(settings, Application(settings, work=not no_worker, console=None if no_ui else token_urlsafe(32)), workers)


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="Port; 0 chooses a free one.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print its address.")] = False,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Open the console in a browser.

    It shows memories, why recall finds them, and what changed. Ctrl-C stops it.
    """
    import webbrowser

    from keeps.base.settings import load_settings

    settings = load_settings(home=home, database_url=database_url, given={"KEEPS_HOST": "127.0.0.1"})
    settings = replace(settings, port=port)

    def opened(address: str) -> None:
        if not (no_browser or webbrowser.open(address)):
            err.print("  no browser found: open the address yourself")

    _serve(settings, Application(settings, work=True, console=token_urlsafe(32)), 1, opened=opened)


def _serve(
    settings: Settings, application: Application, workers: int, *, opened: Callable[[str], None] | None = None
) -> None:
    """Serve the application. `opened` is called with the address of the console when it answers."""
    import uvicorn

    from keeps.base.telemetry.logs import configure_logs, log
    from keeps.doors.cli.workers import serve_alone, serve_by_workers
    from keeps.doors.server.app import auth_of
    from keeps.doors.server.protocol import GuardedProtocol

    mode = auth_of(settings)
    configure_logs(settings.log_level)
    _warn_of_scope()
    listener = _listen(settings.host, settings.port)
    config = uvicorn.Config(
        application,
        factory=True,
        workers=workers,
        loop="uvloop",
        http=GuardedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=30,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=75,
        timeout_worker_healthcheck=60,
    )

    def ready() -> None:
        _banner(settings, mode, listener, workers, ui=application.console is not None)
        if opened is not None:
            opened(f"http://{settings.host}:{listener.getsockname()[1]}/ui/")

    started_at = time.monotonic()
    # Before and after uvicorn listens to Ctrl-C, too, nothing but it ends the server.
    signal.signal(signal.SIGINT, _ignore)
    started, interrupted = (serve_by_workers if workers > 1 else serve_alone)(config, listener, ready)
    if interrupted:
        raise KeyboardInterrupt
    if err.is_terminal:
        err.print("Keeps has stopped" if started else "")
    elif started:
        log().info("stopped")
    if not started:
        took = time.monotonic() - started_at
        raise UnavailableError(f"the server did not start ({took:.0f} s); the log above says why")


def _ignore(number: int, frame: FrameType | None) -> None:
    """Take a signal without an effect. Unlike SIG_IGN, a child process does not inherit this."""


@dataclass(frozen=True, slots=True)
class Application:
    """Makes the application in the process that serves it."""

    settings: Settings
    work: bool
    console: str | None = None
    """Secret that seals cookies of the console without KEEPS_SECRET_KEYS; None: no console."""

    def __call__(self) -> Starlette:
        from keeps import __version__
        from keeps.base.sandbox.limits import keep_descriptors
        from keeps.base.telemetry.logs import configure_logs
        from keeps.base.telemetry.traces import configure_traces
        from keeps.doors.server.app import create_app
        from keeps.engine import Keeps

        settings = self.settings
        # What a worker was handed when it started, its listener too, is inheritable there.
        keep_descriptors()
        configure_logs(settings.log_level)
        configure_traces(settings.otlp_endpoint, __version__)
        # The event loop gets the interpreter back from threads that read text after half a millisecond, not five.
        sys.setswitchinterval(0.0005)
        return create_app(
            settings,
            lambda: Keeps.open(settings.home, database_url=settings.database_url),
            work=self.work,
            mounts=other_protocols(settings, console=self.console is not None),
            door=None if self.console is None else console_door(settings, self.console),
        )


def other_protocols(settings: Settings, *, console: bool = False) -> list[Mount]:
    """Return other products' APIs, the other protocols that are installed or configured, and the console's pages."""
    from keeps.integrations.hindsight import HindsightMount
    from keeps.integrations.mem0 import Mem0Mount

    protocols: list[Mount] = [Mem0Mount(), HindsightMount()]
    if _has_mcp():
        from keeps.integrations.mcp.http import McpMount

        protocols.append(McpMount(settings.secret_keys))
    if settings.openai_upstream is not None:
        from keeps.integrations.openai_proxy import OpenAIMount

        protocols.append(OpenAIMount(settings))
    if console:
        from keeps.doors.console.mount import Console

        protocols.append(Console())
    return protocols


def _has_mcp() -> bool:
    """Return True for an MCP SDK from version 2 on. CrewAI, for one, installs an older one."""
    spec = find_spec("mcp")
    places = () if spec is None else spec.submodule_search_locations or ()
    return any(Path(place, "server", "mcpserver").exists() for place in places)


def console_door(settings: Settings, own: str) -> Callable[[ASGIApp], ASGIApp]:
    """Return the app that signs browsers in to the console.

    `own` seals its cookies if there are no KEEPS_SECRET_KEYS.
    """
    from keeps.doors.console.door import Door
    from keeps.doors.console.sessions import Sessions
    from keeps.doors.server.app import auth_of

    sessions = Sessions(settings.secret_keys, own)
    return lambda app: Door(app, sessions=sessions, open_to_all=auth_of(settings) == "none")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and (url := _served_by_keeps(host, port)):
            raise ValidationFailedError(
                f"Keeps already serves {url}: use it (--url {url}), or choose another port with --port"
                " (0 chooses a free one)"
            ) from None
        taken = ": another program uses this port" if error.errno == errno.EADDRINUSE else ""
        raise ValidationFailedError(
            f"cannot listen on {host}:{port} ({error.strerror}){taken}; choose another with --host and --port"
        ) from None
    return listener


def _served_by_keeps(host: str, port: int) -> str | None:
    """Return the address of a Keeps that serves a port, or None."""
    from keeps.doors.server.public_routes import SERVICE

    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  asks, and does not listen
    connection = HTTPConnection(here, port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/", headers={"Accept": "application/json"})
        answer = json.loads(connection.getresponse().read(10_000))
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()
    shown = f"[{here}]" if ":" in here else here
    return f"http://{shown}:{port}" if isinstance(answer, dict) and answer.get("service") == SERVICE else None


def _warn_of_scope() -> None:
    """Warn that variables which name a caller have no effect on a server."""
    from keeps.base.telemetry.logs import log

    headers = {"KEEPS_TENANT_ID": "X-Tenant-ID", "KEEPS_USER_ID": "X-User-ID", "KEEPS_AGENT_ID": "X-Agent-ID"}
    if not (ignored := [name for name in headers if os.environ.get(name)]):
        return
    asked = ", ".join(headers[name] for name in ignored)
    text = f"{', '.join(ignored)}: ignored by the server; each request names its user ({asked})"
    if err.is_terminal:
        err.print(f"[yellow]{text}[/]")
    else:
        log().warning(text)


def _banner(settings: Settings, mode: AuthMode, listener: socket.socket, workers: int, *, ui: bool) -> None:
    """Print the address: in prose on a terminal, else as one line of the JSON log."""
    from keeps.base.telemetry.logs import log

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    safety = {
        "none": "no authentication: anyone on this machine may act as any user (KEEPS_AUTH=keys or jwt)",
        "jwt": "JSON Web Tokens",
        "keys": "API keys (keeps keys create)",
        "jwt+keys": "JSON Web Tokens and API keys",
    }[mode]
    where = "KEEPS_DATABASE_URL" if settings.database_url else f"embedded PostgreSQL under {settings.home}"
    limits = (
        ""
        if mode == "none"
        else f", {settings.writes_per_minute} writes and {settings.reads_per_minute} reads per user and minute"
    )
    if workers > 1 and limits and settings.redis_url is None:
        limits += f" (per worker process, of {workers}; set KEEPS_REDIS_URL to count them together)"
    about = {
        "database": f"{where}; tenants kept apart by forced row level security",
        "access": f"{safety}{limits}",
        "embedder": settings.embedder,
        **({"reranker": settings.reranker} if settings.reranker != "none" else {}),
    }
    if not err.is_terminal:
        log().info(f"Keeps serves http://{shown}:{port} from now on", auth=mode, workers=workers, ui=ui, **about)
        return
    err.print(
        f"[bold green]Keeps serves[/] http://{shown}:{port}  (try {'/ui and ' if ui else ''}/docs)",
    )
    if workers > 1:
        err.print(f"  workers   {workers}; SIGHUP replaces them one by one")
    for name, text in about.items():
        err.print(f"  {name:<9} {text}")


@command(app)
def token(
    tenant: Annotated[str, typer.Option(help="Tenant of the token.")] = DEFAULT_TENANT_ID,
    user: Annotated[str, typer.Option(help="User of the token.")] = DEFAULT_USER_ID,
    agent: Agent = None,
    role: Roles = None,
    hours: Annotated[float, typer.Option(help="Hours until it expires.", min=0.001, max=8_760)] = 12.0,
) -> Answer:
    """Create a development token, signed with KEEPS_JWT_SECRET. In production, use an identity service."""
    from keeps.base.scope import Scope
    from keeps.base.settings import load_settings
    from keeps.doors.cli.administration import check_roles
    from keeps.store.access.tokens import MIN_SECRET_BYTES, make_token

    roles = role or ["writer"]
    check_roles(roles)
    scope = Scope(tenant, user, agent)
    secret = load_settings().jwt_secret
    if secret is None:
        raise ValidationFailedError(
            "KEEPS_JWT_SECRET is not set; create one with: export KEEPS_JWT_SECRET=$(openssl rand -hex 32)"
        )
    if len(secret.encode()) < MIN_SECRET_BYTES:
        raise ValidationFailedError(
            f"KEEPS_JWT_SECRET is shorter than {MIN_SECRET_BYTES} bytes; create one with: openssl rand -hex 32"
        )
    now = int(time.time())
    claims: dict[str, Any] = {
        "tenant_id": scope.tenant_id,
        "user_id": scope.user_id,
        "roles": roles,
        "iat": now,
        "exp": now + int(hours * 3_600),
    }
    if scope.agent_id:
        claims["agent_id"] = scope.agent_id
    made = make_token(secret, claims)
    return Answer({"token": made, **claims}, lambda: print(made))
