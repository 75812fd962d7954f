"""Session fixtures: real Kafka clusters and gateways. A test that kills a node must start it again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest

from backends.upstream.client import UpstreamClient
from common.address import Address
from tests.clients.cluster import Cluster
from tests.clients.java_programs import JavaAdmin
from tests.clients.servers import Server
from tests.clients.unclosed_sockets import ignore_unclosed_sockets, ignore_unclosed_sockets_at_exit
from tests.reassignd.shell import Shell
from tests.uvloop_loop import new_uvloop
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SMALL_FETCHES, SOON_FENCED, Spec
from tools.processes import Reassignd

REAUTHENTICATION = {"listener.name.sasl_plaintext.scram-sha-512.connections.max.reauth.ms": "3000"}
"""Clients with SCRAM-SHA-512 on SASL_PLAINTEXT must re-authenticate after 3 s (KIP-368)."""
ANY_BROKER_MAY_STOP = {
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "1",
}
"""The topic of transactions, which some tests create, has a leader while one broker is stopped."""


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Use the event loop of the server."""
    return {"uvloop": new_uvloop}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    ignore_unclosed_sockets(items, folder)
    for item in items:
        if folder in item.path.parents and "kafka" in getattr(item, "fixturenames", ()):
            item.add_marker("four_brokers")


def pytest_unconfigure() -> None:
    ignore_unclosed_sockets_at_exit()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Four brokers of Kafka 4.1 without security, three of them KRaft controllers.

    Reassignments can be held in flight.
    """
    spec = Spec(4, "4.1", controllers=3, settings=SOON_FENCED | SMALL_FETCHES | ANY_BROKER_MAY_STOP)
    with running_kafka(spec, folder=tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Two brokers of Kafka 4.3 with SASL, TLS, an authorizer and tools.kafka_settings.PRINCIPALS.

    The controller is a node of its own.
    """
    spec = Spec(2, "4.3", apart=True, secured=True, settings=SOON_FENCED | REAUTHENTICATION)
    with running_kafka(spec, folder=tmp_path_factory.mktemp("secured")) as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["4.3", "4.1"])
def two_brokers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, KafkaCluster]]:
    """A version of Kafka, and two brokers of it. A slow machine does not fence them.

    Reassignments can be held in flight.
    """
    spec = Spec(2, request.param, settings=SMALL_FETCHES | {"broker.session.timeout.ms": "60000"})
    with running_kafka(spec, folder=tmp_path_factory.mktemp("two")) as cluster:
        yield request.param, cluster


@pytest.fixture(scope="session")
def gateway(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    """A gateway in front of the cluster without security."""
    folder = tmp_path_factory.mktemp("reassignd")
    yield from running(Reassignd(folder, {}, len(kafka.brokers), kafka.bootstrap))


@pytest.fixture(scope="session")
def secured_gateway(secured: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    """A gateway in front of the secured cluster: SASL_PLAINTEXT listener, super user."""
    config = {"upstream.command.config": str(secured.client_config("SASL_PLAINTEXT", "admin"))}
    bootstrap = secured.address(1, "SASL_PLAINTEXT")
    yield from running(Reassignd(tmp_path_factory.mktemp("before"), config, len(secured.brokers), bootstrap))


def running(reassignd: Reassignd) -> Iterator[Reassignd]:
    """Start reassignd, yield it, and stop it."""
    reassignd.start()
    yield reassignd
    assert reassignd.stop() == 0


@pytest.fixture(scope="session")
def direct(kafka: KafkaCluster) -> Iterator[Cluster]:
    """The cluster without security, without a gateway."""
    with JavaAdmin(kafka.addresses()) as admin:
        yield Cluster(Server("kafka", kafka.bootstrap), admin)


@pytest.fixture(scope="session")
def java_admin(gateway: Reassignd) -> Iterator[JavaAdmin]:
    """The Java Admin client with the gateway's address."""
    with JavaAdmin(gateway.bootstrap) as admin:
        yield admin


@pytest.fixture
def shell(gateway: Reassignd, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs verbs against the gateway."""
    return Shell(gateway, tmp_path, capsys)


@pytest.fixture
def cluster(gateway: Reassignd, java_admin: JavaAdmin, shell: Shell) -> Iterator[Cluster]:
    """The cluster through the gateway. Reassignments, throttles and limits are removed after each test."""
    cluster = Cluster(Server("reassignd", gateway.bootstrap), java_admin)
    yield cluster
    shell.ok("limits", "P=none", "throttle=none")
    cluster.clean()


@pytest.fixture
async def client(kafka: KafkaCluster) -> AsyncIterator[UpstreamClient]:
    """An UpstreamClient of the cluster without security; it knows the brokers."""
    client = UpstreamClient([bootstrap(kafka)])
    await client.refresh()
    yield client
    await client.close()


def bootstrap(cluster: KafkaCluster, listener: str = "PLAINTEXT", broker: int = 1) -> Address:
    host, _, port = cluster.address(broker, listener).partition(":")
    return Address(host, int(port))
