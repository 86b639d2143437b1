"""Counts and logs each request."""

from __future__ import annotations

from collections.abc import Callable
from logging import DEBUG, INFO, WARNING

from prometheus_client import Counter, Histogram
from starlette.types import Scope

from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import HttpMetrics
from keeps.doors.server.public_routes import PUBLIC_PATHS
from keeps.doors.server.router import Route

_PROBES = frozenset({"/health", "/ready", "/metrics"})
"""Paths that machines ask for every few seconds; successful requests are logged at `debug`."""
_WARNED = frozenset({401, 429, 500, 503})
"""Sign-ins that failed, callers over a limit and failures, which `KEEPS_LOG_LEVEL=warning` logs, too."""
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_RETRIEVAL = frozenset({"recall", "query_knowledge", "search_knowledge", "search_interactions", "get_relevant_skills"})
"""Operations whose duration is measured as retrieval."""
_KINDS = {"atomic": "working", "task-context": "task", "plan-context": "plan", "plans": "plan", "sessions": "session"}


class RequestMetrics:
    """Counts requests by method, route and status, and writes a line of the log for each.

    `client_address`: returns the address of a request's client.
    """

    def __init__(self, metrics: HttpMetrics, client_address: Callable[[Scope], str]) -> None:
        self._metrics = metrics
        self._client_address = client_address
        self._cache: dict[tuple[str, str, int], tuple[list[Counter], list[Histogram]]] = {}

    def begin(self) -> None:
        self._metrics.in_flight.inc()

    def end(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = route_label(scope), scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._metrics.in_flight.dec()
        counters, histograms = self._metrics_of(method, route, status, scope)
        for counter in counters:
            counter.inc()
        for histogram in histograms:
            histogram.observe(seconds)
        self._log(scope, method, route, status, seconds)

    def _log(self, scope: Scope, method: str, route: str, status: int, seconds: float) -> None:
        probe = scope["path"] in _PROBES and status < 400
        level = WARNING if status in _WARNED else DEBUG if probe else INFO
        logger = log()
        if not logger.is_enabled_for(level):
            return
        caller = scope.get("keeps.scope")
        about = {
            "tenant_id": caller and caller.tenant_id,
            "user_id": caller and caller.user_id,
            "agent_id": caller and caller.agent_id,
            "key_id": scope.get("keeps.key_id"),
            "code": scope.get("keeps.code"),
        }
        logger.log(
            level,
            "request",
            request_id=scope["keeps.request_id"],
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1e3, 2),
            address=self._client_address(scope),
            **{name: str(value) for name, value in about.items() if value is not None},
        )

    def _metrics_of(self, method: str, route: str, status: int, scope: Scope) -> tuple[list[Counter], list[Histogram]]:
        """Return the counters and histograms that a request with these labels counts in."""
        if (cached := self._cache.get((method, route, status))) is not None:
            return cached
        counters = [self._metrics.requests.labels(method, route, str(status))]
        histograms = [self._metrics.duration.labels(method, route)]
        matched: Route | None = scope.get("route")
        if matched is not None and matched.endpoint is not None:
            success = "true" if status < 400 else "false"
            counters.append(self._metrics.operations.labels(matched.endpoint.name, _kind(route), success))
            if matched.endpoint.name in _RETRIEVAL:
                histograms.append(self._metrics.retrieval)
        self._cache[method, route, status] = counters, histograms
        return counters, histograms


def route_label(scope: Scope) -> str:
    """Return the template of the route, so that metrics have few labels."""
    path: str = scope["path"]
    if (route := scope.get("route")) is not None:
        return route.path
    return scope.get("keeps.mount") or (path if path in PUBLIC_PATHS else "unknown")


def _kind(route: str) -> str:
    """Return what an operation is about: a CoALA kind, a kind of state, `memory` for any of them, or `admin`."""
    _, _, first, *rest = route.split("/")
    part = rest[0] if first == "memory" and rest else first
    return _KINDS.get(part, "memory" if part in ("memories", "recall") else part)
