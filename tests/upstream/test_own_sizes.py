"""A real Kafka whose follower is larger than the leader: it deletes no old segments, as the leader does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from planner.model.snapshot import Partition, Snapshot, parse_snapshot
from planner.proposing import propose_for, read_goal_options
from reassignd.commands.cluster_source import read_kafka
from tests.clients.cluster import wait_for
from tests.clients.java_programs import JavaAdmin
from tests.reassignd.shell import Shell
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec
from tools.processes import Reassignd

OFTEN = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "1000"}
NEVER = dict.fromkeys(OFTEN, "86400000")
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers, of which broker 2 deletes nothing."""
    spec = Spec(3, "4.1", settings=SOON_FENCED | OFTEN, of_nodes={2: NEVER})
    with running_kafka(spec, folder=tmp_path_factory.mktemp("sizes")) as cluster:
        yield cluster


@pytest.fixture
def shell(
    request: pytest.FixtureRequest, kafka: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    """A gateway that starts when the topic is filled: it measures all replicas at its start."""
    topic, megabytes = request.param
    fill(kafka.bootstrap, topic, megabytes)
    wait_for(lambda: is_larger(read_kafka(kafka.bootstrap), topic), True)
    server = Reassignd(tmp_path / "gateway", {}, 3, kafka.bootstrap)
    server.start()
    yield Shell(server, tmp_path, capsys)
    assert server.stop() == 0


def fill(bootstrap: str, topic: str, megabytes: int) -> None:
    """Create a topic on brokers 1 and 2, and write far more than is retained."""
    configs = {"segment.bytes": str(MEGABYTE), "retention.bytes": str(MEGABYTE)}
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, -1, -1, replica_assignments={0: [1, 2]}, topic_configs=configs)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    for _ in range(10 * megabytes):
        producer.send(topic, bytes(100_000))
    producer.close()


def foo(snapshot: Snapshot) -> Partition:
    return snapshot.partitions["foo", 0]


def is_larger(snapshot: Snapshot, topic: str = "foo") -> bool:
    """Whether the leader has only what it retains, and the follower has more than twice that."""
    leader, follower = snapshot.partitions[topic, 0].sizes or (None, None)
    return leader is not None and follower is not None and leader <= 2 * MEGABYTE and 2 * leader < follower


@pytest.mark.parametrize("shell", [("foo", 8)], indirect=True)
def test_a_follower_that_is_larger_than_its_leader_has_its_own_size(
    kafka: KafkaCluster, shell: Shell, tmp_path: Path
) -> None:
    snapshot = read_kafka(kafka.bootstrap)
    leader, follower = foo(snapshot).sizes or ()
    assert (foo(snapshot).bytes, foo(snapshot).leader) == (leader, 1)
    directory = (foo(snapshot).log_dirs or ())[1]
    assert directory in (snapshot.brokers[2].dirs or {})

    found = propose_for(snapshot, read_goal_options(["drain", "2"], {}))
    before = {each.broker: each.before.bytes for each in found.brokers}
    assert (found.bytes, before[2]) == (leader, follower)

    shell.until(lambda: is_larger(of_gateway(shell)))
    assert foo(of_gateway(shell)).log_dirs == foo(snapshot).log_dirs
    plan = tmp_path / "plan.json"
    plan.write_text('{"version": 1, "partitions": [{"topic": "foo", "partition": 0, "replicas": [1, 3]}]}')
    expected = shell.json("execute", "--reassignment-json-file", str(plan), "--dry-run")["forecast"]
    held = {each["broker"]: (each["before"]["bytes"], each["after"]["bytes"]) for each in expected["brokers"]}
    assert (expected["bytes"], held[2], held[3][1] - held[3][0]) == (leader, (follower, 0), leader)
    shell.ok("propose", "drain", "2", "--topics", "foo", "--execute", "--wait")
    [part] = shell.json("job", "1")["partitions"]
    assert (part["bytes"], part["copied"]) == (leader, leader)
    moved = foo(read_kafka(kafka.bootstrap))
    assert (set(moved.replicas), moved.sizes) == ({1, 3}, (leader, leader))


@pytest.mark.parametrize("shell", [("bar", 200)], indirect=True)
def test_the_disk_guard_counts_the_replica_that_is_copied(kafka: KafkaCluster, shell: Shell) -> None:
    """There is room for a copy of the replica of broker 1, and none for one of broker 2, which is larger."""
    with JavaAdmin(shell.server.bootstrap) as admin:
        shell.ok("propose", "demote", "1", "--topics", "bar", "--execute", "--wait")
        set_mark(admin, shell)
        shell.ok("propose", "drain", "1", "--topics", "bar", "--execute")
        shell.until(lambda: "broker 3: " in shell.ok("job", "2"))
        shell.ok("cancel", "--all", "--yes")
        shell.ok("rollback", "1", "--wait")
        set_mark(admin, shell)
        shell.ok("propose", "drain", "2", "--topics", "bar", "--execute", "--wait", "--timeout", "60")
    moved = read_kafka(kafka.bootstrap).partitions["bar", 0]
    assert set(moved.replicas) == {1, 3}


@pytest.mark.parametrize("shell", [("baz", 8)], indirect=True)
def test_a_repair_replaces_the_replica_of_a_stopped_broker(kafka: KafkaCluster, shell: Shell) -> None:
    repair = ("propose", "repair", "--topics", "baz")
    assert "nothing to move" in shell.ok(*repair)
    with kafka.without(2):
        shell.until(lambda: "broker 2 is offline: 1 replica" in shell.ok(*repair))
        shell.ok(*repair, "--execute", "--wait", "--timeout", "60")
        row = read_kafka(kafka.bootstrap).partitions["baz", 0]
        assert (row.replicas, set(row.isr)) == ((1, 3), {1, 3})


def set_mark(admin: JavaAdmin, shell: Shell) -> None:
    """Set the limit of broker 3 above a copy of the smaller replica, and below one of the larger."""
    snapshot = of_gateway(shell)
    disk = next(iter((snapshot.brokers[3].dirs or {}).values()))  # all are on one volume
    sizes = [size or 0 for size in snapshot.partitions["bar", 0].sizes or ()]
    total, usable = disk.total or 1, disk.usable or 0
    mark = f"{(total - usable + sum(sizes) / 2) / total:.9f}"
    admin.do("set_configs", type="BROKER", name="", ops=[["SET", "reassignment.max.disk.usage", mark]])


def of_gateway(shell: Shell) -> Snapshot:
    return parse_snapshot("gateway", shell.ok("snapshot").encode().splitlines())
