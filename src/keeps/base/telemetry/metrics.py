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
"""Environment variable with the folder in which the workers of one server count together. Set before they start."""

# With several workers: the newest value for facts about the database, the sum for what each worker has open.
_latest = partial(Gauge, multiprocess_mode="mostrecent")
_summed = partial(Gauge, multiprocess_mode="livesum")


def text_of(*registries: CollectorRegistry) -> bytes:
    """Return the metrics as Prometheus text; with several workers, the totals of all of them."""
    if SHARED not in os.environ:
        return b"".join(map(generate_latest, registries))
    together = CollectorRegistry()
    MultiProcessCollector(together)
    return generate_latest(together)


class Metrics:
    """Metrics of an engine in a server, a worker, or a program that uses the library."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        latest, summed = partial(_latest, registry=self.registry), partial(_summed, registry=self.registry)
        self.jobs = counter("keeps_memory_jobs", "Runs of background jobs.", ["job", "success"])
        self.job_rows = counter("keeps_memory_job_rows", "Rows that jobs changed.", ["job"])
        self.job_seconds = histogram(
            "keeps_memory_job_seconds", "Time of a job over one tenant.", ["job"], buckets=JOB_BUCKETS
        )
        self.context_seconds = histogram("keeps_memory_context_seconds", "Time to fill a context.", buckets=BUCKETS)
        self.context_tokens = histogram("keeps_memory_context_tokens", "Tokens of a context.", buckets=TOKEN_BUCKETS)
        self.context_sections = counter("keeps_memory_context_sections", "Contexts that showed a section.", ["section"])
        self.context_degraded = counter("keeps_memory_context_degraded", "Contexts in which a source failed.")
        self.documents = counter("keeps_memory_documents", "Uploaded documents.", ["format", "outcome"])
        self.document_passages = counter(
            "keeps_memory_document_passages", "Passages of documents, new and existing.", ["outcome"]
        )
        self.document_seconds = histogram(
            "keeps_memory_document_parse_seconds",
            "Time to read a document in its own process, including the wait.",
            ["format"],
            buckets=JOB_BUCKETS,
        )
        self.queries = counter("keeps_memory_database_queries", "Queries of databases.", ["dialect", "outcome"])
        self.cache = counter("keeps_memory_cache_requests", "Cache lookups.", ["cache", "result"])
        self.llm_calls = counter("keeps_llm_calls", "Calls of the LLM.", ["job", "success"])
        self.llm_tokens = counter("keeps_llm_tokens", "Tokens that the LLM counted.", ["job"])
        self.embedding_waiting = summed(
            "keeps_embedding_queue_texts", "Texts that wait for the embedding model.", ["kind"]
        )
        self.embedding_seconds = histogram(
            "keeps_embedding_seconds", "Time to embed texts, including the wait.", ["kind"], buckets=BUCKETS
        )
        self.rerankings = counter("keeps_rerankings", "Questions for the reranker, by outcome.", ["outcome"])
        self.reranking_seconds = histogram(
            "keeps_reranking_seconds",
            "Time of the reranker, including the wait.",
            buckets=BUCKETS,
        )
        self.deliveries = counter("keeps_webhook_deliveries", "Events sent to webhooks.", ["outcome"])
        self.delivery_lag = histogram(
            "keeps_webhook_delivery_lag_seconds",
            "Time from an event to its delivery to a webhook.",
            buckets=LAG_BUCKETS,
        )
        self.webhooks_behind = latest("keeps_webhooks_behind", "Webhooks with unsent events.")
        self.webhook_lag = latest("keeps_webhook_lag_seconds", "Age of the oldest unsent event.")
        self.jobs_queued = latest("keeps_memory_jobs_queued", "The worker's queue, by status.", ["status"])
        self.storage = latest("keeps_memory_storage_bytes", "Size of the database.")
        self.pool = summed("keeps_db_pool_connections", "Database connections, by state.", ["state"])
        self.pending = latest("keeps_memory_index_pending", "Memories and items without a vector of the model.")
        self.lag = latest(
            "keeps_memory_index_lag_seconds", "Age of the oldest memory or item that waits for its first vector."
        )
        self.counts_corrected = counter(
            "keeps_memory_counts_corrected", "Counters of tenants that a check found wrong and corrected.", ["counter"]
        )
        self.state = StateMetrics(self.registry)
        self.costs = CostMetrics(self.registry)


class StateMetrics:
    """Metrics of the databases, disks and backups that an engine uses."""

    def __init__(self, registry: CollectorRegistry) -> None:
        latest = partial(_latest, registry=registry)
        self.database_up = latest("keeps_database_up", "1 if the database of a cell answers, else 0.", ["cell"])
        self.disk_free = latest(
            "keeps_disk_free_bytes", "Free disk of an embedded database (home) and of its backups.", ["cell", "place"]
        )
        self.backup_made = latest(
            "keeps_backup_last_timestamp_seconds",
            "Unix time at which the last backup ended; 0 without one. Absent without `keeps backup on`.",
            ["cell"],
        )
        self.backup_verified = latest(
            "keeps_backup_verified_timestamp_seconds",
            "Unix time of the last `keeps backup verify`; 0 without one.",
            ["cell"],
        )
        self.backup_good = latest(
            "keeps_backup_verified_good", "1 if the last `keeps backup verify` found no fault, else 0.", ["cell"]
        )
        self.log_segments = latest(
            "keeps_backup_log_waiting_segments", "Segments of the log that wait for the backup folder.", ["cell"]
        )
        self.log_bytes = latest("keeps_backup_log_waiting_bytes", "Bytes of these segments.", ["cell"])
        self.log_seconds = latest("keeps_backup_log_waiting_seconds", "Age of the oldest of these segments.", ["cell"])


class CostMetrics:
    """Metrics of models over the network, and of budgets."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter, latest = partial(Counter, registry=registry), partial(_latest, registry=registry)
        self.calls = counter(
            "keeps_model_calls",
            "Requests to models over the network: `answered`, or `failed`, with those sent again. Jobs of embedding"
            " models are `index` and `recall`.",
            ["job", "outcome"],
        )
        self.tokens = counter(
            "keeps_model_tokens", "Tokens of these requests: `sent`, or `answered`.", ["job", "direction"]
        )
        self.seconds = counter("keeps_model_seconds", "Seconds until these requests were answered.", ["job"])
        self.alerts = counter(
            "keeps_budget_alerts",
            "Budgets of a tenant or of the installation that were used by 80 % (`warned`) or completely (`reached`).",
            ["budget", "level"],
        )
        self.used = latest(
            "keeps_budget_used_ratio", "Used share of a budget of the installation in its period.", ["budget"]
        )


