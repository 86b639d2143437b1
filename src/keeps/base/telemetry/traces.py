"""OpenTelemetry spans, if an endpoint is configured. They carry names and ids of routes, never contents."""

from __future__ import annotations

from keeps_client.errors import NotConfiguredError


def configure_traces(endpoint: str | None, version: str) -> None:
    """Send spans to OTEL_EXPORTER_OTLP_ENDPOINT. Raises NotConfiguredError if the extra `otel` is not installed."""
    if endpoint is None:
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise NotConfiguredError(
            "OTEL_EXPORTER_OTLP_ENDPOINT needs the packages of an extra: pip install 'keeps[otel]'"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "keeps", "service.version": version}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
