"""Prometheus metrics. Labels are closed sets: operations, kinds, routes, codes; never tenants, users or ids."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.operations = Counter(
            "memory_operations", "Operations on memories and state.", ["operation", "kind", "success"], registry=self.registry
        )  # fmt: skip
        self.retrieval = Histogram(
            "memory_retrieval_seconds", "Time to answer a question.", buckets=BUCKETS, registry=self.registry
        )
        self.storage = Gauge("memory_storage_bytes", "Size of the database.", registry=self.registry)
        self.requests = Counter(
            "http_requests", "HTTP requests.", ["method", "route", "status"], registry=self.registry
        )
        self.duration = Histogram(
            "http_request_duration_seconds", "Time to answer a request.", ["method", "route"], buckets=BUCKETS, registry=self.registry
        )  # fmt: skip
        self.in_flight = Gauge("http_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.pool = Gauge("db_pool_connections", "Database connections, by state.", ["state"], registry=self.registry)
        self.pending = Gauge("memory_index_pending", "Memories that wait for their vector.", registry=self.registry)
        self.lag = Gauge("memory_index_lag_seconds", "Age of the oldest that waits.", registry=self.registry)

    def text(self) -> bytes:
        return generate_latest(self.registry)
