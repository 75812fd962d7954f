from controller.cluster.holders import holders
from controller.state.state import State
from tests.builders import InMemoryController, partition


def test_brokers_with_replicas_and_targets_are_holders() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("foo-1", [9, 1]))
    controller.with_limits(partitions=1)
    controller.alter({"foo-0": [1, 4], "foo-1": [5, 1]})
    assert holders(controller.state) == {1, 2, 4, 5, 9}


def test_the_holders_of_a_cluster_that_is_not_known_yet_are_not_known() -> None:
    assert holders(State()) is None
