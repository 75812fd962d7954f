import asyncio
from typing import Any

import pytest

from backends.client.channel import Channel, Connect
from backends.zookeeper.session.tree import Create, Delete, ZookeeperError
from backends.zookeeper.term.broker_protocol import parse_protocol
from backends.zookeeper.term.protocol_detection import KEY, detect_protocol
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import Endpoint, Registration, encode_broker
from common.clock import settle
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.term.test_live_brokers import registration
from tests.backends.zookeeper.trees import made


class Broker:
    """Says what it speaks; nothing at all when that is empty."""

    def __init__(self, version: str) -> None:
        self.version = version

    async def request(self, message: Any, version: int) -> Any:
        if not self.version:
            raise ConnectionResetError
        row = DescribeConfigsResourceResult(KEY, self.version)
        return DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[row])])

    def close(self) -> None:
        pass


async def cluster(*versions: str) -> tuple[MemoryTree, Connect]:
    tree = await made()
    for number, _ in enumerate(versions):
        await tree.multi([Create(paths.broker(number), registration(number))])

    async def connect(_: str, port: int) -> Channel:
        if versions[port] == "down":
            raise ConnectionRefusedError
        if versions[port] == "silent":
            await asyncio.Event().wait()
        return Broker(versions[port])

    return tree, connect


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSWER_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(f"backends.zookeeper.term.protocol_detection.{name}", 0.01)
    monkeypatch.setattr("backends.zookeeper.term.protocol_detection.PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("backends.zookeeper.term.protocol_detection.GIVE_UP_SECONDS", 0.1)


async def test_the_oldest_that_a_broker_speaks_counts() -> None:
    tree, connect = await cluster("3.9", "2.4-IV0", "2.8", "", "down")
    assert await detect_protocol(tree, 1000, "", connect=connect) == parse_protocol("2.4-IV0")


async def test_topics_get_ids_when_all_brokers_know_them() -> None:
    tree, connect = await cluster("3.9", "2.8")
    assert (await detect_protocol(tree, 1000, "", connect=connect)).topic_ids


async def test_names_that_are_no_broker_ids_are_not_asked() -> None:
    tree, connect = await cluster("2.8", "2.4")
    registered = tree.nodes[paths.broker(1)].data
    await tree.multi([Delete(paths.broker(1)), Create(f"{paths.BROKERS}/01", registered)])
    assert await detect_protocol(tree, 1000, "", connect=connect) == parse_protocol("2.8")


async def test_who_stays_silent_keeps_topics_without_ids(caplog: pytest.LogCaptureFixture) -> None:
    tree, connect = await cluster("silent", "2.8")
    found = await detect_protocol(tree, 1000, "", connect=connect)
    assert found == parse_protocol("2.8")._replace(topic_ids=False)
    assert "topics get no ids in this term: broker 0 (TimeoutError)" in caplog.text


async def test_a_broker_in_a_pause_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.zookeeper.term.protocol_detection.PATIENCE_SECONDS", 60.0)
    tree, connect = await cluster("3.9", "2.4")
    paused = [1, 1, 1]

    async def pausing(host: str, port: int) -> Channel:
        if port in paused:
            paused.remove(port)
            raise ConnectionRefusedError
        return await connect(host, port)

    assert await detect_protocol(tree, 1000, "", connect=pausing) == parse_protocol("2.4")


async def test_a_broker_that_is_registered_no_more_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.zookeeper.term.protocol_detection.PATIENCE_SECONDS", 60.0)
    tree, connect = await cluster("down", "2.8")
    finding = asyncio.create_task(detect_protocol(tree, 1000, "", connect=connect))
    await settle(20)
    await tree.multi([Delete(paths.broker(0))])
    assert await finding == parse_protocol("2.8")


async def test_when_nobody_answers_each_is_named_once_and_the_search_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tree, connect = await cluster("down", "")
    endpoint = Endpoint("INTERNAL", "SSL", "localhost", 2)
    await tree.multi([Create(paths.broker(2), encode_broker(Registration((endpoint,)), 0))])
    with pytest.raises(ZookeeperError, match="no broker told"):
        await detect_protocol(tree, 1000, "", connect=connect)
    [line] = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert "broker 0 (ConnectionRefusedError), broker 1 (ConnectionResetError)" in line
    assert "ERROR" in {record.levelname for record in caplog.records}
    assert "broker 2 (it has no listener for PLAINTEXT" in line


async def test_without_a_broker_the_search_goes_on_until_there_is_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.zookeeper.term.protocol_detection.GIVE_UP_SECONDS", 0.0)
    tree, connect = await cluster("2.8")
    registered = tree.nodes[paths.broker(0)].data
    await tree.multi([Delete(paths.broker(0))])
    finding = asyncio.create_task(detect_protocol(tree, 1000, "", connect=connect))
    while "none is registered" not in caplog.text:
        await asyncio.sleep(0)
    await tree.multi([Create(paths.broker(0), registered)])
    assert await finding == parse_protocol("2.8")


async def test_a_refusal_is_a_reason(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> Any:
        return DescribeConfigsResponse(results=[DescribeConfigsResult(31, "not allowed")])

    monkeypatch.setattr(Broker, "request", refuse)
    tree, connect = await cluster("2.8")
    with pytest.raises(ZookeeperError):
        await detect_protocol(tree, 1000, "", connect=connect)
    assert "broker 0 (it refused: error 31, not allowed)" in caplog.text


async def test_brokers_too_old_end_the_search() -> None:
    tree, connect = await cluster("2.1")
    with pytest.raises(ZookeeperError, match=r"2\.1 is not served"):
        await detect_protocol(tree, 1000, "", connect=connect)


async def test_what_is_configured_is_not_asked_for() -> None:
    assert await detect_protocol(MemoryTree(), 1000, "2.8") == parse_protocol("2.8")
