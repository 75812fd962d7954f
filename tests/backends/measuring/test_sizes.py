import asyncio
from typing import Any

import pytest

from backends.client.errors import UnreachableError
from backends.measuring import sizes as module
from backends.measuring.sizes import (
    CHECK_SECONDS,
    OFTEN_SECONDS,
    SELDOM_SECONDS,
    STEPS_PER_CHECK,
    Received,
    ReplicaSizes,
    StallWatch,
)
from common.clock import ManualClock, settle
from common.tasks import cancel, spawn
from controller.cluster.config_keys import BROKER_KEYS
from controller.gateway.events import Measured
from controller.messages.event import AnyEvent
from controller.messages.events import Stalled
from controller.model.cluster import (
    Config,
    Partition,
    Reassignment,
    Replicas,
    ResourceType,
    Topic,
    TopicPartition,
)
from controller.model.configs import STEP_TIMEOUT
from controller.model.replicas import StoredReplica, StoredReplicas
from controller.modes import EMBEDDED
from controller.state.cluster import Disk
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.backends.upstream.scripted import Events, Scripted
from tests.builders import InMemoryController, key, partition


class Rig:
    """`held` are the bytes of replicas by broker and name; all brokers have one log directory."""

    def __init__(self) -> None:
        self.client, self.events, self.clock, self.state = (
            Scripted(),
            Events(),
            ManualClock(),
            State(mode=EMBEDDED),
        )
        self.client.answers[DescribeLogDirsRequest] = self._describe
        self.state.cluster.live.update((1, 2, 3))
        self.held: dict[tuple[int, str], int] = {}
        self.dead: set[int] = set()
        self.cordoned: list[str] = []
        """Cordoned directories of every broker (KIP-1066)."""
        self.refusal: DescribeLogDirsResponse | None = None
        """What broker 3 answers instead."""
        self.sizes = ReplicaSizes(self.client, self.state, self.events.submit, self.clock)

    def having(self, name: str, *, adding: Replicas = (), wanted: bool = True) -> None:
        topic, number = key(name)
        if topic not in self.state.cluster.topics:
            self.state.put(Topic(topic, topic.encode().ljust(16)))
        self.state.put(Partition(topic, number, (1, *adding), (1,), 1, adding=adding))
        if wanted:
            self.state.put(Reassignment(topic, number, (1,), (3,), 1))

    def _describe(self, request: DescribeLogDirsRequest, broker: int | None) -> Any:
        if broker in self.dead:
            return UnreachableError("dead")
        if broker == 3 and self.refusal is not None:
            return self.refusal
        asked = None
        if request.topics is not None:
            asked = {(topic.topic, n) for topic in request.topics for n in topic.partitions}
        topics = [
            DescribeLogDirsTopic(
                key(name).topic, [DescribeLogDirsPartition(key(name).partition, size, 0, False)]
            )
            for (where, name), size in self.held.items()
            if where == broker and (asked is None or tuple(key(name)) in asked)
        ]
        failed = DescribeLogDirsResult(56, "/broken")
        rows = [DescribeLogDirsResult(0, "/a", topics, 100, 40)]
        rows += [DescribeLogDirsResult(0, path, [], 100, 0, is_cordoned=True) for path in self.cordoned]
        return DescribeLogDirsResponse(results=[*rows, failed])

    def asked(self) -> list[dict[str, tuple[int, ...]] | None]:
        """What broker 1 was asked for."""
        return [
            None if request.topics is None else {t.topic: tuple(t.partitions) for t in request.topics}
            for request, broker in self.client.asked
            if broker == 1
        ]


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_sizes_are_from_leaders_and_disks_have_their_number_of_replicas(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    rig.held.update({(1, "foo-0"): 50, (3, "foo-0"): 20})
    await rig.sizes.measure()
    disks = {1: [Disk("/a", 100, 40, 1)], 2: [Disk("/a", 100, 40, 0)], 3: [Disk("/a", 100, 40, 1)]}
    stored = {key("foo-0"): [StoredReplica(1, 50, "/a"), StoredReplica(3, 20, "/a")]}
    assert rig.events == [Measured({key("foo-0"): 50}, disks, stored)]
    assert rig.sizes.arrived(key("foo-0"), 3) == 20
    assert rig.sizes.received(key("foo-0")) == Received(20, 0)
    rig.state.cluster.sizes.update(rig.events[0].sizes)
    assert rig.sizes.size(key("foo-0")) == 50
    assert rig.sizes.size(key("foo-1")) is None


async def test_a_replica_keeps_its_last_size_while_its_broker_does_not_answer(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    rig.held.update({(1, "foo-0"): 50, (3, "foo-0"): 70})
    await rig.sizes.measure()
    rig.state.cluster.measure({}, {}, rig.events[-1].stored)
    rig.dead.add(3)
    rig.held[1, "foo-0"] = 60
    await rig.sizes.measure()
    rig.state.cluster.measure({}, {}, rig.events[-1].stored)
    assert rig.sizes.stored(key("foo-0")) == StoredReplicas((1, 3), (60, 70), ("/a", "/a"))


async def test_cordoned_directories_are_marked(rig: Rig) -> None:
    rig.cordoned.append("/old")
    rig.having("foo-0")
    await rig.sizes.measure()
    assert rig.events[0].disks[1] == [Disk("/a", 100, 40, 0), Disk("/old", 100, 0, 0, cordoned=True)]


async def test_partitions_in_flight_are_measured_more_often_than_all(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    rig.having("foo-1")
    await rig.sizes.measure()
    await rig.sizes.measure()
    await rig.clock.advance(SELDOM_SECONDS)
    await rig.sizes.measure()
    assert rig.asked() == [None, {"foo": (0,)}, None]
    assert rig.events[1].disks == {}


async def test_a_new_job_is_measured_immediately(rig: Rig) -> None:
    await rig.sizes.measure()
    rig.state.orders.last_job = 1
    await rig.sizes.measure()
    assert rig.asked() == [None, None]


async def test_nothing_is_measured_while_no_step_is_in_flight(rig: Rig) -> None:
    rig.having("foo-0", wanted=False)
    await rig.sizes.measure()
    await rig.sizes.measure()
    assert rig.asked() == [None]


async def test_the_time_of_the_last_measurement_is_known(rig: Rig) -> None:
    assert rig.sizes.measured() is None
    rig.having("foo-0", adding=(3,))
    for seconds in (0.0, 4.0):
        await rig.clock.advance(4.0)
        await rig.sizes.measure()
        assert rig.sizes.measured() == 4.0 + seconds


async def test_nothing_in_flight_is_a_measurement_too(rig: Rig) -> None:
    await rig.sizes.measure()
    await rig.clock.advance(5.0)
    await rig.sizes.measure()
    assert rig.sizes.measured() == 5.0


async def test_a_broker_that_does_not_answer_is_left_out(rig: Rig) -> None:
    rig.dead.add(2)
    await rig.sizes.measure()
    assert set(rig.events[0].disks) == {1, 3}


async def test_an_adding_replica_missing_from_an_answer_has_no_bytes(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    assert rig.sizes.received(key("foo-0")) is None
    await rig.clock.advance(1)
    await rig.sizes.measure()
    assert rig.sizes.received(key("foo-0")) == Received(0, 1)


@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        (DescribeLogDirsResponse(), "it names no usable directory"),
        (DescribeLogDirsResponse(results=[DescribeLogDirsResult(56, "/a")]), "it names no usable directory"),
        (DescribeLogDirsResponse(error_code=31), "CLUSTER_AUTHORIZATION_FAILED"),
        (DescribeLogDirsResponse(error_code=999), "error 999"),
    ],
)
async def test_an_unauthorized_answer_leaves_sizes_unknown_and_is_logged_once(
    rig: Rig, refusal: DescribeLogDirsResponse, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig.having("foo-0", adding=(3,))
    rig.refusal = refusal
    await rig.sizes.measure()
    await rig.sizes.measure()
    assert rig.sizes.received(key("foo-0")) is None
    assert caplog.text.count(f"broker 3 does not report its sizes: {why}") == 1


async def test_a_broker_that_does_not_answer_is_logged_once_and_so_is_its_return(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rig.having("foo-0", adding=(3,))
    rig.dead.add(3)
    await rig.sizes.measure()
    await rig.sizes.measure()
    rig.dead.clear()
    await rig.sizes.measure()
    await rig.sizes.measure()
    assert caplog.messages == [
        "broker 3 does not report its sizes: dead",
        "broker 3 answers again when asked for its sizes",
    ]


async def test_the_age_of_a_measurement_is_that_of_the_oldest_live_broker(rig: Rig) -> None:
    rig.having("foo-0", adding=(2, 3))
    rig.held[3, "foo-0"] = 20
    await rig.sizes.measure()
    rig.dead.add(3)
    await rig.clock.advance(5)
    await rig.sizes.measure()
    assert rig.sizes.received(key("foo-0")) == Received(20, 0)
    rig.state.cluster.live.discard(3)
    assert rig.sizes.received(key("foo-0")) == Received(20, 5)


async def test_brokers_are_measured_concurrently(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    async def never(_: Any, broker: int | None) -> None:
        asked.append(broker)
        await asyncio.Event().wait()

    monkeypatch.setattr(rig.client, "ask", never)
    measuring = spawn(rig.sizes.measure(), "measuring")
    await settle()
    await cancel(measuring)
    assert asked == [1, 2, 3]


async def test_progress_is_discarded_when_the_step_ends(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    rig.held[3, "foo-0"] = 20
    await rig.sizes.measure()
    rig.having("foo-0")
    rig.having("foo-1", adding=(3,))
    await rig.sizes.measure()
    assert rig.sizes.arrived(key("foo-0"), 3) is None


async def test_in_a_large_cluster_topics_with_reassignments_take_turns(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 4)
    for topic in ("a", "b", "c"):
        rig.having(f"{topic}-0")
        rig.having(f"{topic}-1")
    rig.having("quiet-0", wanted=False)
    for _ in range(3):
        await rig.sizes.measure()
        await rig.clock.advance(SELDOM_SECONDS)
    both = (0, 1)
    assert rig.asked() == [{"a": both, "b": both}, {"a": both, "c": both}, {"b": both, "c": both}]
    assert {disk.replicas for disks in rig.events[0].disks.values() for disk in disks} == {0}


async def test_run_measures_repeatedly(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    running = spawn(rig.sizes.run(), "sizes")
    await rig.clock.advance(2 * OFTEN_SECONDS)
    await cancel(running)
    assert len(rig.asked()) == 3


async def test_unknown_sizes_are_requested_from_leaders(rig: Rig) -> None:
    for name in ("foo-0", "foo-1", "bar-0"):
        rig.having(name)
    rig.held.update({(1, "foo-0"): 50, (1, "foo-1"): 60})
    rig.state.cluster.sizes[key("foo-0")] = 50
    await rig.sizes.learn(["foo", "never"])
    assert rig.asked() == [{"foo": (1,)}]
    assert rig.events == [Measured({key("foo-1"): 60}, {}, {key("foo-1"): [StoredReplica(1, 60, "/a")]})]


async def test_known_sizes_are_not_requested_again(rig: Rig) -> None:
    rig.having("foo-0")
    rig.state.cluster.sizes[key("foo-0")] = 0
    await rig.sizes.learn(["foo"])
    assert (rig.asked(), rig.events) == ([], [])


async def test_requests_for_unknown_sizes_have_a_time_limit(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any) -> None:
        await asyncio.Event().wait()

    rig.having("foo-0")
    monkeypatch.setattr(module, "LEARN_SECONDS", 0.01)
    monkeypatch.setattr(rig.client, "ask", never)
    await rig.sizes.learn(["foo"])
    assert rig.events == []


async def test_a_leader_without_an_answer_delays_no_request(rig: Rig) -> None:
    rig.having("foo-0")
    rig.dead.add(1)
    await rig.sizes.learn(["foo"])
    assert rig.events == []


async def test_a_broker_is_asked_only_for_its_own_replicas(rig: Rig) -> None:
    rig.having("foo-0", adding=(3,))
    rig.having("bar-0", adding=(2,))
    await rig.sizes.measure()
    rig.client.asked.clear()
    await rig.sizes.measure()
    asked = {
        broker: {topic.topic: topic.partitions for topic in request.topics or ()}
        for request, broker in rig.client.asked
    }
    assert asked == {1: {"foo": (0,), "bar": (0,)}, 2: {"bar": (0,)}, 3: {"foo": (0,)}}


TIMEOUT = int(BROKER_KEYS[STEP_TIMEOUT].default) / 1000


class Watched:
    """One partition that moves from 1 to 2, and the bytes of it that broker 2 has at each measurement."""

    def __init__(self) -> None:
        self.controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
        self.controller.alter({"foo-0": (2,)})
        self.told: Received | None = None
        self.watch = StallWatch(self.controller.state, lambda _: self.told)
        self.look(0)

    def look(self, at: float, size: float = 0) -> list[TopicPartition]:
        self.told = Received(size, at)
        return self.watch.check()


def test_a_step_without_progress_for_the_timeout_is_stalled() -> None:
    watched = Watched()
    assert watched.look(TIMEOUT - 1) == []
    assert watched.look(TIMEOUT) == [key("foo-0")]


def test_a_step_with_some_progress_is_not_stalled() -> None:
    watched = Watched()
    assert watched.look(TIMEOUT - 1, size=1) == []
    assert watched.look(TIMEOUT, size=1) == []


def test_a_step_without_new_measurements_is_not_stalled() -> None:
    watched = Watched()
    assert [watched.look(TIMEOUT - 1), watched.watch.check()] == [[], []]
    watched.told = None
    assert watched.watch.check() == []
    assert [watched.look(TIMEOUT + 1), watched.look(2 * TIMEOUT)] == [[], []]
    assert watched.look(2 * TIMEOUT + 1) == [key("foo-0")]


def test_the_timeout_is_a_cluster_wide_config() -> None:
    watched = Watched()
    watched.controller.put(Config(ResourceType.BROKER, "", STEP_TIMEOUT, "5000"))
    assert watched.look(5) == [key("foo-0")]


def test_progress_of_ended_steps_is_discarded() -> None:
    watched = Watched()
    watched.controller.settle()
    assert watched.look(TIMEOUT) == []


def test_a_check_is_bounded_and_steps_take_turns() -> None:
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{n}", (1,)) for n in range(STEPS_PER_CHECK + 1))
    )
    controller.alter({f"foo-{n}": (2,) for n in range(STEPS_PER_CHECK + 1)})
    asked: list[TopicPartition] = []

    def received(name: TopicPartition) -> None:
        asked.append(name)

    watch = StallWatch(controller.state, received)
    watch.check()
    assert len(asked) == STEPS_PER_CHECK
    watch.check()
    assert len(set(asked)) == STEPS_PER_CHECK + 1


async def test_stalled_steps_are_submitted() -> None:
    clock, told = ManualClock(), list[AnyEvent]()

    async def submit(event: AnyEvent) -> Any:
        told.append(event)

    watched = Watched()
    watched.told = Received(0, TIMEOUT)
    task = spawn(watched.watch.run(clock, submit), "stalls")
    await clock.advance(CHECK_SECONDS)
    await cancel(task)
    assert told == [Stalled([key("foo-0")])]
