import asyncio
from typing import Any

import pytest

from backends.channel import Channel
from backends.zookeeper import paths
from backends.zookeeper.memory import MemoryTree
from backends.zookeeper.protocol import KEY, find_protocol
from backends.zookeeper.releases import protocol
from backends.zookeeper.tree import Create
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.backends.zookeeper.test_live import registration
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


async def cluster(*versions: str) -> tuple[MemoryTree, Any]:
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


async def test_the_oldest_that_a_broker_speaks_counts() -> None:
    tree, connect = await cluster("3.9", "2.4-IV0", "2.8", "", "down")
    assert await find_protocol(tree, 1000, "", connect=connect) == protocol("2.4-IV0")


async def test_a_machine_that_is_gone_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.zookeeper.protocol.ANSWER_SECONDS", 0.01)
    tree, connect = await cluster("silent", "2.8")
    assert await find_protocol(tree, 1000, "", connect=connect) == protocol("2.8")


async def test_what_is_configured_is_not_asked_for() -> None:
    assert await find_protocol(MemoryTree(), 1000, "2.8") == protocol("2.8")
