"""Before the oldest Kafka that serves 45 and 46: with ZooKeeper, where only the controller does, and fenced brokers are not listed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import JavaAdmin
from tests.clients.servers import Server
from tests.reassignd.shell import Shell
from tools.processes import Reassignd
from tools.zookeeper_cluster import ZookeeperCluster, running_cluster


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperCluster]:
    with running_cluster(3, tmp_path_factory.mktemp("older"), release="2.4") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def before(older: ZookeeperCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    made = Reassignd(tmp_path_factory.mktemp("before"), {}, len(older.brokers), older.bootstrap)
    made.start()
    yield made
    assert made.stop() == 0


def test_a_plan_is_carried_out_and_a_broker_that_is_not_listed_is_missing(
    older: ZookeeperCluster, before: Reassignd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(before, tmp_path, capsys)
    with JavaAdmin(before.bootstrap) as admin:
        cluster = Cluster(Server("reassignd", before.bootstrap), admin)
        topic = cluster.topic([[1, 2], [2, 1], [1, 2]])
        cluster.move({f"{topic}-{number}": [2, 3] for number in range(3)})
        cluster.wait_until_idle()
        cluster.wait_for_replicas(topic, [[2, 3]] * 3)
    older.kill_broker(3)
    wait_for(lambda: "missing: broker 3" in shell.ok("status"), True)
