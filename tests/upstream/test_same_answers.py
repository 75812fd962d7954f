"""Whatever can be asked without changing anything, the gateway answers as Kafka does, but for addresses and our own keys."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import ResourceType
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.schema import version_range
from server.gateway.addresses import NO_BROKER
from tests.clients.cluster import Cluster
from tests.clients.java_programs import Tools
from tests.upstream.borrowed import decoded, frame, message
from tests.upstream.reads import NOT_READ, Read, populate, reads
from tests.upstream.test_gateway_serves import ports_of
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, address

TRIES = 30
"""Free space on disks and offsets of the quorum change between two answers, though not between all of them."""

CUT = {
    ApiKey.SASL_HANDSHAKE: range(1, 2),
    1: range(4, 16),
}
"""What of Kafka 4.1's versions the gateway shows, where that is not all."""

HIDDEN = {78, 79}
"""The share group's records, whose answers carry addresses."""


Moved = Mapping[tuple[str, int], tuple[str, int]]
"""Host and port of each broker at the gateway, by its own."""


class Sides(NamedTuple):
    """A broker itself, and by its port of the gateway."""

    direct: RawConnection
    relayed: RawConnection


@pytest.fixture(scope="module")
def sides(kafka: KafkaCluster, gateway: Reassignd) -> Iterator[Mapping[int, Sides]]:
    """By broker."""
    ports = ports_of(gateway)
    made = {
        each: Sides(RawConnection(kafka.address(each)), RawConnection(ports[each])) for each in kafka.brokers
    }
    yield made
    for pair in made.values():
        for connection in pair:
            connection.close()


@pytest.fixture(scope="module")
def everything(kafka: KafkaCluster, direct: Cluster) -> Iterator[list[Read]]:
    """What there is to read is there."""
    direct.admin.do("set_configs", type="BROKER", name="2", ops=[["SET", "log.cleaner.threads", "2"]])
    yield reads(populate(kafka.bootstrap, direct.admin))
    direct.admin.do("set_configs", type="BROKER", name="2", ops=[["DELETE", "log.cleaner.threads", None]])


@pytest.fixture(scope="module")
def moved(kafka: KafkaCluster, gateway: Reassignd) -> Moved:
    ours = dict(zip(kafka.brokers, ports_of(gateway)[1:], strict=True))
    return {address(kafka.address(each)): address(ours[each]) for each in kafka.brokers}


def versions(connection: RawConnection) -> dict[int, range]:
    """Those that are shown, by API key."""
    answer = connection.ask(ApiVersionsRequest("reader", "1"), 3)
    return {row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys}


def test_every_api_is_shown_in_kafkas_versions_but_where_addresses_could_not_be_replaced(
    sides: Mapping[int, Sides],
) -> None:
    for pair in sides.values():
        theirs, ours = map(versions, pair)
        assert theirs.keys() - ours.keys() == HIDDEN & theirs.keys()
        assert {key: found for key, found in ours.items() if found != theirs[key]} == CUT


def test_every_api_that_is_shown_is_read_below_or_changes_something(
    sides: Mapping[int, Sides], everything: list[Read]
) -> None:
    for pair in sides.values():
        for shown in map(versions, pair):
            assert shown.keys() <= {each.key for each in everything} | NOT_READ | HIDDEN


def test_every_answer_is_kafkas(sides: Mapping[int, Sides], everything: list[Read], moved: Moved) -> None:
    shown = versions(sides[1].relayed)
    compared = 0
    for read in everything:
        known = version_range(message(read.name).versions)
        for version in shown.get(read.key, range(0)):
            if version < read.since:
                continue
            assert version in known, read.name
            answers = [same(pair, read, version, moved) for pair in sides.values()]
            assert any(read.says in answer for answer in answers), (read.name, version)
            compared += len(answers)
    assert compared > 400


