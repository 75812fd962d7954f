"""The spans of a controller's decisions, in OpenTelemetry's exporter to memory and at a receiver."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from controller.messages.event import Requester

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed (requirements/test.txt)")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments, Continue
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Change, Deleted, Job, JobKind, Partition, Replicas, TopicPartition
from controller.state.state import Decision
from reassignd import __version__
from reassignd.tracing import job_spans
from reassignd.tracing.job_spans import JOB, STEP, JobIds, JobSpans, Traces
from tests.builders import InMemoryController, key, partition
from tests.reassignd.tracing.receiver import attributes, receiving

SIZE = 100


class SpansRig:
    """A controller whose decisions are followed. A partition has SIZE bytes."""

    def __init__(self, controller: InMemoryController, most: int = 1000) -> None:
        self.controller = controller
        self._memory = InMemorySpanExporter()
        self._traces = Traces(most, self._memory)
        self._spans = self._follow()
        decide = controller.decide

        def followed(event: AnyEvent) -> Decision:
            decision = decide(event)
            self._spans.log_decision(event, decision)
            return decision

        controller.decide = followed  # type: ignore[method-assign]

    def _follow(self) -> JobSpans:
        return self._traces.follow(self.controller.state, "c1", lambda _: SIZE, self.controller.now_ms)

    def follow(self, changes: list[Change]) -> None:
        decision = Decision(self.controller.state, self.controller.now_ms, changes=changes)
        self._spans.log_decision(Continue(), decision)

    def follow_anew(self) -> None:
        """Forget what was followed, as after a restart."""
        self._spans = self._follow()

    def order(self, replicas: Replicas | None, *partitions: int) -> None:
        rows = [AlterRow(number, replicas) for number in partitions]
        self.controller.do(AlterReassignments([AlterTopic("foo", rows)], requester=Requester("User:ann")))

    def found(self) -> list["Found"]:
        """Return the spans that have ended, with their times in milliseconds."""
        self._traces.close()
        return [Found(span) for span in self._memory.get_finished_spans()]

    def steps(self) -> list[tuple[object, ...]]:
        names = ("topic", "partition", "replicas.from", "replicas.to", "outcome")
        return [
            tuple(span.attributes[f"reassignd.{name}"] for name in names)
            for span in self.found()
            if span.name == STEP
        ]

    def jobs(self) -> list["Found"]:
        return [span for span in self.found() if span.name == JOB]


class Found:
    """A span that was exported."""

    def __init__(self, span: ReadableSpan) -> None:
        assert span.context is not None
        self.name, self.resource = span.name, span.resource.attributes
        self.attributes: dict[str, Any] = dict(span.attributes or {})
        self.start_ms, self.end_ms = (span.start_time or 0) // 1_000_000, (span.end_time or 0) // 1_000_000
        self.trace, self.id = span.context.trace_id, span.context.span_id
        self.parent = None if span.parent is None else span.parent.span_id


Make = Callable[..., SpansRig]


@pytest.fixture
def make() -> Make:
    def made(partitions: int = 3, most: int = 1000) -> SpansRig:
        rows = [partition(f"foo-{number}", (1, 2)) for number in range(partitions)]
        return SpansRig(InMemoryController().with_partitions(*rows), most)

    return made


def test_a_job_is_a_root_span_from_its_order_to_its_end(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0, 1)
    rig.controller.now_ms += 48_000
    rig.controller.settle()
    [job] = rig.jobs()
    assert (job.parent, job.start_ms, job.end_ms) == (None, 1_000, 49_000)
    assert job.attributes["reassignd.job.kind"] == "plan"
    assert job.attributes["reassignd.job.principal"] == "User:ann"
    assert (job.attributes["reassignd.job.partitions"], job.attributes["reassignd.job.done"]) == (2, 2)


def test_each_step_is_a_child_in_the_trace_of_its_job(make: Make) -> None:
    rig = make()
    rig.controller.with_limits(replicas=1)
    rig.order((3, 4), 0)
    rig.controller.settle()
    assert len(rig.steps()) > 1
    assert rig.steps()[0][2] == (1, 2)
    assert rig.steps()[-1][3:] == ((3, 4), "done")
    [job] = rig.jobs()
    assert {span.trace for span in rig.found()} == {job.trace}
    assert [span.parent for span in rig.found()] == [job.id] * len(rig.steps()) + [None]


def test_a_step_has_its_times_and_the_bytes_of_its_added_replicas(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.controller.now_ms += 5_000
    rig.controller.catch_up()
    step = rig.found()[0]
    assert (step.start_ms, step.end_ms) == (1_000, 6_000)
    assert step.attributes["reassignd.bytes"] == 2 * SIZE


def test_a_cancelled_step_is_undone_and_has_no_bytes(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.order(None, 0)
    assert rig.steps() == [("foo", 0, (1, 2), (3, 4), "undone")]
    assert "reassignd.bytes" not in rig.found()[0].attributes
    assert rig.jobs()[0].attributes["reassignd.job.rolled_back"] == 1


def test_a_step_ends_when_a_running_kafka_has_deleted_the_topic(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.follow([Deleted(Partition, key("foo-0"))])
    assert rig.steps() == [("foo", 0, (1, 2), (3, 4), "topic deleted")]


def test_a_step_that_another_one_replaces_ends(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.follow([partition("foo-0", (5, 1, 2), adding=(5,))])
    assert rig.steps() == [("foo", 0, (1, 2), (3, 4), "replaced")]


def test_a_step_in_flight_at_a_restart_is_marked_as_resumed(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.controller.now_ms += 5_000
    rig.follow_anew()
    rig.controller.now_ms += 1_000
    rig.controller.catch_up()
    step = rig.found()[0]
    assert (step.start_ms, step.end_ms) == (6_000, 7_000)
    assert step.attributes["reassignd.resumed"] is True
    [job] = rig.jobs()
    assert (step.trace, step.parent) == (job.trace, job.id)


def test_a_large_job_has_spans_of_some_partitions(make: Make) -> None:
    rig = make(partitions=400, most=20)
    rig.order((3, 4), *range(400))
    rig.controller.settle()
    assert 5 <= len(rig.steps()) <= 60
    assert rig.jobs()[0].attributes["reassignd.job.partitions"] == 400


def test_the_same_partitions_are_chosen_after_a_restart(make: Make) -> None:
    found = []
    for restarts in (False, True):
        rig = make(partitions=400, most=20)
        rig.order((3, 4), *range(400))
        if restarts:
            rig.follow_anew()
        rig.controller.settle()
        found.append({TopicPartition(*step[:2]) for step in rig.steps()})  # type: ignore[arg-type]
    assert found[0] == found[1]


def test_what_another_client_moves_has_no_spans() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3), adding=(3,), isr=(1, 2)))
    rig = SpansRig(controller)
    controller.settle()
    assert not controller.state.cluster.partitions["foo"][key("foo-0").partition].moving
    assert rig.found() == []


def ids(cluster: str, job: Job) -> tuple[int, int, int]:
    """Return the ids of the job's span, and a random one after it."""
    made = JobIds()
    made.choose(cluster, job)
    return made.generate_trace_id(), made.generate_span_id(), made.generate_span_id()


