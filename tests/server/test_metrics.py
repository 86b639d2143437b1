"""Metrics of jobs, contexts, caches, models, webhooks; and the dashboard and alerts that show them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import promql_parser
import pytest
import yaml

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.base.telemetry.metrics import HttpMetrics, Metrics
from keeps.bootstrap import open_keeps
from keeps.doors.server.gauges import Gauges, serving_metrics
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from keeps.models.chat import OpenAIChat
from keeps.store.webhooks.service import WebhookService
from keeps_client.errors import UnavailableError
from keeps_client.models import NewWebhook
from tests.lifecycle.conftest import MovingClock, clock
from tests.scripted_llm import Script

__all__ = ["clock"]

DEPLOY = Path(__file__).parents[2] / "deploy"
SAID = [{"role": "user", "content": "I grew up by the sea, in Whitby, and keep two hens."}]


@pytest.fixture(scope="module")
async def own_url(server: Any, fresh_database: Any) -> str:
    """A database of its own, where no other server delivers webhooks."""
    return server.url("keeps_app", await fresh_database())


@pytest.fixture
async def engine(
    own_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock, valkey_url: str
) -> AsyncIterator[Keeps]:
    """An engine with all its parts: an LLM, a cache, webhooks that may reach loopback."""
    chosen = Settings(
        home=tmp_path,
        database_url=own_url,
        llm_base_url=script.url,
        llm_model="m",
        redis_url=valkey_url,
        webhooks_allow_private=True,
    )
    chat = OpenAIChat("m", base_url=script.url, timeout_seconds=0.5)
    async with await open_keeps(chosen, embedder=shared, clock=clock, chat=chat) as opened:
        yield opened


def value(keeps: Keeps, name: str, **labels: str) -> float:
    return keeps.metrics.registry.get_sample_value(name, labels) or 0.0


async def test_contexts_caches_and_embeddings(engine: Keeps, tenant: str) -> None:
    alice = engine.memory(Scope(tenant, "alice"))
    await alice.remember("Alice works for Nordwind in Oslo.")
    assert value(engine, "keeps_embedding_seconds_count", kind="stored") == 1
    first = await alice.context("Where does Alice work?")
    await alice.context("Where does Alice work?")
    assert value(engine, "keeps_memory_context_seconds_count") == 2
    assert value(engine, "keeps_memory_context_tokens_sum") == 2 * first.tokens
    assert {
        each.name: value(engine, "keeps_memory_context_sections_total", section=each.name) for each in first.sections
    } == {each.name: 2 for each in first.sections}
    assert value(engine, "keeps_memory_context_degraded_total") == 0
    assert value(engine, "keeps_embedding_queue_texts", kind="question") == 0
    await alice.store_exchange(SAID, session_id="s1")
    assert await alice.session_notes("s1") is not None
    assert value(engine, "keeps_memory_cache_requests_total", cache="notes", result="hit") == 1


async def test_jobs_and_the_llm(
    engine: Keeps, script: Script, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = engine.memory(Scope(tenant, "alice"))
    await alice.store_exchange(SAID, session_id="s1")
    await alice.end_session("s1")
    clock.forward(hours=2)
    script.answers = [{"facts": [], "summary": "They grew up in Whitby."}]
    await engine.service(Lifecycle).run(tenant, "sessions")
    assert value(engine, "keeps_llm_calls_total", job="sessions", success="true") == 1
    assert value(engine, "keeps_llm_tokens_total", job="sessions") == 100
    assert (await alice.insights()).llm_tokens == {"sessions": 100}
    assert (await engine.memory(Scope(f"{tenant}-2", "alice")).insights()).llm_tokens == {}, "it is told to its tenant"
    assert value(engine, "keeps_memory_jobs_total", job="sessions", success="true") == 1
    assert value(engine, "keeps_memory_job_rows_total", job="sessions") > 0
    assert value(engine, "keeps_memory_job_seconds_count", job="sessions") == 1
    script.answers = [500]
    await alice.read_entities()
    assert value(engine, "keeps_llm_calls_total", job="graph", success="false") == 1

    async def away(*_: Any) -> None:
        raise UnavailableError("the database cannot be reached")

    monkeypatch.setattr(engine.service(Lifecycle), "_users", away)
    with pytest.raises(UnavailableError):
        await engine.service(Lifecycle).run(tenant, "decay")
    assert value(engine, "keeps_memory_jobs_total", job="decay", success="false") == 1


async def test_a_webhook_that_does_not_answer_is_seen(engine: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = engine.memory(Scope(tenant, "alice"))
    made = await engine.service(WebhookService).add(alice.scope, NewWebhook(url="http://127.0.0.1:9/nobody"))
    await alice.remember("Something to send.")
    while await engine.service(WebhookService).deliver_due():
        pass
    assert value(engine, "keeps_webhook_deliveries_total", outcome="retried") >= 1
    gauges = Gauges(engine)
    await gauges.refresh()
    assert value(engine, "keeps_webhooks_behind") >= 1
    assert value(engine, "keeps_webhook_lag_seconds") > 0
    clock.forward(hours=1)
    for _ in range(8):
        await engine.service(WebhookService).deliver_due()
        clock.forward(hours=7)
    await engine.service(WebhookService).deliver_due()
    assert value(engine, "keeps_webhook_deliveries_total", outcome="given_up") >= 1
    assert (await engine.service(WebhookService).failures(alice.scope, made.webhook_id))[0].attempts == 9
    await engine.service(WebhookService).remove(alice.scope, made.webhook_id)


async def test_a_worker_without_a_server_serves_its_metrics(engine: Keeps) -> None:
    async with serving_metrics(engine, "127.0.0.1", 0) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        async with aiohttp.ClientSession() as http, http.get(url) as answer:
            assert "keeps_memory_storage_bytes" in await answer.text()
        with pytest.raises(UnavailableError, match=f"127.0.0.1:{port}"):
            async with serving_metrics(engine, "127.0.0.1", port):
                pass


def _known() -> dict[str, set[str]]:
    """Every series that a rule may ask for, with the names of its labels."""
    known: dict[str, set[str]] = {"up": {"job", "instance"}}  # Prometheus makes this one.
    for registry in (Metrics().registry, HttpMetrics().registry):
        for collector in set(registry._collector_to_names):  # what `generate_latest` itself walks
            labels = set(getattr(collector, "_labelnames"))  # noqa: B009  of no type that is public
            for name in registry._collector_to_names[collector]:
                known[name] = labels | ({"le"} if name.endswith("_bucket") else set())
    return known


def _expressions() -> Iterator[tuple[str, str]]:
    for group in yaml.safe_load((DEPLOY / "prometheus-alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"]["summary"]
            assert rule["annotations"]["description"]
            assert rule["labels"]["severity"]
            yield rule["alert"], rule["expr"]
    for panel in json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")


@pytest.mark.parametrize(("title", "expression"), [pytest.param(*each, id=each[0]) for each in _expressions()])
def test_dashboard_and_alerts_ask_for_what_there_is(title: str, expression: str) -> None:
    known, asked = _known(), []

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            asked.append(node.name)
            assert node.name in known, f"{title}: no metric is called {node.name}"
            for matcher in node.matchers.matchers:
                assert matcher.name in known[node.name], f"{title}: {node.name} has no label {matcher.name}"
        return True

    promql_parser.walk(promql_parser.parse(expression), visit)
    assert asked


def test_every_metric_is_on_the_dashboard() -> None:
    shown = " ".join(expression for _, expression in _expressions())
    for registry in (Metrics().registry, HttpMetrics().registry):
        for metric in registry.collect():
            assert metric.name in shown, metric.name


def test_panels_have_names_places_and_a_source() -> None:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    assert dashboard["uid"] == "keeps"
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in dashboard["panels"]]
    assert len(set(places)) == len(places), "panels lie on each other"
    assert len({each["id"] for each in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        assert panel["type"] == "row" or panel["datasource"]["uid"] == "${source}"


def test_every_series_is_named_for_keeps_and_in_the_reference() -> None:
    reference = (DEPLOY.parent / "docs" / "reference" / "metrics.md").read_text()
    for registry in (Metrics().registry, HttpMetrics().registry):
        for metric in registry.collect():
            assert metric.name.startswith("keeps_")
            assert f"| `{metric.name}{'_total' if metric.type == 'counter' else ''}` |" in reference