class HttpMetrics:
    """Metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.operations = Counter(
            "keeps_memory_operations",
            "Operations on memories and state.",
            ["operation", "kind", "success"],
            registry=self.registry,
        )
        self.retrieval = Histogram(
            "keeps_memory_retrieval_seconds", "Time of a recall or context.", buckets=BUCKETS, registry=self.registry
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
        self.proxy = ProxyMetrics(self.registry)


class ProxyMetrics:
    """Metrics of the OpenAI-compatible proxy."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter = partial(Counter, registry=registry)
        self.contexts = counter(
            "keeps_openai_contexts",
            "Requests to the proxy, by what happened to their context: `added`, `empty`, `failed`, `slow`, or `skipped`"
            " (no text of a user).",
            ["outcome"],
        )
        self.exchanges = counter(
            "keeps_openai_exchanges",
            "Exchanges of the proxy: `stored`, `failed`, or `dropped` (too many waited).",
            ["outcome"],
        )
        self.calls = counter(
            "keeps_openai_upstream_calls",
            "Calls of the model provider: `ok`, `refused` (4xx), `failed` (5xx), `unreachable`, `timeout`, `broken`"
            " (ended early), or `left` (the client disconnected).",
            ["outcome"],
        )
        self.open = _summed("keeps_openai_upstream_open", "Calls of the model provider in progress.", registry=registry)
