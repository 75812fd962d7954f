"""Topics are deleted when their brokers have deleted the replicas (Kafka: TopicDeletionManager)."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.znodes import paths
from common.backoff import RETRY_SOON_SECONDS
from common.clock import settle
from common.error_codes import ErrorCode
from controller.messages.events import CreateTopics, NewTopic
from protocol.messages.stop_replica_request import StopReplicaRequest
from tests.backends.local import FIRST_PORT
from tests.backends.zookeeper.harness import NEW, OLD, ZookeeperHarness

PORT_OF_2 = FIRST_PORT + 1


@pytest.fixture(params=[OLD, NEW])
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[ZookeeperHarness]:
    harness = await ZookeeperHarness(version=request.param).start()
    await harness.having({"foo-0": [1, 2], "bar-0": [2, 1]})
    yield harness
    await harness.stop()


async def delete_foo_without_broker_2(harness: ZookeeperHarness) -> None:
    """Delete the topic while broker 2 receives no StopReplica."""
    harness.network.loses = lambda port, message: (
        port == PORT_OF_2 and isinstance(message, StopReplicaRequest)
    )
    await harness.delete("foo")
    await harness.advance(1)


async def recreated(harness: ZookeeperHarness) -> ErrorCode:
    """Create the topic again; return the error."""
    ((_, outcome, *_),) = await harness.do(CreateTopics([NewTopic("foo", b"again".ljust(16), 1, 2)]))
    return outcome.error


async def arrive(harness: ZookeeperHarness) -> None:
    """Let all requests arrive from now on."""
    harness.network.loses = lambda _port, _message: False
    await harness.advance(RETRY_SOON_SECONDS)
    await settle(200)


async def test_a_topic_stays_until_the_last_broker_has_answered(harness: ZookeeperHarness) -> None:
    await delete_foo_without_broker_2(harness)
    assert harness.hosts("foo-0") == {2}
    assert await recreated(harness) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert {paths.topic("foo"), paths.delete_topic("foo")} <= harness.tree.nodes.keys()
    await arrive(harness)
    assert harness.hosts("foo-0") == set()
    assert not {paths.topic("foo"), paths.delete_topic("foo")} & harness.tree.nodes.keys()
    assert await recreated(harness) is ErrorCode.NONE


async def test_a_broker_that_dies_before_its_stop_replica_deletes_the_log_when_it_is_back(
    harness: ZookeeperHarness,
) -> None:
    await delete_foo_without_broker_2(harness)
    await harness.stop_broker(2, controlled=False)
    await arrive(harness)
    assert await recreated(harness) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert harness.hosts("foo-0") == {2}
    await harness.cluster.start_broker(2)
    await harness.until(lambda: "foo" not in harness.state.cluster.topics)
    assert harness.hosts("foo-0") == set()
    assert harness.hosts("bar-0") == {1, 2}


async def test_a_broker_that_joins_keeps_its_replica_of_the_new_topic(harness: ZookeeperHarness) -> None:
    await harness.stop_broker(2, controlled=False)
    harness.network.loses = lambda port, _message: port == PORT_OF_2
    await harness.cluster.start_broker(2)
    await harness.delete("foo")
    await harness.advance(1)
    assert await recreated(harness) is ErrorCode.TOPIC_ALREADY_EXISTS
    await arrive(harness)
    await harness.having({"foo-0": [2, 3]})
    before = len(harness.sent(StopReplicaRequest, [2]))
    await harness.advance(1)
    assert harness.hosts("foo-0") == {2, 3}
    assert len(harness.sent(StopReplicaRequest, [2])) == before


async def test_a_new_connection_to_a_broker_gets_the_drops_that_are_left(harness: ZookeeperHarness) -> None:
    await delete_foo_without_broker_2(harness)
    harness.zookeeper_cluster._log_dir_failed(2)  # all its state is sent again
    await arrive(harness)
    await harness.until(lambda: "foo" not in harness.state.cluster.topics)
    assert harness.hosts("foo-0") == set()


async def test_the_next_controller_completes_a_deletion(harness: ZookeeperHarness) -> None:
    await delete_foo_without_broker_2(harness)
    again = await harness.survivor(harness.commits)
    await again.until(lambda: "foo" not in again.state.cluster.topics)
    assert paths.topic("foo") not in again.tree.nodes
    await again.stop()


async def test_no_broker_creates_a_replica_of_a_topic_that_is_being_deleted(
    harness: ZookeeperHarness,
) -> None:
    await delete_foo_without_broker_2(harness)
    await harness.stop_broker(2, controlled=False)
    await harness.advance(1)
    assert harness.hosts("foo-0") == {2}
