"""Strimzi's operators on Cruise Control's API of a gateway, before real Kafka."""

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from kafka import TopicPartition

from reassignd import cli
from reassignd.commands.cluster_source import read_kafka
from tests.clients.cluster import wait_for
from tests.clients.java_programs import AdminError, StrimziOperators
from tests.clients.servers import Server
from tests.reassignd.shell import create_topic
from tests.upstream.kafka_rebalance import REMOVE_DISKS, KafkaRebalance
from tools import certificates
from tools.kafka_cluster import KafkaCluster, admin_client
from tools.processes import Reassignd

USERS = "rebalance-operator: rebalance, ADMIN\ntopic-operator: topics, ADMIN\nhealthcheck: probe, USER\n"
HELD = "1000"
"""A throttle in bytes per second with which no job ends during a test."""

_numbers = itertools.count(1)


class Strimzi(NamedTuple):
    """A gateway as Strimzi has Cruise Control: users, TLS, and its operators."""

    gateway: Reassignd
    kafka: KafkaCluster
    operators: StrimziOperators
    authority: Path

    @property
    def url(self) -> str:
        return f"https://localhost:{self.gateway.http.rpartition(':')[2]}"

    def connect(self, user: str) -> None:
        self.operators.do("connect", url=self.url, user=user, ca=str(self.authority))

    def resource(self, topic: str, mode: str = "rebalance", **options: str) -> KafkaRebalance:
        """Return a new resource; topics of other tests do not move.

        What is evened out are replicas: the bytes of other tests may be against that.
        """
        evens = mode in {"rebalance", "add_broker"}
        options = ({"goals": "ReplicaDistributionGoal"} if evens else {}) | options
        return KafkaRebalance(self.operators, mode, excluded_topics=f"(?!{topic}$).*", **options)

    def replicas(self, topic: str) -> list[list[int]]:
        rows = read_kafka(self.kafka.bootstrap).partitions.values()
        return [list(row.replicas) for row in rows if row.topic == topic]

    def directories(self, topic: str) -> list[str | None]:
        """Return the directory of each partition's first replica."""
        rows = read_kafka(self.kafka.bootstrap).partitions.values()
        return [(row.log_dirs or [None])[0] for row in rows if row.topic == topic]

    def create_topic(self, *replicas: list[int]) -> str:
        """Create a topic with data, and return its name."""
        name = f"strimzi-{next(_numbers)}"
        create_topic(self.gateway.bootstrap, replicas, name)
        wait_for(lambda: self.kafka.all_know(name), True)
        Server("kafka", self.kafka.bootstrap).fill(name, len(replicas))
        return name

    def move(self, topic: str, number: int, replicas: list[int]) -> None:
        """Reassign a partition as Kafka's tools do, without the gateway, and wait."""
        with admin_client(self.kafka.bootstrap) as admin:
            admin.alter_partition_reassignments({TopicPartition(topic, number): replicas})
        wait_for(lambda: self.replicas(topic)[number], replicas)

    def uneven_topic(self) -> str:
        """Create a topic whose partitions are all on broker 1, which has too many then."""
        return self.create_topic(*[[1]] * self.too_many())

    def too_many(self) -> int:
        """Return how many replicas more are too many for broker 1.

        The cluster has topics of other tests, which stay. A tenth more than what can be reached with them is
        not too many.
        """
        rows = read_kafka(self.kafka.bootstrap).partitions.values()
        held = Counter(broker for row in rows for broker in row.replicas)
        count = 4
        while held[1] + count <= 1.1 * max(held[1], (held.total() + count) / 2) + 2:
            count += 1
        return count


@pytest.fixture(scope="module")
def operators() -> Iterator[StrimziOperators]:
    with StrimziOperators() as operators:
        yield operators


@pytest.fixture
def strimzi(
    two_brokers: tuple[str, KafkaCluster], operators: StrimziOperators, tmp_path: Path
) -> Iterator[Strimzi]:
    certificates.make(tmp_path, ["cruise-control"])
    users = tmp_path / "users"
    users.touch(0o600)
    users.write_text(USERS)
    settings = {
        "cruisecontrol.api": "on",
        "cruisecontrol.users.file": str(users),
        "http.tls.certificate.file": str(tmp_path / "cruise-control.pem"),
    }
    gateway = Reassignd(tmp_path / "gateway", settings, 2, two_brokers[1].bootstrap)
    gateway.start()
    started = Strimzi(gateway, two_brokers[1], operators, tmp_path / "ca.pem")
    started.connect("rebalance-operator:rebalance")
    yield started
    started.connect("rebalance-operator:rebalance")
    operators.do("stop")
    assert gateway.stop() == 0


