import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.client.channel import connect, connector
from backends.client.handshake import ClientSettings
from backends.client.security import Security
from backends.sqlite.datadir import StoreError
from common.tls import pinned_client_context
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from protocol.messages.metadata_request import MetadataRequest
from reassignd.config.errors import CommandError, ConfigError
from reassignd.embedded import EmbeddedCluster, ManualClock
from reassignd.runtime.listeners import tls

QUICK = {"embedded.partition.bytes": "1000", "embedded.tick.ms": "1"}
PATIENCE_SECONDS = 60


async def metadata(address: str) -> Any:
    """The error of a client that connects there."""
    host, _, port = address.rpartition(":")
    channel = await connect(host, int(port), PATIENCE_SECONDS)
    try:
        return await channel.request(MetadataRequest(None), 8)
    finally:
        channel.close()


async def until(condition: Callable[[], object]) -> None:
    """Return when it holds; brokers and controller use sockets, so there is nothing else to wait for."""
    for _ in range(PATIENCE_SECONDS * 1000):
        if condition():
            return
        await asyncio.sleep(0.001)
    pytest.fail("waited in vain")


async def idle(cluster: EmbeddedCluster) -> None:
    """Returns when nothing moves any more."""
    await until(lambda: not cluster.state.orders.reassignments)


def move(topic: str, replicas: tuple[int, ...]) -> AlterReassignments:
    return AlterReassignments([AlterTopic(topic, [AlterRow(0, replicas)])])


async def test_every_broker_answers_on_its_own_port() -> None:
    async with EmbeddedCluster(3) as cluster:
        addresses = cluster.bootstrap_servers.split(",")
        answers = [await metadata(address) for address in addresses]
    assert len(set(addresses)) == 3
    for answer in answers:
        assert [f"{each.host}:{each.port}" for each in answer.brokers] == addresses


async def test_a_reassignment_completes() -> None:
    async with EmbeddedCluster(3, settings=QUICK) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.submit(move("orders", (3, 2)))
        await idle(cluster)
        partition = cluster.state.cluster.partition("orders", 0)
    assert partition is not None
    assert (partition.replicas, sorted(partition.isr)) == ((3, 2), [2, 3])


async def test_with_tls_files_clients_and_brokers_speak_tls() -> None:
    certificate = str(Path(__file__).parents[1] / "reassignd" / "tls" / "server.pem")
    settings = {**QUICK, "listener.tls.certificate.file": certificate}
    async with EmbeddedCluster(3, settings=settings) as cluster:
        with pytest.raises(OSError, match="closed the connection"):
            await metadata(cluster.bootstrap_servers.split(",")[0])
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.submit(move("orders", (3, 2)))
        await idle(cluster)
        host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
        client_settings = ClientSettings(
            software_version="test", security=Security(tls=pinned_client_context(Path(certificate)))
        )
        channel = await connector(client_settings)(host, int(port))
        answer = await channel.request(MetadataRequest(None), 8)
        channel.close()
    assert len(answer.brokers) == 3


async def test_brokers_accept_a_renewed_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "CHECK_SECONDS", 0)
    keys, file = Path(__file__).parents[1] / "reassignd" / "tls", tmp_path / "tls.pem"
    shutil.copy(keys / "server.pem", file)
    async with EmbeddedCluster(3, settings={**QUICK, "listener.tls.certificate.file": file}) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        shutil.copy(keys / "eve.pem", file)
        await cluster.stop_broker(3)
        await cluster.start_broker(3)
        await cluster.submit(move("orders", (3, 2)))
        await idle(cluster)
        partition = cluster.state.cluster.partition("orders", 0)
    assert partition is not None
    assert (partition.replicas, sorted(partition.isr)) == ((3, 2), [2, 3])


async def test_tls_files_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(CommandError, match=r"cannot use the listener\.tls files: no\.pem: .*No such file"):
        async with EmbeddedCluster(3, settings={"listener.tls.certificate.file": "no.pem"}):
            pass


async def test_data_moves_only_while_the_clock_is_advanced() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(
        3, clock=clock, settings={"embedded.network.bytes.per.second": "1000000"}
    ) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.submit(move("orders", (3, 2)))
        await clock.advance(5)
        assert cluster.state.orders.reassignments
        await clock.advance(10)
        await idle(cluster)


