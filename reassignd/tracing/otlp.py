"""The export of spans by OpenTelemetry. This module alone imports it.

Its variables apply: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and so on.
"""

from threading import Thread

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from reassignd import __version__
from reassignd.tracing.span import Span, TraceIds

CLOSE_SECONDS = 2.0
"""How long a stop waits for the last spans to be sent. Those of a receiver that does not answer are lost."""

_MS = 1_000_000


class _Ids(RandomIdGenerator):
    """Random ids, but for root spans, whose ids are given."""

    def __init__(self) -> None:
        self.root: TraceIds | None = None
        """The ids of the root span that is being made."""

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self.root is None else self.root.trace

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self.root is None else self.root.root


class SpanExport:
    """Sends spans in the background, in batches. Spans beyond the queue (OTEL_BSP_MAX_QUEUE_SIZE) are dropped."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        self._ids = _Ids()
        self._provider = TracerProvider(resource=_resource(), id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("reassignd", __version__)

    def export(self, span: Span) -> None:
        """Queue the span. Does not block."""
        self._ids.root = span.ids if span.is_root else None
        made = self._tracer.start_span(
            span.name,
            context=Context() if span.is_root else self._parent(span),
            attributes=span.attributes,
            start_time=span.start_ms * _MS,
        )
        self._ids.root = None
        made.end(max(span.start_ms, span.end_ms) * _MS)

    def close(self) -> None:
        """Send what is queued, for CLOSE_SECONDS at most."""
        # The SDK tries for half a minute, and its time limits do not apply everywhere.
        closing = Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _parent(self, span: Span) -> Context:
        """Return the context of a span whose root is sent later, when the job ends."""
        trace, root = span.ids
        decision = self._provider.sampler.should_sample(None, trace, span.name).decision
        sampled = decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        return set_span_in_context(NonRecordingSpan(SpanContext(trace, root, True, flags)), Context())


def _resource() -> Resource:
    """Return the resource of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, with our name as the default."""
    found = Resource.create({"service.version": __version__})
    if str(found.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        return found.merge(Resource({SERVICE_NAME: "reassignd"}))
    return found
