"""What botocore tells of a call's attempts is noted once, however many threads share the client."""

from __future__ import annotations

from types import SimpleNamespace

from botocore.hooks import HierarchicalEmitter
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from loomlib.local.sessions.tracing.aws_calls import AwsCalls


class Client:
    """As much of a client of boto3 as spans are made of."""

    def __init__(self) -> None:
        model = SimpleNamespace(service_id="STS")
        self.meta = SimpleNamespace(events=HierarchicalEmitter(), service_model=model, region_name="us-east-1")


def fail_once(client, operation, parameters):
    client.meta.events.emit(f"needs-retry.sts.{operation}", attempts=1, caught_exception=OSError("away"))
    return {}


def test_an_attempt_is_noted_once_though_two_listen_at_once(monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    client = Client()
    for calls in (AwsCalls(), AwsCalls()):  # neither knows that the other listens, as two threads at once do not
        calls.make(fail_once, client, "GetCallerIdentity", {})
    assert [[event.name for event in span.events] for span in exporter.get_finished_spans()] == [["exception"]] * 2
