import pytest

from controller.model.replicas import Replicas
from controller.model.upstream_step import Stage, UpstreamStep
from tests.builders import key


def test_a_step_has_its_partition_as_key() -> None:
    assert UpstreamStep("foo", 3, (1,), (2,)).key == key("foo-3")


@pytest.mark.parametrize("stage", Stage)
def test_a_step_is_in_flight_until_its_result_is_applied(stage: Stage) -> None:
    assert UpstreamStep("foo", 0, (1,), (2,), stage).in_flight is (stage is not Stage.SETTLED)


@pytest.mark.parametrize(
    ("base", "following", "replaced", "lists", "middles"),
    [
        ((1, 2), (3, 4), (), [(1, 2)], [{1, 2, 3, 4}]),
        ((1, 2), (1, 2, 3), (), [(1, 2)], []),
        ((1, 2), (2, 1), (), [(1, 2)], []),
        ((1, 2), (1,), (1, 2, 3), [(1, 2), (1, 2, 3)], [{1, 2}, {1, 2, 3}]),
        ((1, 2), (1, 2), (3, 4), [(3, 4)], [{1, 2, 3, 4}]),
    ],
)
def test_the_lists_before_the_end_of_a_step_are_those_that_brokers_may_show(
    base: Replicas, following: Replicas, replaced: Replicas, lists: list[Replicas], middles: list[set[int]]
) -> None:
    step = UpstreamStep("foo", 0, base, following, replaced=replaced)
    assert (step.lists_before, list(map(set, step.middles))) == (lists, middles)


def test_a_step_that_only_changes_the_order_moves_nothing() -> None:
    steps = [UpstreamStep("foo", 0, (1, 2), to) for to in ((1, 2), (2, 1), (1, 2, 3), (1,))]
    assert [step.moves_nothing for step in steps] == [True, True, False, False]
    assert [step.restores for step in steps] == [True, False, False, False]
