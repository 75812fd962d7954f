"""Failures during a plan: the plan completes, and no record is lost."""

import signal
from collections.abc import Iterator

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import JavaAdmin
from tests.reassignd.shell import Shell
from tests.upstream.test_gateway_serves import ports_of
from tests.upstream.traffic import Traffic
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

BEFORE = [[1, 2], [2, 3], [3, 1], [1, 3]] * 8
AFTER = [[4, 1], [4, 2], [2, 4], [4, 3]] * 8
"""Broker 4 is a target of every reassignment."""


class Plan:
    """A running plan, two partitions at a time, with a producer that writes to all partitions."""

    def __init__(self, cluster: Cluster, direct: Cluster, shell: Shell, traffic: Traffic, topic: str) -> None:
        self.direct, self.shell, self.traffic, self.topic = direct, shell, traffic, topic
        shell.ok("limits", "P=2")
        cluster.move({f"{topic}-{number}": replicas for number, replicas in enumerate(AFTER)})
        self.wait_until_done(3)

    def wait_until_done(self, partitions: int) -> None:
        """Wait until this number of partitions is done. Fails if the plan is already complete."""
        wait_for(lambda: len(AFTER) - self.shell.moves()["ongoing"] >= partitions, True)
        assert partitions == len(AFTER) or self.shell.moves()["ongoing"] > 0

    def expect_completion(self) -> None:
        """Wait until all partitions have their targets and the producer continues."""
        self.wait_until_done(len(AFTER))
        self.direct.wait_until_idle()
        self.direct.wait_for_replicas(self.topic, AFTER)
        self.traffic.wait_for(20)


@pytest.fixture
def plan(cluster: Cluster, direct: Cluster, shell: Shell, kafka: KafkaCluster) -> Iterator[Plan]:
    topic = cluster.create_topic(BEFORE, filled=False)
    with Traffic(kafka.addresses(), topic, partitions=len(BEFORE)) as traffic:
        traffic.wait_for(50)
        yield Plan(cluster, direct, shell, traffic, topic)
    traffic.check()


def test_reassignd_is_killed(plan: Plan, gateway: Reassignd) -> None:
    assert gateway.kill() == -signal.SIGKILL
    plan.traffic.wait_for(20)
    gateway.start()
    plan.expect_completion()


def test_the_target_broker_is_killed(plan: Plan, kafka: KafkaCluster) -> None:
    with kafka.without(4):
        wait_for(lambda: plan.shell.json("status")["health"]["trouble"], "missing: broker 4")
        assert "missing: broker 4" in plan.shell.ok("status")
        plan.traffic.wait_for(20)
        assert plan.shell.moves()["ongoing"] > 0
    plan.expect_completion()
    assert plan.shell.json("status")["health"]["trouble"] is None


def test_only_repairs_start_while_a_broker_is_missing(
    cluster: Cluster, direct: Cluster, shell: Shell, kafka: KafkaCluster
) -> None:
    under_replicated, healthy = (
        cluster.create_topic([[4, 1]], filled=False),
        cluster.create_topic([[1, 2]], filled=False),
    )
    cluster.create_topic([[1, 4]], filled=False)  # broker 4 is still missed after the repair
    with kafka.without(4):
        wait_for(lambda: shell.json("status")["health"]["trouble"], "missing: broker 4")
        cluster.move({f"{under_replicated}-0": [2, 1], f"{healthy}-0": [2, 3]})
        direct.wait_for_replicas(under_replicated, [[2, 1]])
        cluster.expect_reassignments({f"{healthy}-0"})
        assert "the cluster is unhealthy: missing: broker 4" in shell.ok("status")
    direct.wait_for_replicas(healthy, [[2, 3]])


def test_the_active_controller_is_killed(plan: Plan, kafka: KafkaCluster) -> None:
    with kafka.without(plan.direct.admin.do("quorum")):
        plan.traffic.wait_for(20)
    plan.expect_completion()


def test_the_broker_of_a_client_connection_is_killed(
    plan: Plan, kafka: KafkaCluster, gateway: Reassignd
) -> None:
    with JavaAdmin(ports_of(gateway)[3]) as client:
        assert 3 in client.do("cluster")["brokers"]
        with kafka.without(3):
            wait_for(lambda: 3 in client.do("cluster")["brokers"], False)
            assert client.do("alter", moves={f"{plan.topic}-0": AFTER[0]}) == {f"{plan.topic}-0": None}
    plan.expect_completion()
