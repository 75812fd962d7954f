"""The gateway's responses to requests that read are Kafka's, but for addresses and own config keys."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from controller.model.cluster import ResourceType
from controller.state.settings import CLUSTER_DEFAULT
from protocol.apis import ApiKey
from protocol.codec.schema import version_range
from protocol.messages.api_versions_request import ApiVersionsRequest
from server.gateway.addresses import NO_BROKER
from tests.clients.cluster import Cluster
from tests.clients.java_programs import Tools
from tests.upstream.kafka_schemas import decoded, frame, message
from tests.upstream.read_requests import NOT_READ_APIS, ReadRequest, populate, reads
from tests.upstream.test_gateway_serves import ports_of
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, address

TRIES = 30
"""Free disk space and quorum offsets can change between two responses, so a comparison is repeated."""

OTHER_VERSIONS = {
    ApiKey.SASL_HANDSHAKE: range(1, 2),
    1: range(4, 16),
}
"""API versions of the gateway that differ from Kafka 4.1's."""

HIDDEN = {78, 79}
"""APIs that the gateway does not show: ShareFetch and ShareAcknowledge, whose responses include addresses."""


AddressMap = Mapping[tuple[str, int], tuple[str, int]]
"""The gateway's host and port for each broker, by the broker's own host and port."""


class ConnectionPair(NamedTuple):
    """Connections to a broker: direct, and through its port of the gateway."""

    direct: RawConnection
    relayed: RawConnection


@pytest.fixture(scope="module")
def pairs(kafka: KafkaCluster, gateway: Reassignd) -> Iterator[Mapping[int, ConnectionPair]]:
    """The connections by broker id."""
    ports = ports_of(gateway)
    connections = {
        broker: ConnectionPair(RawConnection(kafka.address(broker)), RawConnection(ports[broker]))
        for broker in kafka.brokers
    }
    yield connections
    for pair in connections.values():
        for connection in pair:
            connection.close()


@pytest.fixture(scope="module")
def read_requests(kafka: KafkaCluster, direct: Cluster) -> Iterator[list[ReadRequest]]:
    """The read requests; their data exists."""
    direct.admin.do("set_configs", type="BROKER", name="2", ops=[["SET", "log.cleaner.threads", "2"]])
    yield reads(populate(kafka.bootstrap, direct.admin))
    direct.admin.do("set_configs", type="BROKER", name="2", ops=[["DELETE", "log.cleaner.threads", None]])


@pytest.fixture(scope="module")
def addresses(kafka: KafkaCluster, gateway: Reassignd) -> AddressMap:
    relayed = dict(zip(kafka.brokers, ports_of(gateway)[1:], strict=True))
    return {address(kafka.address(broker)): address(relayed[broker]) for broker in kafka.brokers}


def versions(connection: RawConnection) -> dict[int, range]:
    """Return the versions in an ApiVersions response by API key."""
    answer = connection.ask(ApiVersionsRequest("reader", "1"), 3)
    return {row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys}


def test_api_versions_are_those_of_kafka_except_where_addresses_cannot_be_replaced(
    pairs: Mapping[int, ConnectionPair],
) -> None:
    for pair in pairs.values():
        direct, relayed = map(versions, pair)
        assert direct.keys() - relayed.keys() == HIDDEN & direct.keys()
        assert {key: shown for key, shown in relayed.items() if shown != direct[key]} == OTHER_VERSIONS


def test_every_shown_api_has_a_read_request_or_is_no_read(
    pairs: Mapping[int, ConnectionPair], read_requests: list[ReadRequest]
) -> None:
    for pair in pairs.values():
        for shown in map(versions, pair):
            assert shown.keys() <= {request.key for request in read_requests} | NOT_READ_APIS | HIDDEN


def test_every_response_equals_that_of_kafka(
    pairs: Mapping[int, ConnectionPair], read_requests: list[ReadRequest], addresses: AddressMap
) -> None:
    shown = versions(pairs[1].relayed)
    compared = 0
    for read in read_requests:
        known = version_range(message(read.name).versions)
        for version in shown.get(read.key, range(0)):
            if version < read.since:
                continue
            assert version in known, read.name
            answers = [equal_response(pair, read, version, addresses) for pair in pairs.values()]
            assert any(read.contains in answer for answer in answers), (read.name, version)
            compared += len(answers)
    assert compared > 400


def equal_response(pair: ConnectionPair, read: ReadRequest, version: int, addresses: AddressMap) -> bytes:
    """Repeat a request until the broker's and the gateway's responses are equal, and return the response."""
    request = frame(read.name, version, read.values)
    direct, expected, actual = b"", None, b"?"
    for _ in range(TRIES):
        direct, relayed = (connection.timed(request)[1] for connection in pair)
        expected = comparable(read, version, addresses, direct)
        actual = comparable(read, version, {address: address for address in addresses.values()}, relayed)
        if expected == actual:
            break
    assert actual == expected, (read.name, version)
    return direct


