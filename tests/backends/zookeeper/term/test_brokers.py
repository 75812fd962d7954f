import pytest

from backends.zookeeper.term.brokers import BrokerDirectory, RegisteredBroker
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import Endpoint, Registration
from controller.messages.events import BrokerRegistration
from controller.model.cluster import Partition

TLS = Endpoint("OUTSIDE", "SSL", "example.org", 9093)
PLAIN = Endpoint("INSIDE", "PLAINTEXT", "10.0.0.1", 9092)
ONE = RegisteredBroker(1, 70, Registration((TLS, PLAIN), "rack-a"))


def test_brokers_come_go_return_and_change() -> None:
    directory = BrokerDirectory()
    two = ONE._replace(id=2)
    assert directory.update([ONE, two]) == ([], [ONE, two], [])
    back, moved = ONE._replace(epoch=71), two._replace(registration=Registration((PLAIN,)))
    assert directory.update([back, moved]) == ([], [back], [moved])
    assert directory.update([back]) == ([2], [], [])


def test_a_broker_is_reached_at_its_first_listener_in_plaintext_or_at_the_one_named() -> None:
    assert BrokerDirectory().core_registration(ONE) == BrokerRegistration(1, "10.0.0.1", 9092, "rack-a", 70)
    assert BrokerDirectory("OUTSIDE").core_registration(ONE).port == 9093


def test_a_broker_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(ZnodeError, match="no listener named INTERNAL; set "):
        BrokerDirectory("INTERNAL").core_registration(ONE)


def test_what_brokers_place_on_the_controller_is_placed_elsewhere() -> None:
    directory = BrokerDirectory()
    directory.update([ONE, ONE._replace(id=2)])
    for replicas, expected in (((9, 1), (2, 1)), ((1, 2), (1, 2)), ((2, 9), (2, 1))):
        placed = directory.replace_controller(Partition("foo", 0, replicas, replicas, -1), 9)
        assert (placed.replicas, placed.isr) == (expected, expected)


def test_who_takes_the_controllers_place_is_in_another_rack_if_possible() -> None:
    directory = BrokerDirectory()
    racks = {1: "a", 2: "a", 3: "b", 4: "a", 5: "b"}
    directory.update([RegisteredBroker(n, 1, Registration((PLAIN,), rack)) for n, rack in racks.items()])
    placed = [
        directory.replace_controller(Partition("foo", n, (1, 9), (1, 9), -1), 9).replicas for n in range(3)
    ]
    assert placed == [(1, 3), (1, 5), (1, 3)]
    assert directory.replace_controller(Partition("foo", 0, (1, 3, 9), (), -1), 9).replicas == (1, 3, 2)


def test_more_replicas_than_brokers_are_refused() -> None:
    directory = BrokerDirectory()
    directory.update([ONE, ONE._replace(id=2)])
    with pytest.raises(ZnodeError, match=r"has 3 replicas, but there are 2 brokers \(9 is reassignd"):
        directory.replace_controller(Partition("foo", 0, (1, 9, 2), (), -1), 9)


def test_the_controller_is_in_a_rack_when_brokers_are() -> None:
    directory = BrokerDirectory()
    assert directory.controller_rack is None
    bare = RegisteredBroker(0, 1, Registration((PLAIN,)))
    directory.update([ONE, bare])
    assert directory.controller_rack == "rack-a"


def test_all_listeners_are_told_to_clients() -> None:
    directory = BrokerDirectory()
    directory.update([ONE])
    [told] = directory.metadata_brokers()
    assert [(each.listener, each.security_protocol) for each in told.endpoints] == [
        ("OUTSIDE", 1),
        ("INSIDE", 0),
    ]
    assert (told.id, told.rack) == (1, "rack-a")