async def test_a_stopped_broker_restarts_on_its_port() -> None:
    async with EmbeddedCluster(2) as cluster:
        first, second = before = cluster.bootstrap_servers.split(",")
        await cluster.stop_broker(2)
        with pytest.raises(ConnectionRefusedError):
            await metadata(second)
        assert [broker.node_id for broker in (await metadata(first)).brokers] == [1]
        await cluster.start_broker(2)
        assert (await metadata(second)).brokers
        assert cluster.bootstrap_servers.split(",") == before


async def test_a_stuck_broker_delays_its_steps() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(2, clock=clock) as cluster:
        await cluster.create_topic("orders", [[1]])
        await cluster.slow_broker(2, 0)
        await cluster.submit(move("orders", (2,)))
        await clock.advance(60)
        assert cluster.state.orders.reassignments
        await cluster.slow_broker(2, 1)
        await clock.advance(60)
        await idle(cluster)


async def test_replicas_of_a_failed_log_directory_leave_the_isr() -> None:
    async with EmbeddedCluster(2, settings={"embedded.log.dirs": "1"}) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        broker = cluster._served.cluster.brokers[2]
        await until(lambda: broker.replicas)
        await cluster.fail_log_dir(2, next(iter(broker.log_dirs.placed)))
        partition = cluster.state.cluster.partition("orders", 0)
    assert partition is not None
    assert partition.isr == (1,)


async def test_a_data_directory_keeps_topics(tmp_path: Path) -> None:
    async with EmbeddedCluster(1, data_dir=tmp_path) as cluster:
        await cluster.create_topic("orders", [[1]])
    async with EmbeddedCluster(1, data_dir=tmp_path) as cluster:
        assert list(cluster.state.cluster.topics) == ["orders"]


async def test_without_a_data_directory_nothing_is_kept() -> None:
    async with EmbeddedCluster(1) as cluster:
        await cluster.create_topic("orders", [[1]])
    async with EmbeddedCluster(1) as cluster:
        assert not cluster.state.cluster.topics


async def test_a_refused_topic_is_reported_with_the_reason() -> None:
    async with EmbeddedCluster(1) as cluster:
        with pytest.raises(ValueError, match="topic bad name"):
            await cluster.create_topic("bad name", [[1]])
        with pytest.raises(ValueError, match="topic orders: the assignment has no partition"):
            await cluster.create_topic("orders", [])
        with pytest.raises(ValueError, match=r"such as \[\[1, 2\]\], not \[1, 2\]$"):
            await cluster.create_topic("orders", [1, 2])  # type: ignore[list-item]


async def test_a_text_instead_of_a_number_is_named() -> None:
    async with EmbeddedCluster(1, clock=ManualClock()) as cluster:
        with pytest.raises(TypeError, match="factor must be a number, not 'a tenth'"):
            await cluster.slow_broker(1, "a tenth")  # type: ignore[arg-type]
        for wait in (cluster.advance, lambda text: cluster.wait_until_done(seconds=text)):
            with pytest.raises(TypeError, match="seconds must be a number, not 'five'"):
                await wait("five")  # type: ignore[arg-type]


async def test_the_state_is_read_as_in_blocking_tests() -> None:
    async with EmbeddedCluster(1) as cluster:
        await cluster.create_topic("orders", [[1]])
        assert await cluster.read(lambda state: list(state.cluster.topics)) == ["orders"]
        assert await cluster.read(lambda state: state.cluster.partition("nope", 0)) is None


async def test_a_data_directory_in_use_is_refused(tmp_path: Path) -> None:
    async with EmbeddedCluster(1, data_dir=tmp_path):
        with pytest.raises(CommandError, match="in use by process"):
            await EmbeddedCluster(1, data_dir=tmp_path).__aenter__()


async def test_a_port_in_use_is_refused_and_nothing_stays_open() -> None:
    async with EmbeddedCluster(1) as cluster:
        port = int(cluster.bootstrap_servers.rpartition(":")[2])
        with pytest.raises(CommandError, match=f"port {port} is in use"):
            await EmbeddedCluster(1, port=port).__aenter__()


async def test_leaving_raises_the_failure_of_the_controller() -> None:
    with pytest.raises(CommandError, match="free disk space"):
        async with EmbeddedCluster(1) as cluster:
            cluster._assembly._report_failure("the controller", StoreError("free disk space"))


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"EmbeddedCluster: unknown key 'tick'"):
        EmbeddedCluster(settings={"tick": "1"})


def test_another_backend_is_refused() -> None:
    with pytest.raises(ConfigError, match="backend is always embedded here, not upstream"):
        EmbeddedCluster(settings={"backend": "upstream"})