def comparable(read: ReadRequest, version: int, addresses: AddressMap, answer: bytes) -> Any:
    """Return the bytes of a response, or the normalized message if parts of it can differ."""
    normalize = NORMALIZERS.get(read.key)
    return answer if normalize is None else normalize(decoded(read.name, version, answer), addresses)


def _brokers(response: Any, addresses: AddressMap) -> Any:
    """Replace the addresses and the controller id: KRaft reports a random live broker as the controller."""
    rows = [_with_gateway_address(row, addresses) for row in response.brokers]
    named, live = response.controller_id, {row[0] for row in rows}
    return response._replace(brokers=rows, controller_id=named if named == NO_BROKER else named in live)


def _cluster(response: Any, addresses: AddressMap) -> Any:
    return response if response.endpoint_type != 1 else _brokers(response, addresses)


def _coordinators(response: Any, addresses: AddressMap) -> Any:
    if response.coordinators:
        return response._replace(
            coordinators=[_with_gateway_address(row, addresses) for row in response.coordinators]
        )
    return _with_gateway_address(response, addresses)


def _with_gateway_address(row: Any, addresses: AddressMap) -> Any:
    if not row.host:
        return row
    host, port = addresses[row.host, row.port]
    return row._replace(host=host, port=port)


def _configs(response: Any, _moved: object) -> Any:
    def without_gateway_keys(row: Any) -> Any:
        kafka_configs = [config for config in row.configs if not config.name.startswith("reassignment.")]
        default = (row.resource_type, row.resource_name) == (ResourceType.BROKER, CLUSTER_DEFAULT)
        return row._replace(configs=kafka_configs) if default else row

    return response._replace(results=[without_gateway_keys(row) for row in response.results])


def _quorum(response: Any, _moved: object) -> Any:
    """Remove the timestamps, which change with each response."""

    def without_times(replicas: Any) -> list[Any]:
        times = {"last_fetch_timestamp": -1, "last_caught_up_timestamp": -1}
        return [
            replica._replace(**times) if hasattr(replica, "last_fetch_timestamp") else replica
            for replica in replicas
        ]

    (topic,) = response.topics
    (row,) = topic.partitions
    row = row._replace(
        current_voters=without_times(row.current_voters), observers=without_times(row.observers)
    )
    return response._replace(topics=[topic._replace(partitions=[row])])


def _versions(response: Any, _moved: object) -> Any:
    """Remove the versions, which another test compares."""
    return response._replace(api_keys=())


NORMALIZERS: Mapping[int, Callable[[Any, Any], Any]] = {
    ApiKey.METADATA: _brokers,
    ApiKey.FIND_COORDINATOR: _coordinators,
    ApiKey.API_VERSIONS: _versions,
    ApiKey.DESCRIBE_CONFIGS: _configs,
    ApiKey.DESCRIBE_CLUSTER: _cluster,
    55: _quorum,
}


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with Tools("4.3") as resident:
        yield resident


AT = "--bootstrap-server"
BROKERS = ("configs", AT, "--describe", "--entity-type", "brokers")
OMITTED_LINES = tuple(f"\t{name}(" for name in ("Fetch", "SaslHandshake", "ShareFetch", "ShareAcknowledge"))


@pytest.mark.parametrize(
    "line",
    [
        ("log-dirs", AT, "--describe"),
        ("broker-api-versions", AT),
        BROKERS,
        (*BROKERS, "--entity-name", "2"),
        (*BROKERS, "--entity-name", "2", "--all"),
        (*BROKERS, "--entity-default"),
        ("topics", AT, "--describe"),
        ("consumer-groups", AT, "--describe", "--all-groups"),
        ("transactions", AT, "list"),
        ("cluster", "list-endpoints", AT),
    ],
    ids=lambda line: " ".join(word for word in line if word != AT),
)
def test_the_output_of_tools_is_the_same(
    tools: Tools,
    kafka: KafkaCluster,
    gateway: Reassignd,
    read_requests: list[ReadRequest],
    line: tuple[str, ...],
) -> None:
    direct, relayed = "", "?"
    for _ in range(TRIES):
        direct, relayed = (
            printed(tools, bootstrap, line) for bootstrap in (kafka.bootstrap, gateway.bootstrap)
        )
        for broker, port in zip(kafka.brokers, ports_of(gateway)[1:], strict=True):
            relayed = relayed.replace(port, kafka.address(broker))
            relayed = relayed.replace(port.replace(":", " "), kafka.address(broker).replace(":", " "))
        if direct == relayed:
            break
    assert relayed == direct
    assert relayed


def printed(tools: Tools, bootstrap: str, line: tuple[str, ...]) -> str:
    """Run a tool and return its sorted output, without the API versions that differ on purpose."""
    tool, *arguments = line
    arguments.insert(arguments.index(AT) + 1, bootstrap)
    ran = tools.run(tool, *arguments)
    assert ran.exit_code == 0, ran
    return "\n".join(text for text in sorted(ran.stdout.splitlines()) if not text.startswith(OMITTED_LINES))
