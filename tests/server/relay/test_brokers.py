"""Connections to a given broker, or to any reachable one."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from common.address import Address
from server.relay.brokers import ANY, FlowControl, NoBrokerError, UpstreamBrokers
from tests.server.fakes import FakeTransport
from tests.server.gateway.sockets import FakeKafka
from tools.ports import free_port


class Nobody:
    """A client that ignores its connection."""

    def upstream_received(self, data: bytes) -> None:
        return

    def upstream_writable(self, writable: bool) -> None:
        return

    def upstream_lost(self) -> None:
        return


class Losing(Nobody):
    """A client that waits for the end of its connection."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()

    def upstream_lost(self) -> None:
        self.lost.set()


@pytest.fixture
async def kafka() -> AsyncIterator[FakeKafka]:
    async with FakeKafka() as kafka:
        yield kafka


def nowhere() -> Address:
    return Address("127.0.0.1", free_port())


async def connect(upstreams: UpstreamBrokers, broker: int) -> Address:
    upstream = await upstreams.connect(broker, Nobody())
    place = Address(*upstream.transport.get_extra_info("peername"))
    upstream.transport.close()
    return place


async def test_a_broker_is_reached_at_its_newest_address(kafka: FakeKafka) -> None:
    upstreams = UpstreamBrokers()
    upstreams.update({1: nowhere()})
    upstreams.update({1: kafka.address})
    assert await connect(upstreams, 1) == kafka.address


async def test_any_broker_is_a_reachable_one(kafka: FakeKafka) -> None:
    upstreams = UpstreamBrokers()
    upstreams.update({1: nowhere(), 2: kafka.address, 3: nowhere()})
    for _ in range(4):
        assert await connect(upstreams, ANY) == kafka.address


async def test_connections_to_any_broker_rotate_through_all_brokers(kafka: FakeKafka) -> None:
    async with FakeKafka() as other:
        upstreams = UpstreamBrokers()
        upstreams.update({1: kafka.address})
        upstreams.add(2, other.address)
        found = [await connect(upstreams, ANY) for _ in range(4)]
    assert found.count(kafka.address) == found.count(other.address) == 2


async def test_an_unknown_broker_and_an_empty_list_are_unreachable() -> None:
    for broker in (1, ANY):
        with pytest.raises(NoBrokerError):
            await UpstreamBrokers().connect(broker, Nobody())


async def test_connections_to_a_removed_broker_end(kafka: FakeKafka) -> None:
    upstreams = UpstreamBrokers()
    upstreams.update({1: kafka.address, 2: kafka.address})
    clients = {broker: Losing() for broker in (1, 2)}
    kept = {broker: await upstreams.connect(broker, client) for broker, client in clients.items()}
    upstreams.update({2: kafka.address})
    async with asyncio.timeout(30):
        await clients[1].lost.wait()
    assert not clients[2].lost.is_set()
    kept[2].transport.close()


async def test_connections_to_the_former_address_of_a_broker_end(kafka: FakeKafka) -> None:
    async with FakeKafka() as replacement:
        upstreams, client = UpstreamBrokers(), Losing()
        upstreams.update({1: kafka.address})
        await upstreams.connect(1, client)
        upstreams.update({1: kafka.address})
        assert not client.lost.is_set()
        upstreams.update({1: replacement.address})
        async with asyncio.timeout(30):
            await client.lost.wait()


async def test_an_unreachable_broker_is_logged_once_and_so_is_its_return(
    kafka: FakeKafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    upstreams = UpstreamBrokers()
    at = nowhere()
    upstreams.update({1: at})
    for _ in range(3):
        with pytest.raises(NoBrokerError):
            await upstreams.connect(1, Nobody())
    (line,) = [record.getMessage() for record in caplog.records if record.name.endswith("relay.brokers")]
    assert line.startswith(f"broker 1 at {at} cannot be reached: ")
    caplog.clear()
    async with FakeKafka(at.port):
        await connect(upstreams, 1)
    assert caplog.messages == [f"broker 1 at {at} can be reached again"]


async def test_an_invalid_host_name_is_unreachable(kafka: FakeKafka) -> None:
    upstreams = UpstreamBrokers()
    upstreams.update({1: Address("a..b", 9092), 2: kafka.address})
    assert [await connect(upstreams, ANY) for _ in range(2)] == [kafka.address] * 2
    with pytest.raises(NoBrokerError):
        await upstreams.connect(1, Nobody())


async def test_connecting_to_a_silent_broker_times_out(caplog: pytest.LogCaptureFixture) -> None:
    upstreams = UpstreamBrokers(timeout=0.01)
    # The server accepts the connection and never answers the TLS handshake.
    async with FakeKafka(silent=True) as silent:
        upstreams = UpstreamBrokers(tls=silent.client_context(), timeout=0.05)
        upstreams.update({1: silent.address})
        with pytest.raises(NoBrokerError):
            await upstreams.connect(1, Nobody())
    assert "no connection after 0.05 s" in caplog.text
    await asyncio.sleep(0)


def test_reading_resumes_when_the_last_reason_to_pause_is_gone() -> None:
    transport = FakeTransport()
    flow = FlowControl(transport)
    flow.hold("a")
    flow.hold("b")
    flow.hold("a")
    flow.release("a")
    assert (flow.reading, transport.flow) == (False, ["paused"])
    flow.release("b")
    flow.release("b")
    assert transport.flow == ["paused", "resumed"]


def test_a_closing_transport_is_not_paused() -> None:
    transport = FakeTransport()
    flow = FlowControl(transport)
    flow.hold("a")
    transport.close()
    flow.release("a")
    assert transport.flow == ["paused"]
