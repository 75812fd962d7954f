import pytest

from backends.clock import settle
from backends.tasks import cancel, spawn
from backends.zookeeper import paths
from backends.zookeeper.live import LiveBrokers
from backends.zookeeper.memory import MemoryTree
from backends.zookeeper.tree import Create, Delete
from backends.zookeeper.znodes import Endpoint, Registration, encode_broker
from tests.backends.zookeeper.trees import made


def registration(port: int, protocol: str = "PLAINTEXT") -> bytes:
    return encode_broker(Registration((Endpoint("X", protocol, "localhost", port),)), 0)


async def register(tree: MemoryTree, number: int, data: bytes) -> None:
    await tree.multi([Create(paths.broker(number), data)])


async def test_requests_go_to_brokers_in_turn_and_never_to_ourselves() -> None:
    tree = await made()
    for number, data in {
        1: registration(1),
        2: registration(2),
        3: b"{",
        4: registration(4, "SSL"),
        9: registration(9),
    }.items():
        await register(tree, number, data)
    for name in ("007", "None"):
        await tree.multi([Create(f"{paths.BROKERS}/{name}", registration(7))])
    live = LiveBrokers(tree, 9)
    task = spawn(live.follow(), "follow")
    await settle()
    assert {live.choose() for _ in range(4)} == {("localhost", 1), ("localhost", 2)}
    await tree.multi([Delete(paths.broker(1)), Delete(paths.broker(2))])
    await settle()
    with pytest.raises(ConnectionRefusedError):
        live.choose()
    await cancel(task)
