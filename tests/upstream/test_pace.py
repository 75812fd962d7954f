"""Pace before a real Kafka: plans end and leave no throttle behind."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.reassignd.shell import Shell
from tests.upstream.traffic import Traffic

CANARY = "__reassignd_canary"
PARTITIONS = 40


@pytest.fixture(autouse=True)
def pace_off(cluster: Cluster, direct: Cluster, shell: Shell) -> Iterator[None]:
    yield
    shell.ok("limits", "pace=off")
    cluster.wait_until_idle()
    if direct.partitions(CANARY):
        direct.admin.do("delete", topics=[CANARY])


def move(cluster: Cluster) -> str:
    """Start to move a new topic of many partitions from broker 2 to 3."""
    topic = cluster.create_topic([[1, 2]] * PARTITIONS)
    cluster.move({f"{topic}-{number}": [1, 3] for number in range(PARTITIONS)})
    return topic


def brokers(shell: Shell) -> Any:
    """Return the brokers of `/v1/pace`."""
    return shell.json("status")["pace"]["brokers"]


def test_a_plan_under_load_ends_and_leaves_no_throttle(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    loaded = cluster.create_topic([[1, 2], [2, 3], [3, 1]], filled=False)
    shell.ok("limits", "pace=auto")
    with Traffic(cluster.bootstrap, loaded, 3) as traffic:
        wait_for(lambda: sum(row["target_ms"] is not None for row in brokers(shell)), 4)
        topic = move(cluster)
        cluster.wait_until_idle()
    traffic.check()
    direct.wait_for_replicas(topic, [[1, 3]] * PARTITIONS)
    wait_for(lambda: direct.throttles(topic), [])
