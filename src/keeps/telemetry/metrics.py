"""Prometheus metrics. Labels are closed sets: operations, kinds, jobs, routes, codes; never tenants, users or ids."""

from __future__ import annotations

import os
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
JOB_BUCKETS = (0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0)
LAG_BUCKETS = (0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1_800.0, 10_800.0)
TOKEN_BUCKETS = (50, 100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where several workers of one server count together: set before they start."""

# Of several workers: what each asks of the database is the same, what each has open is added up.
_latest = partial(Gauge, multiprocess_mode="mostrecent")
_summed = partial(Gauge, multiprocess_mode="livesum")


def text_of(*registries: CollectorRegistry) -> bytes:
    """What these have counted; where several workers serve, what all of them have."""
    if SHARED not in os.environ:
        return b"".join(map(generate_latest, registries))
    together = CollectorRegistry()
    MultiProcessCollector(together)
    return generate_latest(together)


class Metrics:
    """What an engine measures, whoever drives it: a server, a worker, a program of yours."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.jobs = Counter("keeps_memory_jobs", "Runs of background jobs.", ["job", "success"], registry=registry)
        self.job_rows = Counter("keeps_memory_job_rows", "Rows that jobs changed.", ["job"], registry=registry)
        self.job_seconds = Histogram(
            "keeps_memory_job_seconds",
            "Time of a job over one tenant.",
            ["job"],
            buckets=JOB_BUCKETS,
            registry=registry,
        )
        self.context_seconds = Histogram(
            "keeps_memory_context_seconds", "Time to fill a context.", buckets=BUCKETS, registry=registry
        )
        self.context_tokens = Histogram(
            "keeps_memory_context_tokens", "Tokens of a context.", buckets=TOKEN_BUCKETS, registry=registry
        )
        self.context_sections = Counter(
            "keeps_memory_context_sections", "Contexts that showed a section.", ["section"], registry=registry
        )
        self.context_degraded = Counter(
            "keeps_memory_context_degraded", "Contexts made without some source.", registry=registry
        )
        self.documents = Counter(
            "keeps_memory_documents", "Documents that were sent.", ["format", "outcome"], registry=registry
        )
        self.document_passages = Counter(
            "keeps_memory_document_passages", "Passages of documents, new and known.", ["outcome"], registry=registry
        )
        self.document_seconds = Histogram(
            "keeps_memory_document_parse_seconds",
            "Time to read a document in its own process, the wait included.",
            ["format"],
            buckets=JOB_BUCKETS,
            registry=registry,
        )
        self.queries = Counter(
            "keeps_memory_database_queries", "Questions to databases.", ["dialect", "outcome"], registry=registry
        )
        self.cache = Counter(
            "keeps_memory_cache_requests", "What caches were asked.", ["cache", "result"], registry=registry
        )
        self.llm_calls = Counter("keeps_llm_calls", "Questions to the LLM.", ["job", "success"], registry=registry)
        self.llm_tokens = Counter("keeps_llm_tokens", "Tokens that the LLM counted.", ["job"], registry=registry)
        self.embedding_waiting = _summed(
            "keeps_embedding_queue_texts", "Texts that wait for the embedding model.", ["kind"], registry=registry
        )
        self.embedding_seconds = Histogram(
            "keeps_embedding_seconds",
            "Time until texts were embedded, the wait included.",
            ["kind"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.rerankings = Counter(
            "keeps_rerankings",
            "Questions that the reranker was asked, by what came of it.",
            ["outcome"],
            registry=registry,
        )
        self.reranking_seconds = Histogram(
            "keeps_reranking_seconds",
            "Time until the best hits were read together with their question, the wait included.",
            buckets=BUCKETS,
            registry=registry,
        )
        self.deliveries = Counter(
            "keeps_webhook_deliveries", "Events sent to webhooks.", ["outcome"], registry=registry
        )
        self.delivery_lag = Histogram(
            "keeps_webhook_delivery_lag_seconds",
            "From an event until a webhook took it.",
            buckets=LAG_BUCKETS,
            registry=registry,
        )
        self.webhooks_behind = _latest(
            "keeps_webhooks_behind", "Webhooks with events still to send.", registry=registry
        )
        self.webhook_lag = _latest(
            "keeps_webhook_lag_seconds", "Age of the oldest event still to send.", registry=registry
        )
        self.jobs_queued = _latest(
            "keeps_memory_jobs_queued", "The worker's queue, by status.", ["status"], registry=registry
        )
        self.storage = _latest("keeps_memory_storage_bytes", "Size of the database.", registry=registry)
        self.pool = _summed(
            "keeps_db_pool_connections", "Database connections, by state.", ["state"], registry=registry
        )
        self.pending = _latest(
            "keeps_memory_index_pending", "Memories and items that wait for their vectors.", registry=registry
        )
        self.lag = _latest("keeps_memory_index_lag_seconds", "Age of the oldest that waits.", registry=registry)


class HttpMetrics:
    """What one server measures."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.operations = Counter(
            "keeps_memory_operations",
            "Operations on memories and state.",
            ["operation", "kind", "success"],
            registry=self.registry,
        )
        self.retrieval = Histogram(
            "keeps_memory_retrieval_seconds", "Time to answer a question.", buckets=BUCKETS, registry=self.registry
        )
        self.requests = Counter(
            "keeps_http_requests", "HTTP requests.", ["method", "route", "status"], registry=self.registry
        )
        self.duration = Histogram(
            "keeps_http_request_duration_seconds",
            "Time to answer a request.",
            ["method", "route"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.in_flight = _summed("keeps_http_requests_in_flight", "Requests being answered.", registry=self.registry)
