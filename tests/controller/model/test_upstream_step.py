import pytest

from controller.model.names import Replicas
from controller.model.upstream_step import Stage, UpstreamStep
from tests.builders import key


def test_a_step_has_its_partition_as_key() -> None:
    assert UpstreamStep("foo", 3, (1,), (2,)).key == key("foo-3")


@pytest.mark.parametrize("stage", Stage)
def test_a_step_is_in_flight_until_its_result_is_applied(stage: Stage) -> None:
    assert UpstreamStep("foo", 0, (1,), (2,), stage).in_flight is (stage is not Stage.SETTLED)


@pytest.mark.parametrize(
    ("base", "following", "back"),
    [
        ((4, 1), (2, 3), {(4, 1), (1, 4)}),
        ((1, 4), (2, 3), {(1, 4)}),
        ((4, 1), (1, 2), {(1, 4)}),
        ((1, 2, 3), (3, 1), {(3, 1, 2)}),
    ],
)
def test_a_cancel_leaves_the_order_that_the_step_gave_and_may_sort_the_rest(
    base: Replicas, following: Replicas, back: set[Replicas]
) -> None:
    assert UpstreamStep("foo", 0, base, following).ways_back == back
    assert UpstreamStep("foo", 0, base, following, replaced=(5, 6)).ways_back == set()


@pytest.mark.parametrize(
    ("following", "replaced", "shown", "isr", "middle"),
    [
        ((1, 2, 3), (), (1, 2, 3), (1, 2), True),
        ((1, 2, 3), (), (1, 2, 3), (1, 2, 3), False),
        ((3, 4), (), (3, 4, 1, 2), (1, 2, 3, 4), True),
        ((3, 4), (), (3, 4), (4,), False),
        ((1,), (), (1, 2), (1,), False),
        ((1,), (1, 2, 3), (1, 2, 3), (1, 2), True),
    ],
)
def test_the_end_of_a_step_that_only_adds_is_recognized_by_its_isr(
    following: Replicas, replaced: Replicas, shown: Replicas, isr: Replicas, middle: bool
) -> None:
    step = UpstreamStep("foo", 0, (1, 2), following, replaced=replaced)
    assert step.is_middle(shown, isr) is middle


def test_metadata_from_before_a_step_is_recognized_by_its_leader_epoch() -> None:
    step = UpstreamStep("foo", 0, (1, 2), (3, 4), epoch=5)
    assert step.is_before((2, 1), 5)
    assert not step.is_before((1, 2), 6)
    assert not step.is_before((3, 4), 5)