def test_a_resource_becomes_ready_after_its_approval(strimzi: Strimzi) -> None:
    topic = strimzi.uneven_topic()
    resource = strimzi.resource(topic)
    resource.until("ProposalReady")
    moves = resource.result["summary"]["numReplicaMovements"]
    assert resource.result["before"] == resource.result["after"] == [1, 2]
    assert set(map(tuple, strimzi.replicas(topic))) == {(1,)}
    resource.approve()
    resource.until("Ready")
    assert resource.passed == ["New", "PendingProposal", "ProposalReady", "Rebalancing", "Ready"]
    assert strimzi.replicas(topic).count([2]) == moves > 0
    assert "executes proposal" in resource.result["summary"]["provisionRecommendation"]


def test_progress_is_told_while_it_rebalances(strimzi: Strimzi) -> None:
    resource = strimzi.resource(strimzi.uneven_topic(), replication_throttle=HELD)
    resource.until("ProposalReady")
    resource.approve()
    moving = "INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
    wait_for(lambda: strimzi.operators.do("progress")["state"], moving)
    assert resource.reconcile() == "Rebalancing"
    wait_for(lambda: strimzi.operators.do("progress").get("total"), 1)
    resource.stop()
    assert resource.state == "Stopped"
    assert strimzi.operators.do("progress") == {"state": "NO_TASK_IN_PROGRESS"}


def test_a_refresh_while_it_rebalances_stops_and_plans_anew(strimzi: Strimzi) -> None:
    topic = strimzi.uneven_topic()
    resource = strimzi.resource(topic, replication_throttle=HELD)
    resource.until("ProposalReady")
    resource.approve()
    resource.refresh()
    resource.until("ProposalReady")
    assert set(map(tuple, strimzi.replicas(topic))) == {(1,)}
    assert resource.result["summary"]["numReplicaMovements"] > 0


def test_a_task_goes_on_after_a_kill(strimzi: Strimzi) -> None:
    topic = strimzi.uneven_topic()
    resource = strimzi.resource(topic, replication_throttle="30000")
    resource.until("ProposalReady")
    resource.approve()
    assert strimzi.operators.do("task", id=resource.task)["status"] == "InExecution"
    assert strimzi.gateway.kill() == -9
    strimzi.gateway.start()
    assert resource.until("Ready", "NotReady") == "Ready"
    assert resource.passed[-2:] == ["Rebalancing", "Ready"]
    assert [2] in strimzi.replicas(topic)


def planned_of(resource: KafkaRebalance) -> dict[int, list[int]]:
    """Return the lists of the plan that is shown, by partition."""
    return {row["topicPartition"]["partition"]: row["newReplicas"] for row in resource.proposals}


def approve_and_compare(
    strimzi: Strimzi, topic: str, resource: KafkaRebalance, planned: dict[int, list[int]]
) -> None:
    """Approve the plan that was shown: its job moves just that."""
    resource.approve()
    assert resource.result["summary"]["provisionRecommendation"].startswith("executes proposal ")
    resource.until("Ready")
    moved = {number: row for number, row in enumerate(strimzi.replicas(topic)) if row != [1]}
    assert moved == planned


def test_what_was_shown_before_a_kill_is_executed_after_it(strimzi: Strimzi) -> None:
    topic = strimzi.uneven_topic()
    resource = strimzi.resource(topic)
    resource.until("ProposalReady")
    planned = planned_of(resource)
    assert strimzi.gateway.kill() == -9
    strimzi.gateway.start()
    approve_and_compare(strimzi, topic, resource, planned)


def test_a_resource_waits_for_a_model_that_is_not_ready(strimzi: Strimzi) -> None:
    resource = strimzi.resource(strimzi.uneven_topic())
    assert strimzi.gateway.kill() == -9
    with frozen(strimzi.kafka):
        strimzi.gateway.launch()
        wait_for(lambda: answers(strimzi), True)
        for _ in range(2):
            assert resource.reconcile() == "PendingProposal"
            assert "NotEnoughValidWindowsException" in resource.reason
    resource.until("ProposalReady")
    assert resource.passed == ["New", "PendingProposal", "ProposalReady"]


@contextmanager
def frozen(kafka: KafkaCluster) -> Iterator[None]:
    """Let no node answer inside the context."""
    for node in (1, 2):
        kafka.freeze_node(node)
    try:
        yield
    finally:
        for node in (1, 2):
            kafka.thaw_node(node)
        kafka.wait_ready()


def answers(strimzi: Strimzi) -> bool:
    """Return whether the HTTP listener answers, if only that nothing is known yet."""
    try:
        strimzi.operators.do("progress")
    except AdminError as error:
        return "Unexpected status 500" in str(error)
    return True


def test_what_was_approved_is_executed(strimzi: Strimzi) -> None:
    """Plans are compared by their texts: that of the dry run, and what the job has moved."""
    topic = strimzi.uneven_topic()
    resource = strimzi.resource(topic)
    resource.until("ProposalReady")
    approve_and_compare(strimzi, topic, resource, planned_of(resource))


