from collections.abc import Mapping

from backends.zookeeper.session.tree import Create, Delete, ensure
from backends.zookeeper.term.live_brokers import LiveBrokers, listener_addresses
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import Endpoint, Registration, encode_broker
from common.clock import settle
from common.tasks import cancel, spawn
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import tree_with


def registered(port: int) -> Registration:
    return Registration((Endpoint("X", "PLAINTEXT", "localhost", port),))


def registration(port: int) -> bytes:
    return encode_broker(registered(port), 0)


async def register(tree: MemoryTree, name: str, data: bytes) -> None:
    await tree.multi([Create(f"{paths.BROKERS}/{name}", data)])


async def test_on_change_gets_all_brokers_but_our_own_id() -> None:
    tree, seen = await tree_with(), list[Mapping[int, Registration]]()
    for number in (1, 2, 9):
        await register(tree, str(number), registration(number))
    for name, data in {"3": b"{", "007": b"{}", "None": b"{}"}.items():
        await register(tree, name, data)
    task = spawn(LiveBrokers(tree, 9, seen.append).follow(), "follow")
    await settle()
    assert seen[-1] == {1: registered(1), 2: registered(2)}
    await tree.multi([Delete(paths.broker(1)), Delete(paths.broker(2))])
    await settle()
    assert seen[-1] == {}
    await cancel(task)


async def test_brokers_that_register_later_are_found() -> None:
    tree, seen = MemoryTree(), list[Mapping[int, Registration]]()
    task = spawn(LiveBrokers(tree, 9, seen.append).follow(), "follow")
    await settle()
    await ensure(tree, paths.BROKERS)
    await register(tree, "1", registration(1))
    await settle()
    assert seen[-1] == {1: registered(1)}
    await cancel(task)


def test_the_listener_must_match_in_name_and_protocol() -> None:
    def broker(*listeners: tuple[str, str]) -> Registration:
        rows = enumerate(listeners, start=1)
        return Registration(tuple(Endpoint(name, kind, "localhost", port) for port, (name, kind) in rows))

    brokers = {
        1: broker(("CLIENT", "SSL"), ("INTERNAL", "SSL")),
        2: broker(("INTERNAL", "PLAINTEXT"), ("CLIENT", "SSL")),
        3: broker(("INTERNAL", "PLAINTEXT")),
    }
    assert listener_addresses(brokers, "INTERNAL", "SSL") == {1: ("localhost", 2)}
