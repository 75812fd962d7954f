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


def test_an_eligible_leader_is_kept_even_if_another_is_preferred() -> None:
    assert keep_or_elect(HEALTHY, (3, 2, 1), (1, 2, 3), {1, 2, 3}) == 1


@pytest.mark.parametrize(
    ("replicas", "isr", "live"), [((2, 3), (2, 3), (1, 2, 3)), ((1, 2), (2,), (1, 2)), ((1, 2), (1, 2), (2,))]
)
def test_a_leader_that_was_removed_lags_or_is_offline_is_replaced(
    replicas: Replicas, isr: Replicas, live: Replicas
) -> None:
    assert keep_or_elect(HEALTHY, replicas, isr, live) == 2


def test_offline_brokers_leave_the_isr_and_the_next_replica_in_sync_leads() -> None:
    after = after_loss(HEALTHY, {2, 3}, unclean=False)
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (2, (2, 3), 1, 1)


def test_an_adding_replica_in_sync_may_lead_before_the_step_is_complete() -> None:
    moving = partition("foo-0", (4, 2, 1), adding=(4,), removing=(1,), leader=1)
    assert after_loss(moving, {2, 4}, unclean=False).leader == 4


def test_an_isr_without_live_brokers_is_kept_and_has_no_leader() -> None:
    after = after_loss(partition("foo-0", (1, 2, 3), isr=(1, 2)), {3}, unclean=False)
    assert (after.leader, after.isr) == (NO_LEADER, (1, 2))


def test_an_unclean_election_elects_a_replica_out_of_sync() -> None:
    after = after_loss(partition("foo-0", (1, 2, 3), isr=(1,)), {3, 2}, unclean=True)
    assert (after.leader, after.isr) == (2, (2,))


def test_an_unclean_election_without_live_replicas_elects_no_leader() -> None:
    after = after_loss(partition("foo-0", (1, 2), isr=(1,)), (), unclean=True)
    assert (after.leader, after.isr) == (NO_LEADER, (1,))


def test_a_partition_whose_brokers_are_all_live_is_unchanged() -> None:
    assert after_loss(HEALTHY, {1, 2, 3}, unclean=False) is HEALTHY
    assert with_leader(HEALTHY, 1, (1, 2, 3)) is HEALTHY