ONE = Job(3, JobKind.PLAN, 1_000, "User:ann", None)


def test_the_ids_of_a_job_are_the_same_in_each_process() -> None:
    again = ids("c1", ONE._replace(total=5, ended_ms=2_000))
    assert again[:2] == ids("c1", ONE)[:2]
    assert again[2] != ids("c1", ONE)[2]


def test_each_job_of_each_cluster_has_a_trace_of_its_own() -> None:
    jobs = [ONE, ONE._replace(id=4), ONE._replace(created_ms=2_000)]
    assert len({ids(cluster, job)[:2] for cluster in ("c1", "c2") for job in jobs}) == 6


def test_a_clock_that_was_set_back_gives_no_negative_time(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.controller.now_ms -= 500
    rig.controller.settle()
    assert {(span.start_ms, span.end_ms) for span in rig.found()} == {(1_000, 1_000)}


@pytest.mark.parametrize("sampler", ["always_off", "parentbased_always_off"])
def test_the_sampler_of_opentelemetry_applies(
    make: Make, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    rig = make()
    rig.order((3, 4), 0)
    rig.controller.settle()
    assert rig.found() == []


def test_a_job_and_its_steps_are_sampled_together(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    rig = make(partitions=20)
    for number in range(20):
        rig.order((3, 4), number)
    rig.controller.settle()
    traces = [span.trace for span in rig.found()]
    assert 0 < len(set(traces)) < 20
    assert {traces.count(trace) for trace in traces} == {2}


@pytest.mark.parametrize(("name", "expected"), [(None, "reassignd"), ("moves", "moves")])
def test_the_service_has_our_name_unless_another_is_set(
    make: Make, name: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name is not None:
        monkeypatch.setenv("OTEL_SERVICE_NAME", name)
    rig = make()
    rig.order((3, 4), 0)
    rig.controller.settle()
    resource = rig.jobs()[0].resource
    assert (resource["service.name"], resource["service.version"]) == (expected, __version__)


def test_spans_reach_a_receiver_of_otlp(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        traces = Traces(1000)
        traces.tracer.start_span("step", attributes={"replicas": (1, 2), "done": True}).end()
        traces.close()
        [step] = receiver.spans
    assert attributes(step) == {"replicas": (1, 2), "done": True}


@pytest.mark.timeout(20)  # The SDK alone would wait for 30 s.
def test_a_receiver_that_does_not_answer_delays_the_end_for_a_limited_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(job_spans, "CLOSE_SECONDS", 0.1)
        traces = Traces(1000)
        traces.tracer.start_span("step").end()
        traces.close()
