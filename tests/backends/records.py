"""A record of every kind."""

from controller.model.access import Operation, PatternType, Permission, ResourceKind
from controller.model.cluster import (
    Acl,
    Broker,
    Config,
    ControllerEpoch,
    Ending,
    Finished,
    Job,
    JobKind,
    Partition,
    Paused,
    Pending,
    Reassignment,
    Record,
    ResourceType,
    ScramCredential,
    ThrottleLease,
    Topic,
    UpstreamStep,
)
from controller.model.disks import DiskMove, MoveStage
from controller.model.held_requests import HeldRequest, HeldState
from controller.model.limits import PlanLimits
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask
from controller.model.upstream_step import Stage

EVERY_KIND: list[Record] = [
    ControllerEpoch(7),
    Broker(2, "localhost", 9093, None, 4),
    Topic("bar", bytes(range(16)), deleting=True),
    Partition("bar", 0, (1, 2), (1,), 1, 5, 6, (2,), (3,)),
    Reassignment("bar", 0, (1,), (), 3, "no space"),
    Config(ResourceType.BROKER, "", "a.b", "1"),
    Job(
        3,
        JobKind.PLAN,
        5,
        "User:anna",
        None,
        7,
        -2,
        paused=True,
        ended_ms=9,
        undoes=1,
        throttle=4,
        elects=True,
        until_ms=9,
        limits=PlanLimits(per_partition=1, partitions=20),
    ),
    Finished(3, "bar", 0, (1,), (2, 3), Ending.STOPPED, 4),
    Pending("bar", 0, (2, 3), 3),
    Paused(paused=True),
    UpstreamStep("bar", 0, (1,), (1, 2), Stage.UNDOING, (4,), 8),
    ThrottleLease(ResourceType.TOPIC, "bar", "a.b", "1", None),
    Acl(
        ResourceKind.TRANSACTIONAL_ID,
        "pay",
        PatternType.PREFIXED,
        "User:CN=a,O=b",
        "*",
        Operation.ALL,
        Permission.DENY,
    ),
    ScramCredential("anna", "SCRAM-SHA-256", b"\x00salt", b"\xff" * 32, b"key", 4096),
    UserTask("a-b", 5, "rebalance", "POST /x?y=z", "10.0.0.1", "User:anna", True, False, "eJw="),
    DryRun("f00", "User:anna", 7, 5, "eJw=", "a-b"),
    HeldRequest(
        3, 5, "rebalance", "x=y", "{}", "10.0.0.1", "User:anna", HeldState.APPROVED, "ok", "User:bob"
    ),
    LoadHours(3, 5, "orders\tf00\t0\t12", "eJw="),
    DiskMove(3, "bar", 0, 2, "/data1", "/data2", 10, MoveStage.TAKEN, "gone"),
]
