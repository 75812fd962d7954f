"""Reassignments survive kill -9 of reassignd."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import JavaAdmin
from tests.clients.servers import Server, embedded
from tools.processes import Reassignd


@pytest.fixture
def reassignd(tmp_path: Path) -> Iterator[Reassignd]:
    server = embedded(tmp_path / "data")
    server.start()
    yield server
    server.stop()


def test_a_reassignment_continues_after_kill_9_and_a_restart(reassignd: Reassignd) -> None:
    with JavaAdmin(reassignd.bootstrap) as admin:
        cluster = Cluster(Server("reassignd", reassignd.bootstrap, embedded=True), admin)
        a, b, c, d = cluster.brokers[:4]
        topic = cluster.create_topic([[a, b], [b, a]])
        cluster.hold(topic)
        cluster.move({f"{topic}-0": [c, d]})
        before = cluster.reassignments()
        reassignd.kill()
        reassignd.start()
        wait_for(cluster.reassignments, before)
        cluster.release()
        cluster.wait_until_idle()
        cluster.wait_for_replicas(topic, [[c, d], [b, a]])


def test_a_cancel_survives_kill_9(reassignd: Reassignd) -> None:
    with JavaAdmin(reassignd.bootstrap) as admin:
        cluster = Cluster(Server("reassignd", reassignd.bootstrap, embedded=True), admin)
        a, b, c, d = cluster.brokers[:4]
        topic = cluster.create_topic([[b, a]])
        cluster.hold(topic)
        cluster.move({f"{topic}-0": [c, d]})
        assert cluster.admin.do("alter", moves={f"{topic}-0": None}) == {f"{topic}-0": None}
        reassignd.kill()
        reassignd.start()
        cluster.wait_until_idle()
        cluster.wait_for_replicas(topic, [[b, a]])


def test_a_data_directory_serves_one_process_at_a_time(reassignd: Reassignd) -> None:
    second = embedded(reassignd.data_dir)
    with pytest.raises(RuntimeError, match="did not start"):
        second.start()


def test_reassignd_starts_again_after_a_stop(reassignd: Reassignd) -> None:
    assert reassignd.stop() == 0
    assert reassignd.start().startswith("ready: ")
