"""The gateway on real sockets.

A broker's port opens before the broker is shown, and closes when the broker is gone.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from common.address import Address
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.list_groups_request import ListGroupsRequest
from protocol.messages.metadata_request import MetadataRequest
from server.connections.client_connection import ConnectionLimits
from server.gateway.gateway import Gateway
from server.gateway.port_assignments import Claim, PortPendingError
from server.relay.brokers import ANY
from tests.server.gateway.sockets import FakeKafka, connect, gateway
from tests.server.sockets import until
from tools.ports import free_ports

CERTIFICATES = Path(__file__).parents[2] / "reassignd" / "tls"


class Given:
    """Positions that others assign."""

    def __init__(self, positions: dict[int, int]) -> None:
        self.positions = positions

    async def position(self, claim: Claim) -> int:
        if claim.broker not in self.positions:
            raise PortPendingError
        return self.positions[claim.broker]


@pytest.fixture
async def kafka() -> AsyncIterator[list[FakeKafka]]:
    """Brokers 1, 2 and 3."""
    async with AsyncExitStack() as stack:
        brokers = [await stack.enter_async_context(FakeKafka()) for _ in range(3)]
        for broker in brokers:
            broker.brokers = {number: each.address for number, each in enumerate(brokers, 1)}
        yield brokers


async def ask(at: Address, request: Any, version: int) -> Any:
    talk = await connect(at)
    answer = await talk.ask(request, version)
    await talk.close()
    return answer


async def cluster_id(at: Address) -> int:
    """Return the cluster id of the answer; it is the port of the broker that answered."""
    return int((await ask(at, DescribeClusterRequest(), 1)).cluster_id)


def ports(running: Gateway) -> dict[int, Address]:
    """Return all ports; the first one leads to any broker."""
    assert running.bootstrap is not None
    return {ANY: running.bootstrap, **running.addresses}


async def shown(running: Gateway, broker: int = ANY) -> dict[int, Address]:
    """Return the brokers that clients see."""
    answer = await ask(ports(running)[broker], MetadataRequest(None), 12)
    return {each.node_id: Address(each.host, each.port) for each in answer.brokers}


async def test_each_port_leads_to_its_broker(kafka: list[FakeKafka], tmp_path: Path) -> None:
    async with gateway(tmp_path, kafka[0].brokers) as running:
        found = {broker: await cluster_id(running.addresses[broker]) for broker in (1, 2, 3)}
    assert found == {number: each.address.port for number, each in enumerate(kafka, 1)}


async def test_on_every_port_clients_see_only_the_gateways_ports(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    async with gateway(tmp_path, kafka[0].brokers) as running:
        for broker in (1, 2, 3, ANY):
            assert await shown(running, broker) == running.addresses


async def test_the_first_port_leads_to_any_live_broker(kafka: list[FakeKafka], tmp_path: Path) -> None:
    async with gateway(tmp_path, kafka[0].brokers) as running:
        before = {await cluster_id(ports(running)[ANY]) for _ in range(6)}
        await kafka[1].__aexit__(None, None, None)
        after = {await cluster_id(ports(running)[ANY]) for _ in range(6)}
    assert before == {each.address.port for each in kafka}
    assert after == {kafka[0].address.port, kafka[2].address.port}


async def test_ports_are_numbered_from_the_first_one_and_kept_over_restarts(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    first = free_ports(4)
    listener = Address("127.0.0.1", first)
    async with gateway(tmp_path, {3: kafka[2].address}, listener=listener):
        pass
    async with gateway(tmp_path, kafka[0].brokers, listener=listener) as running:
        assert {broker: at.port - first for broker, at in ports(running).items()} == {
            ANY: 0,
            3: 1,
            1: 2,
            2: 3,
        }


async def test_clients_see_the_advertised_host(kafka: list[FakeKafka], tmp_path: Path) -> None:
    async with gateway(tmp_path, {1: kafka[0].address}, advertised_host="gate.example") as running:
        assert {at.host for at in ports(running).values()} == {"gate.example"}


async def test_a_broker_with_a_new_address_is_reached(kafka: list[FakeKafka], tmp_path: Path) -> None:
    async with gateway(tmp_path, {1: kafka[0].address}) as running:
        before = running.addresses[1]
        await running.update({1: kafka[1].address})
        assert running.addresses[1] == before
        assert await cluster_id(before) == kafka[1].address.port


async def test_a_removed_broker_loses_its_port_and_its_clients_until_it_returns(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    first = free_ports(4)
    async with gateway(tmp_path, kafka[0].brokers, listener=Address("127.0.0.1", first)) as running:
        port = running.addresses[2]
        talk = await connect(port)
        await talk.ask(DescribeClusterRequest(), 1)
        await running.update({1: kafka[0].address, 3: kafka[2].address})
        assert await talk.ended()
        await talk.close()
        with pytest.raises(ConnectionRefusedError):
            await connect(port)
        await running.update(kafka[0].brokers)
        assert running.addresses[2] == port
        assert await cluster_id(port) == kafka[1].address.port


async def test_a_broker_first_seen_in_an_answer_gets_a_port_before_it_is_shown(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    async with gateway(tmp_path, {1: kafka[0].address}) as running:
        assert (await shown(running)).keys() == {1}
        await until(lambda: {1, 2, 3} <= running.addresses.keys())
        assert await shown(running) == running.addresses
        assert await cluster_id(running.addresses[2]) == kafka[1].address.port


async def test_a_broker_without_a_free_port_is_hidden_and_logged_once(
    kafka: list[FakeKafka], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(tmp_path, kafka[0].brokers, ports=2) as running:
        hidden = running.counts.hidden_brokers
        for _ in range(3):
            assert (await shown(running)).keys() == {1, 2}
            await running.update(kafka[0].brokers)
        assert hidden == {3}
        await running.update({1: kafka[0].brokers[1]})
        assert hidden == set()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [
        "broker 3 is hidden from clients, it has no port: brokers have 2 ports, and all of them are in use"
    ]


async def test_a_new_broker_gets_the_port_of_one_that_is_gone(kafka: list[FakeKafka], tmp_path: Path) -> None:
    first = free_ports(3)
    listener, at = Address("127.0.0.1", first), kafka[0].brokers
    async with gateway(tmp_path, {1: at[1], 2: at[2]}, listener=listener, ports=2) as running:
        await running.update({1: at[1], 3: at[3]})
        assert {broker: own.port - first for broker, own in running.addresses.items()} == {1: 1, 3: 2}
        await running.update({1: at[1], 2: at[2], 3: at[3]})
        assert running.counts.hidden_brokers == {2}
        assert await cluster_id(running.addresses[3]) == at[3].port


async def test_a_port_that_another_instance_has_given_to_another_broker_is_opened_for_that(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    first, at = free_ports(3), kafka[0].brokers
    async with gateway(tmp_path, {1: at[1], 2: at[2]}, listener=Address("127.0.0.1", first)) as running:
        running._ports = Given({1: 2, 3: 1})  # of the state topic
        await running.update(at)
        assert {broker: own.port - first for broker, own in running.addresses.items()} == {1: 2, 3: 1}
        assert await cluster_id(running.addresses[1]) == at[1].port


async def test_a_port_in_use_hides_its_broker_until_it_is_free(
    kafka: list[FakeKafka], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = free_ports(4)
    taken = socket.create_server(("127.0.0.1", first + 2))
    async with gateway(tmp_path, kafka[0].brokers, listener=Address("127.0.0.1", first)) as running:
        assert running.addresses.keys() == {1, 3}
        assert "broker 2 is hidden from clients, it has no port" in caplog.text
        assert running.counts.hidden_brokers == {2}
        taken.close()
        await running.update(kafka[0].brokers)
        assert running.addresses[2].port == first + 2
        assert running.counts.hidden_brokers == set()


async def test_a_port_that_is_open_at_last_is_logged_once(
    kafka: list[FakeKafka], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "server.gateway.gateway")
    first = free_ports(4)
    taken = socket.create_server(("127.0.0.1", first + 2))
    async with gateway(tmp_path, kafka[0].brokers, listener=Address("127.0.0.1", first)) as running:
        taken.close()
        for _ in range(2):
            await running.update(kafka[0].brokers)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert said == [f"broker 2 has its port, clients see it: 127.0.0.1:{first + 2}"]


async def test_a_first_port_in_use_raises_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = Address(*taken.getsockname())
        with pytest.raises(OSError, match="Address already in use"):
            await gateway(tmp_path, {}, listener=listener).__aenter__()


async def test_a_broker_crash_closes_the_connections_of_its_clients_only(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    async with gateway(tmp_path, kafka[0].brokers) as running:
        talks = {broker: await connect(running.addresses[broker]) for broker in (1, 2)}
        for talk in talks.values():
            await talk.ask(DescribeClusterRequest(), 1)
        kafka[0].cut()
        assert await talks[1].ended()
        assert (await talks[2].ask(DescribeClusterRequest(), 1)).error_code == 0
        for talk in talks.values():
            await talk.close()


async def test_a_client_disconnect_closes_its_upstream_connection(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    async with gateway(tmp_path, kafka[0].brokers) as running:
        talk = await connect(running.addresses[1])
        await talk.ask(DescribeClusterRequest(), 1)
        (upstream,) = kafka[0].connections
        await talk.abort()
        await asyncio.wait_for(upstream.wait_closed(), 30)


async def test_a_client_that_does_not_read_uses_bounded_memory(tmp_path: Path) -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readexactly(4)
        writer.write((2**30).to_bytes(4) + (7).to_bytes(4))
        while True:
            writer.write(bytes(65536))
            await writer.drain()
            sent += 65536

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    async with gateway(tmp_path, {1: Address(*server.sockets[0].getsockname())}) as running:
        talk = await connect(running.addresses[1])
        talk.writer.write(b"\0\0\0\x0c" + b"\0\x08\0\0" + b"\0\0\0\7" + bytes(4))
        seen = -1
        while seen != sent or not sent:
            seen = sent
            await asyncio.sleep(0.2)
        assert sent < 64 * 1024 * 1024
        await talk.abort()
        server.close()


async def test_a_client_is_not_read_before_its_upstream_connection_exists(tmp_path: Path) -> None:
    strangers = ssl.create_default_context()
    async with (
        FakeKafka(silent=True) as silent,
        gateway(tmp_path, {1: silent.address}, upstream_tls=strangers) as running,
    ):
        talk = await connect(running.addresses[1])
        talk.writer.transport.set_write_buffer_limits(high=0)
        written = 0
        with contextlib.suppress(TimeoutError):
            while written < 256 * 1024 * 1024:
                talk.writer.write(bytes(1024 * 1024))
                async with asyncio.timeout(0.5):
                    await talk.writer.drain()
                written += 1024 * 1024
        assert written < 64 * 1024 * 1024
        await talk.abort()


async def test_one_connection_too_many_is_closed(kafka: list[FakeKafka], tmp_path: Path) -> None:
    async with gateway(tmp_path, kafka[0].brokers, ConnectionLimits(max_connections=1)) as running:
        first = await connect(running.addresses[1])
        await first.ask(DescribeClusterRequest(), 1)
        second = await connect(running.addresses[2])
        assert await second.ended()
        await second.close()
        await first.close()


async def test_relayed_traffic_is_counted(kafka: list[FakeKafka], tmp_path: Path) -> None:
    async with gateway(tmp_path, kafka[0].brokers) as running:
        await ask(running.addresses[1], ListGroupsRequest(), 4)
        assert running.counts.requests[16] == 1
        assert running.counts.bytes_out[16] > 10


def server_side() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


def client_side() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATES / "ca.pem"))


async def test_both_sides_may_use_tls(tmp_path: Path) -> None:
    tls: dict[str, Any] = {"tls": server_side(), "upstream_tls": client_side()}
    async with FakeKafka(tls=server_side()) as kafka, gateway(tmp_path, {1: kafka.address}, **tls) as running:
        talk = await connect(running.addresses[1], client_side())
        answer = await talk.ask(DescribeClusterRequest(), 1)
        assert int(answer.cluster_id) == kafka.address.port
        await talk.close()


async def test_an_upstream_with_an_untrusted_certificate_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    strangers = ssl.create_default_context()
    async with (
        FakeKafka(tls=server_side()) as kafka,
        gateway(tmp_path, {1: kafka.address}, upstream_tls=strangers) as running,
    ):
        talk = await connect(running.addresses[1])
        assert await talk.ended()
        await talk.close()
    assert "cannot be reached" in caplog.text
    assert "certificate verify failed" in caplog.text


async def test_a_client_without_tls_does_not_count_against_the_limit(
    kafka: list[FakeKafka], tmp_path: Path
) -> None:
    async with gateway(
        tmp_path, {1: kafka[0].address}, ConnectionLimits(max_connections=1), tls=server_side()
    ) as running:
        for _ in range(3):
            plain = await connect(running.addresses[1])
            plain.writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await plain.ended()
            await plain.close()
        talk = await connect(running.addresses[1], client_side())
        assert (await talk.ask(DescribeClusterRequest(), 1)).error_code == 0
        await talk.close()
