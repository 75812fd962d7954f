"""Connections of simulated brokers within the process."""

import logging
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, cast

import pytest

from common.address import Address
from common.error_codes import ErrorCode
from controller.messages.event import AnyEvent
from controller.messages.events import CreatedTopic, CreateTopics
from controller.model.errors import Outcome
from protocol.messages.alter_partition_request import AlterPartitionRequest
from reassignd.config.errors import CommandError
from reassignd.embedded import EmbeddedCluster
from reassignd.runtime.embedded_cluster import BrokerPorts, create_demo_topics
from server.connections.client_connection import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.connections.session import Session
from server.counters import Counters
from server.dispatch.context import CLUSTER, BrokerPort


class Controller:
    """Returns the same outcome for every topic, and records the requests."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.asked: dict[str, int] = {}

    async def submit(self, event: AnyEvent) -> Any:
        assert isinstance(event, CreateTopics)
        self.asked = {topic.name: topic.replication_factor for topic in event.topics}
        return [CreatedTopic(topic.name, self.outcome) for topic in event.topics]


async def test_the_demo_topics_are_created() -> None:
    controller = Controller(Outcome())
    await create_demo_topics(controller, brokers=6)
    assert controller.asked == {"orders": 3, "payments": 3, "clicks": 2, "events": 3}


async def test_a_small_cluster_gets_fewer_replicas() -> None:
    controller = Controller(Outcome())
    await create_demo_topics(controller, brokers=1)
    assert set(controller.asked.values()) == {1}


async def test_a_refused_topic_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await create_demo_topics(Controller(Outcome(ErrorCode.INVALID_PARTITIONS, "no")), brokers=6)
    assert "topic orders was not created: INVALID_PARTITIONS" in caplog.text


SECURED = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


async def test_brokers_need_no_credentials_and_no_acl() -> None:
    async with EmbeddedCluster(2, settings=SECURED) as cluster:
        host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
        channel = await cluster._served._connect_to_itself(host, int(port))
        response = await channel.request(AlterPartitionRequest(1, -1), 2)
        channel.close()
    assert CLUSTER.name == "kafka-cluster"
    assert response.error_code == 0


async def test_a_stopped_broker_refuses_them() -> None:
    async with EmbeddedCluster(2, settings=SECURED) as cluster:
        host, _, port = cluster.bootstrap_servers.split(",")[1].rpartition(":")
        await cluster.stop_broker(2)
        with pytest.raises(ConnectionRefusedError):
            await cluster._served._connect_to_itself(host, int(port))


class Numbered:
    """As much of a broker as a port needs."""

    def __init__(self, number: int) -> None:
        self.id = number


def broker(number: int) -> BrokerPort:
    return cast(BrokerPort, Numbered(number))


@pytest.fixture
async def listeners() -> AsyncIterator[Listeners[BrokerPort]]:
    sessions = partial(Session, lambda _frame, _caller: b"", ConnectionLimits())
    listeners: Listeners[BrokerPort] = Listeners(sessions, ConnectionRegistry(ConnectionLimits(), Counters()))
    yield listeners
    await listeners.close_all(0)


async def test_port_0_gives_each_broker_a_free_one_that_it_keeps(listeners: Listeners[BrokerPort]) -> None:
    ports = BrokerPorts(listeners, Address("127.0.0.1", 0), "")
    first, second = [await ports.open(broker(number)) for number in (1, 2)]
    assert first.port != second.port
    await second.close()
    assert (await ports.open(broker(2))).port == second.port


async def test_brokers_take_consecutive_ports_from_the_first_on(listeners: Listeners[BrokerPort]) -> None:
    free = await BrokerPorts(listeners, Address("127.0.0.1", 0), "").open(broker(2))
    await free.close()
    port = await BrokerPorts(listeners, Address("127.0.0.1", free.port - 1), "").open(broker(2))
    assert port.port == free.port


async def test_the_advertised_host_is_used(listeners: Listeners[BrokerPort]) -> None:
    ports = BrokerPorts(listeners, Address("127.0.0.1", 0), "broker.example")
    port = await ports.open(broker(1))
    assert port.host == "broker.example"
    assert ports.addresses == [Address("broker.example", port.port)]


async def test_a_port_in_use_is_reported(listeners: Listeners[BrokerPort]) -> None:
    taken = (await BrokerPorts(listeners, Address("127.0.0.1", 0), "").open(broker(1))).port
    with pytest.raises(CommandError, match=f"port {taken} is in use; change `listener`"):
        await BrokerPorts(listeners, Address("127.0.0.1", taken), "").open(broker(1))


async def test_a_port_can_be_closed_after_close_all(listeners: Listeners[BrokerPort]) -> None:
    ports = BrokerPorts(listeners, Address("127.0.0.1", 0), "")
    port = await ports.open(broker(1))
    await ports.close_all(0)
    await port.close()


async def test_no_socket_is_served_for_a_port_without_a_broker(listeners: Listeners[BrokerPort]) -> None:
    near, far = socket.socketpair()
    with near, far, pytest.raises(ConnectionRefusedError, match="there is no broker with port 5"):
        BrokerPorts(listeners, Address("127.0.0.1", 0), "").serve(
            5, far, partial(Session, lambda *_: b"", ConnectionLimits())
        )
