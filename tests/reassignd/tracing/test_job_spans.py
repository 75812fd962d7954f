"""The spans that the decisions of a controller give."""

from collections.abc import Callable

import pytest

from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments, Continue
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Change, Deleted, Partition, Replicas, TopicPartition
from controller.state.decision import Decision
from reassignd.tracing.job_spans import JOB, STEP, JobSpans
from reassignd.tracing.span import Span
from tests.builders import InMemoryController, key, partition

SIZE = 100


class SpansRig:
    """A controller whose decisions are followed. A partition has SIZE bytes."""

    def __init__(self, controller: InMemoryController, most: int = 1000) -> None:
        self.controller = controller
        self.found: list[Span] = []
        self._most = most
        self._spans = self._follow()
        decide = controller.decide

        def followed(event: AnyEvent) -> Decision:
            decision = decide(event)
            self._spans.log_decision(event, decision)
            return decision

        controller.decide = followed  # type: ignore[method-assign]

    def _follow(self) -> JobSpans:
        now_ms = self.controller.now_ms
        return JobSpans(self.controller.state, "c1", lambda _: SIZE, self.found.append, self._most, now_ms)

    def follow(self, changes: list[Change]) -> None:
        decision = Decision(self.controller.state, self.controller.now_ms, changes=changes)
        self._spans.log_decision(Continue(), decision)

    def follow_anew(self) -> None:
        """Forget what was followed, as after a restart."""
        self._spans = self._follow()

    def order(self, replicas: Replicas | None, *partitions: int) -> None:
        rows = [AlterRow(number, replicas) for number in partitions]
        self.controller.do(AlterReassignments([AlterTopic("foo", rows)], principal="User:ann"))

    def steps(self) -> list[tuple[object, ...]]:
        names = ("topic", "partition", "replicas.from", "replicas.to", "outcome")
        return [
            tuple(span.attributes[f"reassignd.{name}"] for name in names)
            for span in self.found
            if span.name == STEP
        ]

    def jobs(self) -> list[Span]:
        return [span for span in self.found if span.name == JOB]


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
    assert (job.is_root, job.start_ms, job.end_ms) == (True, 1_000, 49_000)
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
    assert {span.ids for span in rig.found} == {rig.jobs()[0].ids}
    assert [span.is_root for span in rig.found] == [False] * len(rig.steps()) + [True]


def test_a_step_has_its_times_and_the_bytes_of_its_added_replicas(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.controller.now_ms += 5_000
    rig.controller.catch_up()
    step = rig.found[0]
    assert (step.start_ms, step.end_ms) == (1_000, 6_000)
    assert step.attributes["reassignd.bytes"] == 2 * SIZE


def test_a_cancelled_step_is_undone_and_has_no_bytes(make: Make) -> None:
    rig = make()
    rig.order((3, 4), 0)
    rig.order(None, 0)
    assert rig.steps() == [("foo", 0, (1, 2), (3, 4), "undone")]
    assert "reassignd.bytes" not in rig.found[0].attributes
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
    step = rig.found[0]
    assert (step.start_ms, step.end_ms) == (6_000, 7_000)
    assert step.attributes["reassignd.resumed"] is True
    assert step.ids == rig.jobs()[0].ids


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
    assert not controller.state.partitions["foo"][key("foo-0").partition].moving
    assert rig.found == []
