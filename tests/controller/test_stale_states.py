"""Each event is accepted in each state whose records are older than the cluster; none raises an exception."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import product

import pytest

from common.error_codes import ErrorCode
from controller import machine
from controller.gateway.events import (
    BrokerRatesSeen,
    CordonRefused,
    DirsRemoved,
    LeasesImported,
    Measured,
    Submitted,
    ThrottleRead,
    TopicConfigsSeen,
    Unreachable,
    UpstreamMove,
    UpstreamPartition,
    UpstreamPolled,
    UpstreamTopic,
)
from controller.gateway.steps import name_suspects
from controller.messages.disk_events import (
    Ask,
    CancelMoves,
    DisksSeen,
    MoveDisks,
    MovesRefused,
    OrderedMove,
    SeenBroker,
    SeenDir,
    SeenLog,
)
from controller.messages.event import AnyEvent, Requester
from controller.messages.events import (
    AlterConfigs,
    AlterPartition,
    AlterReassignments,
    AlterScramCredentials,
    BrokerChanged,
    BrokerStarted,
    BrokerStopped,
    ConfigsStored,
    Continue,
    ControlledShutdown,
    ControllerStarted,
    CreateAcls,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    Halt,
    HoursMeasured,
    IsrChange,
    LogDirFailed,
    NewPartitions,
    NewTopic,
    PartitionsStored,
    PeriodChanged,
    RebalanceLeaders,
    ReplicasDeleted,
    ResourceChanges,
    Stalled,
    TopicStored,
    UserChange,
)
from controller.messages.held_events import DecideHeld, Hold, SubmitHeld
from controller.messages.job_events import (
    AlterRow,
    AlterTopic,
    LimitJob,
    Pause,
    PlannedSteps,
    Prioritize,
    Prune,
    Queue,
    Reorder,
    RollBackJob,
    ThrottleJob,
)
from controller.messages.task_events import TaskEnded
from controller.model.access import Acl, AclFilter, Operation, PatternType, Permission, ResourceKind
from controller.model.cluster import Broker, Partition, ResourceType, Topic
from controller.model.configs import LEADER_RATE, LEADER_REPLICAS, ConfigChange, ConfigOp, ThrottleLease
from controller.model.disks import BrokerDir, BrokerReplica
from controller.model.errors import Outcome
from controller.model.held_requests import HeldRequest
from controller.model.jobs import PlannedStep
from controller.model.load_hours import LoadHours
from controller.model.tasks import UserTask
from controller.pace.readings import Copied, PaceMeasured, Probe, Produced, Source
from controller.state.cluster import Disk
from controller.views.jobs import parts, queued, totals
from controller.views.reassignments import counts, ongoing
from tests.builders import InMemoryController, key, partition, records, registration
from tests.controller.kraft import Gateway, own
from tests.examples import QUICK, some

NAMES = ["foo-0", "foo-1", "foo-2", "bar-0", "bar-1", "new-0"]
KEYS = [key(name) for name in NAMES]
LOOKS = 11
"""Number of polls, more than a second apart, that confirm a discrepancy."""
BUSY = Outcome(ErrorCode.REQUEST_TIMED_OUT)
REFUSED = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no")


def rows(*replicas: int) -> list[AlterTopic]:
    """Return one AlterRow with these replicas for each partition; without replicas, it cancels."""
    target = replicas or None
    return [AlterTopic(name.topic, [AlterRow(name.partition, target)]) for name in KEYS]


def seen(*names: str) -> list[UpstreamTopic]:
    shown = UpstreamPartition((1, 2), (1, 2), 1, 0)
    return [UpstreamTopic(name, name.encode().ljust(16, b"x"), {0: shown, 1: shown}) for name in names]


SOME_ACL = Acl(
    ResourceKind.TOPIC, "foo", PatternType.LITERAL, "User:a", "*", Operation.READ, Permission.ALLOW
)

REPLICAS = [BrokerReplica(*name, 1) for name in KEYS]
SHOWN = SeenBroker({"/a": SeenDir(), "/b": SeenDir()}, {name: SeenLog("/a", 1) for name in KEYS})

EVENTS: list[AnyEvent] = [
    AlterReassignments(None),
    AlterReassignments(rows(7, 8)),
    AlterReassignments(rows()),
    AlterReassignments([AlterTopic(topic, None) for topic in ("foo", "bar", "new")]),
    *(AlterReassignments([row]) for target in (None, (7, 8)) for row in rows(*target or ())),
    *(AlterReassignments([row, row]) for row in rows()),
    CreateTopics([NewTopic(name, name.encode().ljust(16, b"n"), 2, 1) for name in ("bar", "new")]),
    DeleteTopics(["foo", "bar", "new"]),
    *(ReplicasDeleted(broker, KEYS) for broker in range(1, 4)),
    CreatePartitions([NewPartitions("foo", 4), NewPartitions("bar", 4)]),
    AlterConfigs(
        [
            ResourceChanges(
                ResourceType.TOPIC, "bar", [ConfigChange("min.insync.replicas", ConfigOp.SET, "2")]
            ),
            ResourceChanges(
                ResourceType.BROKER, "", [ConfigChange("min.insync.replicas", ConfigOp.SET, "2")]
            ),
        ]
    ),
    ElectLeaders(ElectionType.PREFERRED, None),
    ElectLeaders(ElectionType.UNCLEAN, KEYS),
    RebalanceLeaders(0),
    CreateAcls([SOME_ACL]),
    DeleteAcls([AclFilter()]),
    AlterScramCredentials([UserChange("anna", {"SCRAM-SHA-256": None})]),
    ControllerStarted([registration(broker) for broker in range(1, 9)]),
    BrokerStarted(registration(3)),
    BrokerStopped(3),
    BrokerChanged(registration(4)._replace(port=1)),
    ControlledShutdown(3, -1),
    LogDirFailed(1, KEYS),
    AlterPartition(1, -1, [IsrChange(*name, 0, (1, 2), 0) for name in KEYS]),
    *(RollBackJob(job) for job in range(1, 6)),
    Queue(rows(7, 8), append=True),
    Queue(rows(7, 8)),
    Pause(None, True),
    Pause(None, False),
    *(Pause(job, paused) for job in range(1, 6) for paused in (True, False)),
    *(Prioritize(job, 5) for job in range(1, 6)),
    *(ThrottleJob(job, 5) for job in range(1, 6)),
    *(LimitJob(job, {"partitions": value}) for job in range(1, 6) for value in (1, None)),
    *(
        Reorder(job, [PlannedSteps(name, (1, 2), [PlannedStep(0, (3, 4))]) for name in KEYS])
        for job in range(1, 6)
    ),
    Prune(1 << 60, 0),
    HoursMeasured(LoadHours(0, 1, "orders\tf00\t0\t12", "eJw=")),
    TaskEnded(UserTask("a-b", 1, "rebalance", "POST /x", "ip", "User:a", True, False, "")),
    MoveDisks([OrderedMove(*replica, "/a", "/b") for replica in REPLICAS]),
    *(MoveDisks([OrderedMove(*replica, "/a", "/b")]) for replica in REPLICAS),
    DisksSeen({1: REPLICAS}, {1: SHOWN}),
    DisksSeen({1: REPLICAS}, {}, {1: "it does not answer"}),
    DisksSeen({1: REPLICAS}, {1: SHOWN._replace(futures={name: SeenLog("/b", 1) for name in KEYS})}),
    MovesRefused([(Ask(replica, "/b"), "refused by broker 1") for replica in REPLICAS]),
    *(CancelMoves(job) for job in (None, *range(1, 9))),
    Hold(HeldRequest(0, 0, "rebalance", "", "", "ip", "User:a"), Requester("User:a")),
    DecideHeld([1], [], "fine", Requester("User:b")),
    SubmitHeld(1, "rebalance", Requester("User:a")),
    Stalled(KEYS),
    Continue(),
    PeriodChanged(),
    PeriodChanged(),
    PaceMeasured(1.0, Source.CANARY, [Probe(3, [4], [5.0])], {3: Copied(1e6, 1)}, Produced(1e6, {3: 1e5})),
    UpstreamPolled(None, [], {}, whole=True),
    UpstreamPolled(None, seen("foo", "bar", "new"), {}, whole=True),
    UpstreamPolled([], seen("bar"), {name: UpstreamMove((5, 6, 1, 2), (5, 6), (1, 2)) for name in KEYS}),
    Unreachable("connection refused"),
    Submitted([(name, target, BUSY) for name in KEYS for target in ((3, 4), None)]),
    Submitted([(name, target, REFUSED) for name in KEYS for target in ((3, 4), (4,), None)]),
    Submitted([(name, target, Outcome()) for name in KEYS for target in ((3, 4), (4,), None)]),
    Measured(dict.fromkeys(KEYS, 5), {3: [Disk("/a", 10, 1, 1)]}),
    TopicConfigsSeen({"bar": {"min.insync.replicas": "2"}, "foo": {"min.insync.replicas": None}}),
    BrokerRatesSeen({3: {LEADER_RATE: "5"}, 99: {LEADER_RATE: "5"}}),
    CordonRefused(3, "it is older", "*"),
    DirsRemoved([BrokerDir(3, "/a")]),
    LeasesImported([ThrottleLease(ResourceType.TOPIC, "foo", LEADER_REPLICAS, "0:3", None)]),
    ThrottleRead(
        {(ResourceType.TOPIC, "foo"): {LEADER_REPLICAS: "0:3,7:7"}, (ResourceType.BROKER, "3"): {}}, {}
    ),
    PartitionsStored([partition(name, (1, 2), partition_epoch=9) for name in NAMES]),
    TopicStored("bar", b"b" * 16, [partition("bar-0", (1, 2)), partition("bar-1", (1, 2))]),
    ConfigsStored(ResourceType.TOPIC, "bar", {"min.insync.replicas": "2"}),
    Halt(True),
    Halt(False),
]


def busy() -> Gateway:
    """Return a gateway with steps and reassignments in every state.

    There are undone and completed steps, blocked, queued and paused reassignments, and external
    moves.
    """
    gateway = Gateway(*((name, (1, 2)) for name in NAMES[:5]))
    gateway.alter({"foo-0": (3, 4), "bar-0": (3, 4)})
    gateway.settle()
    gateway.alter({"foo-0": (5, 6), "foo-1": (3, 4), "bar-0": (5, 6), "bar-1": (3, 4)})
    gateway.deliver()
    gateway.poll()
    gateway.default("reassignment.max.concurrent.partition.movements", "1")
    gateway.do(Queue([AlterTopic("bar", [AlterRow(0, (7, 8))]), AlterTopic("foo", [AlterRow(0, (7, 8))])]))
    gateway.kafka.alter(key("foo-2"), (3, 4))
    gateway.poll()
    gateway.do(Queue([AlterTopic("foo", [AlterRow(2, (7, 8))])], append=True))
    gateway.alter({"foo-1": (1,)})
    gateway.do(Pause(2, True))
    return gateway


def blocked() -> Gateway:
    """Return a gateway whose moves were all cancelled by another client, with one undone step."""
    gateway = busy()
    for name in KEYS[:5]:
        gateway.kafka.alter(name, None)
    for _ in range(2 * LOOKS):
        gateway.now_ms += 1_000
        gateway.poll()
    return gateway


def limited() -> Gateway:
    """Return a gateway with one step in flight and plans that wait for it."""
    gateway = Gateway(*((name, (1, 2)) for name in NAMES[:5]))
    gateway.default("reassignment.max.concurrent.partition.movements", "1")
    gateway.alter(dict.fromkeys(NAMES[:5], (3, 4)))
    gateway.deliver()
    return gateway


def stopped() -> Gateway:
    """Return a gateway whose steps in flight were left by cancels with mode `stop`."""
    gateway = limited()
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": None, "bar-0": None})
    gateway.default("reassignment.cancel.mode", None)
    return gateway


def without_topic(gateway: Gateway) -> None:
    for name in KEYS[3:]:
        gateway.kafka.delete(name)


def without_partition(gateway: Gateway) -> None:
    for name in (KEYS[2], KEYS[4]):
        gateway.kafka.delete(name)


def without_anything(gateway: Gateway) -> None:
    for name in KEYS:
        gateway.kafka.delete(name)


def without_brokers(gateway: Gateway) -> None:
    gateway.kafka.brokers -= {3, 4, 5}


def moved_by_others(gateway: Gateway) -> None:
    for name in KEYS[:5]:
        gateway.kafka.alter(name, (8, 7))


def unchanged(gateway: Gateway) -> None:
    """Change nothing."""


CHANGES = [without_topic, without_partition, without_anything, without_brokers, moved_by_others, unchanged]


def restarted(gateway: Gateway) -> Gateway:
    """Return a gateway with the records of this one, which has not polled."""
    other = Gateway(kafka=gateway.kafka)
    other.put(*own(gateway.state))
    other.now_ms = gateway.now_ms
    return other


def took_over(gateway: Gateway) -> Gateway:
    """Return another instance that has become the active one, after its first poll."""
    other = restarted(gateway)
    name_suspects(other.state, other.now_ms)
    other.poll()
    return other


def polled_in_part(gateway: Gateway) -> Gateway:
    """Return a gateway after a poll of a broker that knows the first partition of each topic only."""
    other = restarted(gateway)
    shown = [topic._replace(partitions={0: one}) for topic, one in _first(gateway.kafka.poll())]
    other.do(UpstreamPolled(None, shown, {}, whole=False))
    return other


def polled_before_deletion(gateway: Gateway) -> Gateway:
    """Return another active instance that has seen everything, before the topics were deleted."""
    other = took_over(gateway)
    without_anything(other)
    return other


def _first(look: UpstreamPolled) -> Iterator[tuple[UpstreamTopic, UpstreamPartition]]:
    return ((topic, topic.partitions[0]) for topic in look.topics if 0 in topic.partitions)


def feed(controller: InMemoryController, event: AnyEvent) -> None:
    """Decide the event.

    External changes are not among the recorded changes, so the states are not compared.
    """
    if isinstance(event, PartitionsStored | TopicStored | ConfigsStored):
        setattr(controller, "_replay", lambda: None)  # noqa: B010
    controller.do(event)
    check(controller)


def check(controller: InMemoryController) -> None:
    """Check that all views can be computed."""
    list(ongoing(controller.state))
    list(queued(controller.state))
    for job in controller.state.orders.jobs:
        list(parts(controller.state, job))
    totals(controller.state)
    counts(controller.state)


def test_every_event_class_is_covered() -> None:
    assert {type(event) for event in EVENTS} == machine._HANDLERS.keys()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("change", "passage"),
    [*product(CHANGES, [restarted, took_over, polled_in_part]), (unchanged, polled_before_deletion)],
)
@pytest.mark.parametrize("before", [busy, blocked, limited, stopped])
def test_a_gateway_accepts_every_event_after_changes_during_its_downtime(
    before: Callable[[], Gateway], change: Callable[[Gateway], None], passage: Callable[[Gateway], Gateway]
) -> None:
    old = before()
    change(old)
    kafka = old.kafka
    for event in some(EVENTS, f"{before.__name__} {change.__name__} {passage.__name__}", 2 * QUICK):
        old.kafka = deepcopy(kafka)
        gateway = passage(old)
        feed(gateway, event)
        gateway.deliver()
        for _ in range(LOOKS):
            gateway.now_ms += 1_000
            gateway.decide(gateway.kafka.poll())
        check(gateway)


LOST = [["bar-1", "bar-0"], ["foo-2"], ["bar-1", "bar-0", "foo-2", "foo-1", "foo-0"]]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("event", "lost", "started"),
    some([*product(EVENTS, LOST, [False, True])], "lost"),
    ids=lambda value: None if isinstance(value, list | bool) else type(value).__name__,
)
def test_a_controller_accepts_every_event_when_recorded_partitions_were_deleted(
    event: AnyEvent, lost: Sequence[str], started: bool
) -> None:
    controller = InMemoryController(range(1, 9)).with_partitions(
        *(partition(name, (1, 2)) for name in NAMES[:5])
    )
    controller.with_limits(partitions=2, per_partition=1)
    controller.alter({"foo-0": (3, 4), "bar-0": (3, 4), "bar-1": (3, 4)})
    controller.catch_up()
    controller.do(Queue([AlterTopic("bar", [AlterRow(0, (7, 8))]), AlterTopic("foo", [AlterRow(2, (7, 8))])]))
    other = InMemoryController(())
    gone = {key(name) for name in lost}
    topics = {name.topic for name in KEYS} - {name.topic for name in KEYS if name not in gone}
    kept = [
        each for each in records(controller.state) if not isinstance(each, Partition) or each.key not in gone
    ]
    other.put(*(each for each in kept if not isinstance(each, Topic) or each.name not in topics))
    if started:
        other.do(ControllerStarted([registration(broker) for broker in range(1, 9)]))
    else:
        other.state.cluster.live.update(each.id for each in kept if isinstance(each, Broker))
    feed(other, event)
    for _ in range(5):
        other.catch_up()
    check(other)