def test_a_partition_that_has_moved_since_the_approval_makes_a_new_plan(strimzi: Strimzi) -> None:
    topic = strimzi.uneven_topic()
    resource = strimzi.resource(topic)
    resource.until("ProposalReady")
    [first, *_] = resource.proposals
    number = first["topicPartition"]["partition"]
    strimzi.move(topic, number, [2])
    resource.approve()
    said = resource.result["summary"]["provisionRecommendation"]
    assert said.startswith("new proposal: ")
    assert f"{topic}-{number}" in said
    assert resource.until("Ready", "NotReady") == "Ready"


def test_a_broker_that_does_not_exist_is_told(strimzi: Strimzi) -> None:
    for mode in ("add_broker", "remove_broker"):
        resource = KafkaRebalance(strimzi.operators, mode, brokerid="77")
        assert resource.reconcile() == "NotReady"
        assert resource.reason == "Some brokers do not exist"


def test_a_broker_is_emptied_and_used_again(strimzi: Strimzi) -> None:
    topic = strimzi.create_topic(*[[1]] * strimzi.too_many(), [2])
    leaving = strimzi.resource(topic, "remove_broker", brokerid="2")
    leaving.until("ProposalReady")
    leaving.approve()
    assert leaving.until("Ready", "NotReady") == "Ready"
    assert set(map(tuple, strimzi.replicas(topic))) == {(1,)}
    joining = strimzi.resource(topic, "add_broker", brokerid="2")
    joining.until("ProposalReady")
    joining.approve()
    assert joining.until("Ready", "NotReady") == "Ready"
    assert [2] in strimzi.replicas(topic)


@pytest.fixture
def volume(strimzi: Strimzi) -> Iterator[str]:
    """The second directory of broker 2, which gets replicas again after the test."""
    path = strimzi.kafka.log_dirs(2)[1]
    yield path
    of_server = ("--url", strimzi.url, "--ca-file", str(strimzi.authority))
    assert cli.main(["placement", "--allow", f"2:{path}", *of_server]) == 0


def test_a_volume_is_emptied_for_its_removal(
    strimzi: Strimzi, volume: str, two_brokers: tuple[str, KafkaCluster]
) -> None:
    topic = strimzi.create_topic(*[[2]] * 6)
    wait_for(lambda: volume in strimzi.directories(topic), True)
    resource = KafkaRebalance(strimzi.operators, REMOVE_DISKS, brokerid_and_logdirs=f"2-{volume}")
    resource.until("ProposalReady")
    summary = resource.result["summary"]
    assert summary["numIntraBrokerReplicaMovements"] >= strimzi.directories(topic).count(volume)
    assert summary["numReplicaMovements"] == 0
    assert strimzi.gateway.kill() == -9
    strimzi.gateway.start()
    resource.approve()
    assert resource.result["summary"]["provisionRecommendation"].startswith("executes proposal ")
    assert resource.until("Ready", "NotReady") == "Ready"
    assert resource.passed == ["New", "PendingProposal", "ProposalReady", "Rebalancing", "Ready"]
    assert volume not in strimzi.directories(topic)
    later = strimzi.create_topic(*[[2]] * 6)
    assert (volume in strimzi.directories(later)) is (two_brokers[0] == "4.1")


def test_a_volume_that_does_not_exist_is_told(strimzi: Strimzi) -> None:
    resource = KafkaRebalance(strimzi.operators, REMOVE_DISKS, brokerid_and_logdirs="2-/no/such/volume")
    assert resource.reconcile() == "NotReady"
    assert "/no/such/volume" in resource.reason


def test_another_password_is_no_task_and_no_plan(strimzi: Strimzi) -> None:
    strimzi.connect("rebalance-operator:wrong")
    resource = KafkaRebalance(strimzi.operators)
    assert (resource.reconcile(), resource.reason) == ("NotReady", "Unexpected status 401")
    strimzi.connect("topic-operator:wrong")
    with pytest.raises(AdminError, match="Authorization error"):
        strimzi.operators.do("topic_task", id="x")
    strimzi.connect("healthcheck:probe")
    assert KafkaRebalance(strimzi.operators).reconcile() == "NotReady"
    assert strimzi.operators.do("progress") == {"state": "NO_TASK_IN_PROGRESS"}


def test_the_topic_operator_changes_two_factors_at_once(strimzi: Strimzi) -> None:
    more, fewer = strimzi.create_topic([1], [2]), strimzi.create_topic([1, 2], [2, 1])
    strimzi.connect("topic-operator:topics")
    task = strimzi.operators.do("change_factors", factors={"2": more, "1": fewer})
    wait_for(lambda: strimzi.operators.do("topic_task", id=task), "Completed")
    assert [len(each) for each in strimzi.replicas(more)] == [2, 2]
    assert [len(each) for each in strimzi.replicas(fewer)] == [1, 1]


def test_a_second_change_of_factors_is_told_to_wait(strimzi: Strimzi) -> None:
    resource = strimzi.resource(strimzi.uneven_topic(), replication_throttle=HELD)
    resource.until("ProposalReady")
    resource.approve()
    strimzi.connect("topic-operator:topics")
    with pytest.raises(AdminError, match="Another task is executing"):
        strimzi.operators.do("change_factors", factors={"2": strimzi.create_topic([1])})
