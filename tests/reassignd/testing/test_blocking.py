import asyncio
import threading

import pytest

from controller.state.state import State
from reassignd.config.errors import CommandError
from reassignd.embedded import EmbeddedCluster, ManualClock
from reassignd.testing.blocking import BlockingCluster


def test_brokers_can_be_stopped_slowed_and_damaged() -> None:
    with BlockingCluster(lambda: EmbeddedCluster(2, clock=ManualClock())) as cluster:
        cluster.create_topic("orders", [[1, 2]])
        cluster.stop_broker(2)
        assert cluster.read(lambda state: set(state.cluster.live)) == {1}
        cluster.start_broker(2)
        cluster.slow_broker(2, 0.5)
        cluster.fail_log_dir(2, "/embedded/broker-2/logs-0")
        cluster.advance(1)
        assert cluster.read(lambda state: set(state.cluster.live)) == {1, 2}


def test_errors_of_the_cluster_reach_the_test() -> None:
    with BlockingCluster(lambda: EmbeddedCluster(1)) as cluster:
        with pytest.raises(ValueError, match="topic bad name"):
            cluster.create_topic("bad name", [[1]])
        with pytest.raises(AssertionError, match="there is no such partition"):
            cluster.expect_moving("orders", seconds=0)


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()]
)
def test_what_a_view_raises_reaches_the_test_and_the_cluster_goes_on(error: BaseException) -> None:
    def view(_: State) -> None:
        raise error

    with BlockingCluster(lambda: EmbeddedCluster(1)) as cluster:
        with pytest.raises(type(error)):
            cluster.read(view)
        cluster.create_topic("orders", [[1]])


def test_a_view_cannot_call_the_cluster() -> None:
    with BlockingCluster(lambda: EmbeddedCluster(1)) as cluster:
        with pytest.raises(RuntimeError, match="inside `read` the cluster waits"):
            cluster.read(lambda _: cluster.create_topic("orders", [[1]]))
        assert cluster.read(lambda state: set(state.cluster.live)) == {1}


def test_calls_before_and_after_the_life_of_a_cluster_are_refused() -> None:
    cluster = BlockingCluster(lambda: EmbeddedCluster(1))
    with pytest.raises(RuntimeError, match="use it inside `with`"):
        cluster.read(lambda state: state.cluster.topics)
    with cluster:
        cluster.create_topic("orders", [[1]])
    with pytest.raises(RuntimeError, match="use it inside `with`"):
        cluster.slow_broker(1, 1)


def test_a_cluster_that_cannot_start_leaves_no_thread() -> None:
    with BlockingCluster(lambda: EmbeddedCluster(1)) as cluster:
        port = int(cluster.bootstrap_servers.rpartition(":")[2])
        before = threading.active_count()
        with pytest.raises(CommandError, match=f"port {port} is in use"):
            BlockingCluster(lambda: EmbeddedCluster(1, port=port)).__enter__()
        assert threading.active_count() == before
