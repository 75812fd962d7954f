import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import cast

import pytest

from common.address import Address
from reassignd.errors import CommandError
from reassignd.runtime.listeners.ports import BrokerPorts
from server.connections.client_connection import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.connections.session import Session
from server.counters import Counters
from server.dispatch.context import BrokerPort


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
