"""Throttle configs on real brokers and topics: set, changed, removed, and removed after a crash."""

import signal

import pytest

from tests.clients.cluster import FAST, RATES, REPLICAS, Cluster, wait_for
from tests.reassignd.shell import Shell
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

RATE = 1_000
"""Throttle in bytes per second with which no reassignment ends."""


def rates(direct: Cluster, *brokers: int) -> list[str | None]:
    """Return the leader and follower rates that are set on these brokers."""
    return [direct.config("BROKER", str(broker), rate) for broker in brokers for rate in RATES]


def slow_move(cluster: Cluster, shell: Shell) -> str:
    """Start a throttled reassignment of a new topic from brokers 1 and 2 to 1 and 3."""
    topic = cluster.create_topic([[1, 2]])
    shell.ok("limits", f"throttle={RATE}B")
    cluster.move({f"{topic}-0": [1, 3]})
    return topic


@pytest.mark.tour
def test_throttles_are_set_for_a_reassignment_changed_and_removed(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    topic = slow_move(cluster, shell)
    wait_for(lambda: rates(direct, 1, 2, 3), [str(RATE)] * 6)
    wait_for(lambda: direct.config("TOPIC", topic, REPLICAS[1]), "0:3")
    wait_for(lambda: direct.config("TOPIC", topic, REPLICAS[0]), "0:1,0:2")
    assert rates(direct, 4) == [None] * 2
    shell.ok("limits", f"throttle={FAST}")
    cluster.wait_until_idle()
    wait_for(lambda: direct.throttles(topic), [])


def test_throttles_of_others_are_kept(cluster: Cluster, direct: Cluster, shell: Shell) -> None:
    direct.admin.do("set_configs", type="BROKER", name="3", ops=[["SET", RATES[1], "5000000"]])
    wait_for(lambda: direct.config("BROKER", "3", RATES[1]), "5000000")
    topic = slow_move(cluster, shell)
    direct.admin.do("set_configs", type="TOPIC", name=topic, ops=[["APPEND", REPLICAS[0], "7:7"]])
    shell.ok("limits", f"throttle={FAST}")
    cluster.wait_until_idle()
    wait_for(lambda: direct.throttles(topic), ["5000000", "7:7"])
    direct.admin.do("set_configs", type="BROKER", name="3", ops=[["DELETE", RATES[1], None]])


def test_throttles_of_others_are_shown_and_those_of_reassignd_are_not_among_them(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    for rate in RATES:
        direct.admin.do("set_configs", type="BROKER", name="3", ops=[["SET", rate, "5000000"]])
    slow_move(cluster, shell)
    wait_for(lambda: rates(direct, 1, 2, 3), [str(RATE)] * 4 + ["5000000"] * 2)
    line = "Throttle  1 kB/s; set by others: 5 MB/s at broker 3 (in force there)"
    wait_for(lambda: line in shell.ok("status").splitlines(), True)
    shell.ok("limits", f"throttle={FAST}")
    cluster.wait_until_idle()
    for rate in RATES:
        direct.admin.do("set_configs", type="BROKER", name="3", ops=[["DELETE", rate, None]])


def test_throttles_are_removed_after_a_crash(
    cluster: Cluster, direct: Cluster, shell: Shell, gateway: Reassignd
) -> None:
    topic = slow_move(cluster, shell)
    wait_for(lambda: set(direct.reassignments()), {f"{topic}-0"})
    assert gateway.kill() == -signal.SIGKILL
    wait_for(lambda: rates(direct, 3), [str(RATE)] * 2)
    unthrottled = [["DELETE", key, None] for key in REPLICAS]
    direct.admin.do("set_configs", type="TOPIC", name=topic, ops=unthrottled)
    direct.wait_for_replicas(topic, [[1, 3]])
    gateway.start()
    wait_for(lambda: direct.throttles(topic), [])


def test_an_offline_broker_does_not_delay_the_throttles_of_others(
    cluster: Cluster, direct: Cluster, shell: Shell, kafka: KafkaCluster
) -> None:
    alive = slow_move(cluster, shell)
    other = cluster.create_topic([[1, 2]])
    cluster.move({f"{other}-0": [1, 4]})
    wait_for(lambda: rates(direct, 1, 3, 4), [str(RATE)] * 6)
    with kafka.without(4):
        shell.ok("limits", f"throttle={FAST}")
        direct.wait_for_replicas(alive, [[1, 3]])
        wait_for(lambda: rates(direct, 3), [None] * 2)
    cluster.wait_until_idle()
    direct.wait_for_replicas(other, [[1, 4]])
    wait_for(lambda: direct.throttles(other), [])
