import asyncio
from typing import Any

import pytest

from backends.client.channel import Channel, Connect
from backends.zookeeper.session.tree import Create, Delete, Tree, ZookeeperError
from backends.zookeeper.term.broker_protocol import (
    GIVE_UP_SECONDS,
    KEY,
    BrokerProtocol,
    detect_protocol,
    parse_protocol,
)
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import Endpoint, Registration, encode_broker
from common.clock import ManualClock
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.term.test_registered_brokers import registration
from tests.backends.zookeeper.trees import tree_with


@pytest.mark.parametrize(
    ("version", "requests", "by_request", "ids"),
    [
        ("2.2", (2, 5, 1), False, False),
        ("2.4-IV0", (3, 5, 1), False, False),
        ("2.4", (4, 6, 2), False, False),
        ("2.6", (4, 6, 3), False, False),
        ("2.7", (4, 6, 3), True, False),
        ("2.8", (5, 7, 3), True, True),
        ("3.2.1", (6, 7, 3), True, True),
        ("3.9", (7, 8, 4), True, True),
    ],
)
def test_a_version_determines_request_versions_and_features(
    version: str, requests: tuple[int, ...], by_request: bool, ids: bool
) -> None:
    found = parse_protocol(version)
    assert (found.versions[:3], found.isr_by_request, found.topic_ids) == (requests, by_request, ids)


@pytest.mark.parametrize("version", ["", "two", "2.1", "4.0", "0.10.2"])
def test_an_unsupported_protocol_version_is_an_error(version: str) -> None:
    with pytest.raises(ValueError, match=r"inter\.broker\.protocol\.version"):
        parse_protocol(version)


OWN_ID = 1000


class FakeBroker:
    """Answers DescribeConfigs with a version; closes the connection if that is empty."""

    def __init__(self, version: str) -> None:
        self.version = version

    async def request(self, message: Any, version: int) -> Any:
        if not self.version:
            raise ConnectionResetError
        row = DescribeConfigsResourceResult(KEY, self.version)
        return DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[row])])

    def close(self) -> None:
        pass


class FastClock:
    """A clock on which every sleep ends at once."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += seconds
        await asyncio.sleep(0)


async def cluster(*versions: str) -> tuple[MemoryTree, Connect]:
    """Brokers from id 0 with these versions; "down" refuses connections, "silent" does not answer."""
    tree = await tree_with()
    for number, _ in enumerate(versions):
        await tree.multi([Create(paths.broker(number), registration(number))])

    async def connect(_: str, port: int) -> Channel:
        if versions[port] == "down":
            raise ConnectionRefusedError
        if versions[port] == "silent":
            await asyncio.Event().wait()
        return FakeBroker(versions[port])

    return tree, connect


async def detect(tree: Tree, connect: Connect) -> BrokerProtocol:
    return await detect_protocol(tree, OWN_ID, "", connect=connect, clock=FastClock())


@pytest.fixture(autouse=True)
def _short_request_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.zookeeper.term.broker_protocol.REQUEST_SECONDS", 0.01)


async def test_the_oldest_version_counts() -> None:
    tree, connect = await cluster("3.9", "2.4-IV0", "2.8", "", "down")
    assert await detect(tree, connect) == parse_protocol("2.4-IV0")


async def test_topic_ids_are_used_when_all_brokers_support_them() -> None:
    tree, connect = await cluster("3.9", "2.8")
    assert (await detect(tree, connect)).topic_ids


async def test_znodes_whose_names_are_no_broker_ids_are_ignored() -> None:
    tree, connect = await cluster("2.8", "2.4")
    registered = tree.nodes[paths.broker(1)].data
    await tree.multi([Delete(paths.broker(1)), Create(f"{paths.BROKERS}/01", registered)])
    assert await detect(tree, connect) == parse_protocol("2.8")


async def test_an_unreachable_broker_disables_topic_ids(caplog: pytest.LogCaptureFixture) -> None:
    tree, connect = await cluster("silent", "2.8")
    assert await detect(tree, connect) == parse_protocol("2.8")._replace(topic_ids=False)
    assert "topics get no ids in this term" in caplog.text
    assert "broker 0 (TimeoutError)" in caplog.text


async def test_a_broker_that_is_briefly_unreachable_is_asked_again() -> None:
    tree, connect = await cluster("3.9", "2.4")
    failures = [1, 1, 1]

    async def failing(host: str, port: int) -> Channel:
        if port in failures:
            failures.remove(port)
            raise ConnectionRefusedError
        return await connect(host, port)

    assert await detect(tree, failing) == parse_protocol("2.4")


async def test_detection_does_not_wait_for_a_broker_whose_registration_has_ended() -> None:
    tree, connect = await cluster("down", "2.8")
    clock = ManualClock()
    detection = asyncio.create_task(detect_protocol(tree, OWN_ID, "", connect=connect, clock=clock))
    await clock.advance(1)
    assert not detection.done()
    await tree.multi([Delete(paths.broker(0))])
    await clock.advance(1)
    assert await detection == parse_protocol("2.8")


async def test_detection_fails_when_no_broker_answers_and_logs_each_reason_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tree, connect = await cluster("down", "")
    endpoint = Endpoint("INTERNAL", "SSL", "localhost", 2)
    await tree.multi([Create(paths.broker(2), encode_broker(Registration((endpoint,)), 0))])
    with pytest.raises(ZookeeperError, match="no broker has answered"):
        await detect(tree, connect)
    [line] = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert "broker 0 (ConnectionRefusedError), broker 1 (ConnectionResetError)" in line
    assert "ERROR" in {record.levelname for record in caplog.records}
    assert "broker 2 (it has no listener for PLAINTEXT" in line


async def test_detection_waits_until_a_broker_is_registered(caplog: pytest.LogCaptureFixture) -> None:
    tree, connect = await cluster("2.8")
    registered = tree.nodes[paths.broker(0)].data
    await tree.multi([Delete(paths.broker(0))])
    clock = ManualClock()
    detection = asyncio.create_task(detect_protocol(tree, OWN_ID, "", connect=connect, clock=clock))
    await clock.advance(2 * GIVE_UP_SECONDS)
    assert "none is registered" in caplog.text
    await tree.multi([Create(paths.broker(0), registered)])
    await clock.advance(1)
    assert await detection == parse_protocol("2.8")


async def test_an_error_response_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> Any:
        return DescribeConfigsResponse(results=[DescribeConfigsResult(31, "not allowed")])

    monkeypatch.setattr(FakeBroker, "request", refuse)
    tree, connect = await cluster("2.8")
    with pytest.raises(ZookeeperError):
        await detect(tree, connect)
    assert "broker 0 (DescribeConfigs failed: error 31, not allowed)" in caplog.text


async def test_an_unsupported_version_is_an_error() -> None:
    tree, connect = await cluster("2.1")
    with pytest.raises(ZookeeperError, match=r"2\.1 is not supported"):
        await detect(tree, connect)


async def test_a_configured_version_is_returned_without_asking() -> None:
    assert await detect_protocol(MemoryTree(), OWN_ID, "2.8") == parse_protocol("2.8")
