import pytest

from controller.model.cluster import NO_LEADER, Replicas
from controller.model.election import after_loss, first_eligible, keep_or_elect, with_leader
from tests.builders import partition

HEALTHY = partition("foo-0", (1, 2, 3))


@pytest.mark.parametrize(
    ("replicas", "isr", "live", "leader"),
    [
        ((2, 4), (2, 4), (4,), 4),
        ((2, 4), (2, 4), (2, 4), 2),
        ((2, 4), (2,), (), NO_LEADER),
        ((2, 4), (), (2,), NO_LEADER),
        ((2, 4), (4,), (2,), NO_LEADER),
    ],
)
def test_the_first_replica_that_is_alive_and_in_sync_is_eligible(
    replicas: Replicas, isr: Replicas, live: Replicas, leader: int
) -> None:
    assert first_eligible(replicas, isr, live) == leader


def test_a_leader_that_can_stay_is_kept_even_when_another_is_preferred() -> None:
    assert keep_or_elect(HEALTHY, (3, 2, 1), (1, 2, 3), {1, 2, 3}) == 1


@pytest.mark.parametrize(
    ("replicas", "isr", "live"), [((2, 3), (2, 3), (1, 2, 3)), ((1, 2), (2,), (1, 2)), ((1, 2), (1, 2), (2,))]
)
def test_a_leader_off_the_list_out_of_sync_or_dead_is_replaced(
    replicas: Replicas, isr: Replicas, live: Replicas
) -> None:
    assert keep_or_elect(HEALTHY, replicas, isr, live) == 2


def test_the_dead_leave_the_isr_and_the_next_in_sync_leads_under_a_new_epoch() -> None:
    after = after_loss(HEALTHY, {2, 3}, unclean=False)
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (2, (2, 3), 1, 1)


def test_an_adding_replica_in_sync_may_lead_before_the_step_is_complete() -> None:
    moving = partition("foo-0", (4, 2, 1), adding=(4,), removing=(1,), leader=1)
    assert after_loss(moving, {2, 4}, unclean=False).leader == 4


def test_when_all_in_sync_are_dead_they_stay_in_the_isr_and_nobody_leads() -> None:
    after = after_loss(partition("foo-0", (1, 2, 3), isr=(1, 2)), {3}, unclean=False)
    assert (after.leader, after.isr) == (NO_LEADER, (1, 2))


def test_unclean_a_replica_out_of_sync_leads_rather_than_none() -> None:
    after = after_loss(partition("foo-0", (1, 2, 3), isr=(1,)), {3, 2}, unclean=True)
    assert (after.leader, after.isr) == (2, (2,))


def test_unclean_with_nobody_alive_nobody_leads() -> None:
    after = after_loss(partition("foo-0", (1, 2), isr=(1,)), (), unclean=True)
    assert (after.leader, after.isr) == (NO_LEADER, (1,))


def test_nothing_changes_when_nobody_is_lost() -> None:
    assert after_loss(HEALTHY, {1, 2, 3}, unclean=False) is HEALTHY
    assert with_leader(HEALTHY, 1, (1, 2, 3)) is HEALTHY
