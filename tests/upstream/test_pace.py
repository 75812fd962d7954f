"""Pace before a real Kafka: plans end and leave no throttle behind, whatever happens in mid-plan."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from controller.pace.readings import Source
from tests.clients.cluster import RATES, Cluster, wait_for
from tests.clients.java_programs import AdminError
from tests.reassignd.shell import Shell
from tests.upstream.traffic import Traffic
from tools.processes import Reassignd

CANARY = "__reassignd_canary"
PARTITIONS = 40
SEEN_SECONDS = 240.0
"""A gateway sees that a topic of others is new, or deleted, when it reads all topics: twice in two minutes
under load."""
UNREACHABLE = ("pace=auto", "pace.ms=0.01")
"""A target that cannot be kept: brokers move as little as possible. What moves for long is throttled."""
PACE_CONFIGS = "reassignment.pace", "reassignment.pace.produce.latency.ms"


@pytest.fixture(autouse=True)
def pace_off(cluster: Cluster, direct: Cluster, shell: Shell) -> Iterator[None]:
    yield
    shell.ok("limits", "pace=off", "P=none")
    cluster.wait_until_idle()
    cluster.set_configs("BROKER", "", dict.fromkeys(PACE_CONFIGS))
    delete_canary(direct)


def move(cluster: Cluster) -> str:
    """Start to move a new topic of many partitions from broker 2 to 3."""
    topic = cluster.create_topic([[1, 2]] * PARTITIONS)
    cluster.move({f"{topic}-{number}": [1, 3] for number in range(PARTITIONS)})
    return topic


def pace(shell: Shell) -> Any:
    return shell.json("status")["pace"]


def problem_without_canary(shell: Shell, direct: Cluster) -> Any:
    """Delete the topic of the canary, also if reassignd has created it again.

    Return what `status` says of it.
    """
    delete_canary(direct)
    return pace(shell)["problem"]


def delete_canary(direct: Cluster) -> None:
    """Delete the topic of the canary, unless it is not there.

    A broker may name it for a while after its end.
    """
    try:
        if direct.partitions(CANARY):
            direct.admin.do("delete", topics=[CANARY])
    except AdminError as error:
        if error.args[0] != "UnknownTopicOrPartitionException":
            raise


def is_throttled(direct: Cluster) -> bool:
    return any(direct.config("BROKER", str(broker), rate) for broker in direct.brokers for rate in RATES)


@pytest.mark.timeout(600)  # with two times SEEN_SECONDS
def test_a_plan_under_load_ends_though_the_topic_of_the_canary_is_deleted(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    loaded = cluster.create_topic([[1, 2], [2, 3], [3, 1]], filled=False)
    shell.ok("limits", "pace=auto")
    with Traffic(cluster.bootstrap, loaded, 3) as traffic:
        wait_for(lambda: sum(row["target_ms"] is not None for row in pace(shell)["brokers"]), 4)
        wait_for(lambda: pace(shell)["source"], Source.CANARY, SEEN_SECONDS)
        topic = move(cluster)
        missing = f"the canary topic {CANARY} is missing; pace follows round trips of requests"
        wait_for(lambda: problem_without_canary(shell, direct), missing, SEEN_SECONDS)
        cluster.wait_until_idle()
    traffic.check()
    direct.wait_for_replicas(topic, [[1, 3]] * PARTITIONS)
    wait_for(lambda: direct.throttles(topic), [])


def test_no_throttle_is_left_when_pace_is_switched_off_and_after_a_crash(
    cluster: Cluster, direct: Cluster, shell: Shell, gateway: Reassignd
) -> None:
    shell.ok("limits", *UNREACHABLE, "P=2")
    topic = move(cluster)
    shell.ok("limits", "pace=off")
    wait_for(lambda: is_throttled(direct), False)
    assert cluster.reassignments()
    shell.ok("limits", "pace=auto")
    assert gateway.kill() == -signal.SIGKILL
    gateway.start()
    assert pace(shell)["mode"] == "auto"
    shell.ok("limits", "pace=off", "P=none")
    direct.wait_for_replicas(topic, [[1, 3]] * PARTITIONS)
    wait_for(lambda: direct.throttles(topic), [])
