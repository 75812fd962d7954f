import pytest

from common.error_codes import ErrorCode
from controller.model.cluster import Broker, Deleted, Replicas
from controller.model.errors import DONE
from controller.reassignment.orders import check_factor
from tests.builders import InMemoryController, partition

PREFIX = "The manual partition assignment includes "


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ((), "an empty replica list."),
        ((1, 2, 9), "broker 9, but no such broker is registered."),
        ((-3, -2, -1), "broker -3, but no such broker is registered."),
        ((3, 2, 3), "the broker 3 more than once."),
        ((9, 2, 2), "the broker 2 more than once."),
        ((1,) * 10_001, "10001 replicas, but a partition can have at most 10000."),
    ],
)
def test_an_invalid_replica_list_is_refused_with_its_smallest_invalid_id(
    replicas: Replicas, message: str
) -> None:
    outcome = InMemoryController().state.cluster.check_replicas(replicas)
    assert outcome == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, PREFIX + message)


def test_a_controller_that_is_not_a_broker_gets_no_replicas() -> None:
    state = InMemoryController().state
    state.cluster.controller_id = 1000
    outcome = state.cluster.check_replicas((1, 1000))
    assert (
        outcome.message == f"{PREFIX}broker 1000, which is reassignd, the controller: it holds no replicas."
    )


def test_an_offline_broker_is_valid_if_it_is_registered() -> None:
    assert InMemoryController(live=()).state.cluster.check_replicas((1, 2, 3)) is DONE


def test_a_target_of_another_length_changes_the_replication_factor() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    assert check_factor(controller.state, controller["foo-0"], (4, 5, 6)) is DONE
    assert check_factor(controller.state, controller["foo-0"], (1, 2)) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "The replication factor is changed from 3 to 2",
    )


def test_during_a_reassignment_the_factor_is_that_of_the_original() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    controller.alter({"foo-0": (4, 5)})
    assert check_factor(controller.state, controller["foo-0"], (4, 6, 5)) is DONE
    assert not check_factor(controller.state, controller["foo-0"], (4, 6)).ok


def test_a_list_is_checked_again_when_brokers_have_changed() -> None:
    controller = InMemoryController()
    assert controller.state.cluster.check_replicas((1, 6)) is DONE
    controller.state.delete(Deleted(Broker, 6))
    assert not controller.state.cluster.check_replicas((1, 6)).ok