def same(pair: Sides, read: Read, version: int, moved: Moved) -> bytes:
    """The broker's answer, once it and the gateway's are the same."""
    asked = frame(read.name, version, read.values)
    theirs, expected, found = b"", None, b"?"
    for _ in range(TRIES):
        theirs, ours = (connection.timed(asked)[1] for connection in pair)
        expected = comparable(read, version, moved, theirs)
        found = comparable(read, version, {each: each for each in moved.values()}, ours)
        if expected == found:
            break
    assert found == expected, (read.name, version)
    return theirs


def comparable(read: Read, version: int, moved: Moved, answer: bytes) -> Any:
    """The bytes; or what they say, where it may differ, with our addresses in the place of `moved` ones."""
    rule = DIFFERING.get(read.key)
    return answer if rule is None else rule(decoded(read.name, version, answer), moved)


def _brokers(response: Any, moved: Moved) -> Any:
    """KRaft names another live broker as the controller each time."""
    rows = [_at_ours(each, moved) for each in response.brokers]
    named, live = response.controller_id, {each[0] for each in rows}
    return response._replace(brokers=rows, controller_id=named if named == NO_BROKER else named in live)


def _cluster(response: Any, moved: Moved) -> Any:
    return response if response.endpoint_type != 1 else _brokers(response, moved)


def _coordinators(response: Any, moved: Moved) -> Any:
    if response.coordinators:
        return response._replace(coordinators=[_at_ours(each, moved) for each in response.coordinators])
    return _at_ours(response, moved)


def _at_ours(row: Any, moved: Moved) -> Any:
    if not row.host:
        return row
    host, port = moved[row.host, row.port]
    return row._replace(host=host, port=port)


def _configs(response: Any, _moved: object) -> Any:
    def kafkas(row: Any) -> Any:
        theirs = [each for each in row.configs if not each.name.startswith("reassignment.")]
        default = (row.resource_type, row.resource_name) == (ResourceType.BROKER, CLUSTER_DEFAULT)
        return row._replace(configs=theirs) if default else row

    return response._replace(results=[kafkas(each) for each in response.results])


def _quorum(response: Any, _moved: object) -> Any:
    """Without the times: the leader's own is now."""

    def timeless(replicas: Any) -> list[Any]:
        times = {"last_fetch_timestamp": -1, "last_caught_up_timestamp": -1}
        return [
            each._replace(**times) if hasattr(each, "last_fetch_timestamp") else each for each in replicas
        ]

    (topic,) = response.topics
    (row,) = topic.partitions
    row = row._replace(current_voters=timeless(row.current_voters), observers=timeless(row.observers))
    return response._replace(topics=[topic._replace(partitions=[row])])


def _versions(response: Any, _moved: object) -> Any:
    """Which ones is another test."""
    return response._replace(api_keys=())


DIFFERING: Mapping[int, Callable[[Any, Any], Any]] = {
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
CUT_IN_TEXT = tuple(f"\t{each}(" for each in ("Fetch", "SaslHandshake", "ShareFetch", "ShareAcknowledge"))


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
    ids=lambda line: " ".join(each for each in line if each != AT),
)
def test_tools_print_the_same(
    tools: Tools, kafka: KafkaCluster, gateway: Reassignd, everything: list[Read], line: tuple[str, ...]
) -> None:
    theirs, ours = "", "?"
    for _ in range(TRIES):
        theirs, ours = (printed(tools, at, line) for at in (kafka.bootstrap, gateway.bootstrap))
        for broker, port in zip(kafka.brokers, ports_of(gateway)[1:], strict=True):
            ours = ours.replace(port, kafka.address(broker))
            ours = ours.replace(port.replace(":", " "), kafka.address(broker).replace(":", " "))
        if theirs == ours:
            break
    assert ours == theirs
    assert ours


def printed(tools: Tools, bootstrap: str, line: tuple[str, ...]) -> str:
    """Sorted, and without the versions of the APIs that are cut."""
    tool, *arguments = line
    arguments.insert(arguments.index(AT) + 1, bootstrap)
    ran = tools.run(tool, *arguments)
    assert ran.exit_code == 0, ran
    return "\n".join(each for each in sorted(ran.stdout.splitlines()) if not each.startswith(CUT_IN_TEXT))
