"""Requests of the controller go to the addresses in the controller's state."""

from collections.abc import AsyncIterator, Mapping

import pytest

from backends.client.errors import UnreachableError
from backends.client.handshake import ClientSettings
from backends.zookeeper.session.tree import Create, Delete, ensure
from backends.zookeeper.term.registered_brokers import (
    BrokerDirectory,
    LiveBrokers,
    RegisteredBroker,
    TermBrokerClient,
    listener_addresses,
)
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import Endpoint, Registration, encode_broker
from common.clock import ManualClock, settle
from common.tasks import cancel, spawn
from controller.messages.events import BrokerRegistration
from controller.model.cluster import Broker, Partition
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tests.backends.client.fake import FakeBroker, broker
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import tree_with

TLS = Endpoint("OUTSIDE", "SSL", "example.org", 9093)
PLAIN = Endpoint("INSIDE", "PLAINTEXT", "10.0.0.1", 9092)
ONE = RegisteredBroker(1, 70, Registration((TLS, PLAIN), "rack-a"))


def test_brokers_start_stop_restart_and_change() -> None:
    directory = BrokerDirectory()
    two = ONE._replace(id=2)
    assert directory.update([ONE, two]) == ([], [ONE, two], [])
    back, moved = ONE._replace(epoch=71), two._replace(registration=Registration((PLAIN,)))
    assert directory.update([back, moved]) == ([], [back], [moved])
    assert directory.update([back]) == ([2], [], [])


def test_the_endpoint_is_the_first_plaintext_listener_or_the_named_one() -> None:
    assert BrokerDirectory().broker_registration(ONE) == BrokerRegistration(1, "10.0.0.1", 9092, "rack-a", 70)
    assert BrokerDirectory("OUTSIDE").broker_registration(ONE).port == 9093


def test_a_broker_without_the_listener_is_rejected() -> None:
    with pytest.raises(ZnodeError, match="no listener named INTERNAL; set "):
        BrokerDirectory("INTERNAL").broker_registration(ONE)


def test_a_replica_on_the_controller_is_replaced() -> None:
    directory = BrokerDirectory()
    directory.update([ONE, ONE._replace(id=2)])
    for replicas, expected in (((9, 1), (2, 1)), ((1, 2), (1, 2)), ((2, 9), (2, 1))):
        placed = directory.replace_controller(Partition("foo", 0, replicas, replicas, -1), 9)
        assert (placed.replicas, placed.isr) == (expected, expected)


def test_the_replacement_is_in_an_unused_rack_if_possible() -> None:
    directory = BrokerDirectory()
    racks = {1: "a", 2: "a", 3: "b", 4: "a", 5: "b"}
    directory.update([RegisteredBroker(n, 1, Registration((PLAIN,), rack)) for n, rack in racks.items()])
    placed = [
        directory.replace_controller(Partition("foo", n, (1, 9), (1, 9), -1), 9).replicas for n in range(3)
    ]
    assert placed == [(1, 3), (1, 5), (1, 3)]
    assert directory.replace_controller(Partition("foo", 0, (1, 3, 9), (), -1), 9).replicas == (1, 3, 2)


def test_more_replicas_than_brokers_are_rejected() -> None:
    directory = BrokerDirectory()
    directory.update([ONE, ONE._replace(id=2)])
    with pytest.raises(ZnodeError, match=r"has 3 replicas, but there are 2 brokers \(9 is reassignd"):
        directory.replace_controller(Partition("foo", 0, (1, 9, 2), (), -1), 9)


def test_the_controller_has_a_rack_if_brokers_have() -> None:
    directory = BrokerDirectory()
    assert directory.controller_rack is None
    bare = RegisteredBroker(0, 1, Registration((PLAIN,)))
    directory.update([ONE, bare])
    assert directory.controller_rack == "rack-a"


def test_update_metadata_contains_all_listeners() -> None:
    directory = BrokerDirectory()
    directory.update([ONE])
    [told] = directory.metadata_brokers()
    assert [(each.listener, each.security_protocol) for each in told.endpoints] == [
        ("OUTSIDE", 1),
        ("INSIDE", 0),
    ]
    assert (told.id, told.rack) == (1, "rack-a")


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


LIST = ListPartitionReassignmentsRequest()


@pytest.fixture
async def brokers() -> AsyncIterator[list[FakeBroker]]:
    async with broker() as first, broker() as second:
        yield [first, second]


@pytest.fixture
async def asker(brokers: list[FakeBroker]) -> AsyncIterator[TermBrokerClient]:
    """Return a client whose state contains brokers 1 and 2."""
    state = State(mode=EMBEDDED)
    for number, each in enumerate(brokers, 1):
        state.put(Broker(number, *each.address, None, 1))
        state.cluster.live.add(number)
    result = TermBrokerClient(state, ClientSettings(), ManualClock())
    yield result
    await result.close()


async def test_requests_to_a_broker_share_a_connection(
    asker: TermBrokerClient, brokers: list[FakeBroker]
) -> None:
    await asker.ask(LIST, 2)
    await asker.ask(LIST, 2)
    assert [(each.connections, len(each.asked)) for each in brokers] == [(0, 0), (1, 2)]


async def test_any_broker_is_a_live_one(asker: TermBrokerClient, brokers: list[FakeBroker]) -> None:
    await asker.ask(LIST)
    assert [len(each.asked) for each in brokers] == [1, 0]


async def test_a_changed_address_leads_to_a_new_connection(
    asker: TermBrokerClient, brokers: list[FakeBroker]
) -> None:
    await asker.ask(LIST, 1)
    asker.state.put(Broker(1, *brokers[1].address, None, 2))
    await asker.ask(LIST, 1)
    assert [len(each.asked) for each in brokers] == [1, 1]


async def test_an_unknown_broker_is_an_error(asker: TermBrokerClient) -> None:
    with pytest.raises(UnreachableError, match="broker 7 is not registered"):
        await asker.ask(LIST, 7)
