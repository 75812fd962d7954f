"""What no client sees: reassignd is killed in the middle of a move, and takes it up again."""

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


def test_a_move_cut_short_by_kill_9_goes_on_after_the_restart(reassignd: Reassignd) -> None:
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


def test_a_cancel_outlives_kill_9(reassignd: Reassignd) -> None:
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


def test_a_second_start_is_as_good_as_the_first(reassignd: Reassignd) -> None:
    assert reassignd.stop() == 0
    assert reassignd.start().startswith("ready: ")
