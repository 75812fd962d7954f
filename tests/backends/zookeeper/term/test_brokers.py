import pytest

from backends.zookeeper.term.brokers import BrokerDirectory, RegisteredBroker
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import Endpoint, Registration
from controller.messages.events import BrokerRegistration
from controller.model.cluster import Partition

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
