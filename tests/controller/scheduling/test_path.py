"""The whole way of a partition. `planner.step_table` tests the steps themselves."""

from controller.scheduling.path import steps_to, why_short

ALL = range(1, 7)


def test_the_steps_lead_to_the_target() -> None:
    steps = steps_to((1, 2, 3), (4, 5, 6), isr=(1, 2, 3), live=ALL, leader=1, original=(1, 2, 3), limit=1)
    assert [step.replicas for step in steps][-1] == (4, 5, 6)


def test_the_steps_end_before_a_broker_that_is_offline() -> None:
    live = {1, 2, 3, 4, 5}
    *_, last = steps_to((1, 2, 3), (4, 5, 6), isr=(1, 2, 3), live=live, leader=1, original=(1, 2, 3))
    assert 6 not in last.replicas
    assert why_short((4, 5, 6), live=live, leader=1) == "offline: broker 6"


def test_a_partition_without_a_leader_takes_no_step() -> None:
    assert list(steps_to((1, 2), (3, 4), isr=(1,), live={3, 4}, leader=-1, original=(1, 2))) == []
    assert why_short((3, 4), live={3, 4}, leader=-1) == "the partition has no leader"
