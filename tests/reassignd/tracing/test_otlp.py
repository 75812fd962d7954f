"""The export by OpenTelemetry, to its in-memory exporter and to a receiver that decodes OTLP."""

import socket

import pytest

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed (requirements/test.txt)")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from reassignd import __version__
from reassignd.tracing import otlp
from reassignd.tracing.otlp import SpanExport
from reassignd.tracing.span import Span, TraceIds
from tests.reassignd.tracing.receiver import attributes, receiving

IDS = TraceIds(0xABC, 0xDEF)
STEP = Span(IDS, False, "step", 1_000, 2_000, {"replicas": (1, 2), "done": True})
ROOT = Span(IDS, True, "job", 500, 3_000, {"job": 7})


def exported(*spans: Span) -> tuple[ReadableSpan, ...]:
    memory = InMemorySpanExporter()
    export = SpanExport(memory)
    for span in spans:
        export.export(span)
    export.close()
    return memory.get_finished_spans()


def test_a_step_that_is_sent_before_its_job_is_its_child() -> None:
    step, root = exported(STEP, ROOT)
    assert step.context is not None
    assert root.context is not None
    assert step.parent is not None
    assert (root.parent, root.context.trace_id, root.context.span_id) == (None, 0xABC, 0xDEF)
    assert (step.parent.span_id, step.context.trace_id) == (0xDEF, 0xABC)
    assert step.context.span_id != 0xDEF


def test_times_are_those_of_the_span() -> None:
    [step] = exported(STEP)
    assert (step.start_time, step.end_time) == (1_000_000_000, 2_000_000_000)


def test_a_clock_that_was_set_back_gives_no_negative_time() -> None:
    [step] = exported(STEP._replace(end_ms=10))
    assert step.end_time == step.start_time


@pytest.mark.parametrize("sampler", ["always_off", "parentbased_always_off"])
def test_the_sampler_of_opentelemetry_applies(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    assert exported(STEP, ROOT) == ()


def test_a_job_and_its_steps_are_sampled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    jobs = [TraceIds((number << 60) + 1, number) for number in range(1, 17)]
    spans = [each._replace(ids=ids) for ids in jobs for each in (STEP, ROOT)]
    traces = [span.context.trace_id for span in exported(*spans) if span.context is not None]
    assert 0 < len(set(traces)) < len(jobs)
    assert {traces.count(trace) for trace in traces} == {2}


@pytest.mark.parametrize(("name", "expected"), [(None, "reassignd"), ("moves", "moves")])
def test_the_service_has_our_name_unless_another_is_set(
    name: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name is not None:
        monkeypatch.setenv("OTEL_SERVICE_NAME", name)
    [step] = exported(STEP)
    assert step.resource.attributes["service.name"] == expected
    assert step.resource.attributes["service.version"] == __version__


def test_spans_reach_a_receiver_of_otlp(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        export = SpanExport()
        export.export(STEP)
        export.close()
        [step] = receiver.spans
    assert attributes(step) == {"replicas": (1, 2), "done": True}
    assert (step.trace_id, step.parent_span_id) == ((0xABC).to_bytes(16), (0xDEF).to_bytes(8))


@pytest.mark.timeout(20)  # The SDK alone would wait for 30 s.
def test_a_receiver_that_does_not_answer_delays_the_end_for_a_limited_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(otlp, "CLOSE_SECONDS", 0.1)
        export = SpanExport()
        export.export(STEP)
        export.close()
