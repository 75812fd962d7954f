"""KIP-435's steps: the KIP's own example, the single rules, and the properties of every walk."""

from collections.abc import Collection, Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.limits import UNLIMITED
from controller.model.replicas import Replicas
from controller.scheduling.steps import keeps_up, next_step, steps_to, why_short
from tests.examples import examples

ALL = range(12)


def walk(current: Replicas, target: Replicas, limit: int = UNLIMITED, min_isr: int = 1) -> Iterator[Replicas]:
    """The lists that follow when every replica catches up, and the first of the target leads once it can."""
    leader, original = current[0], current
    while current != target:
        following = step(current, target, leader=leader, original=original, min_isr=min_isr, limit=limit)
        assert following is not None
        current = following
        leader = target[0] if target[0] in current else leader
        yield current


def step(
    current: Replicas,
    target: Replicas,
    *,
    isr: Collection[int] | None = None,
    live: Collection[int] = ALL,
    leader: int | None = None,
    original: Replicas = (),
    min_isr: int = 1,
    limit: int = UNLIMITED,
) -> Replicas | None:
    """The first step of a healthy partition led by its first replica, except for the given fields."""
    return next_step(
        current,
        target,
        isr=current if isr is None else isr,
        live=live,
        leader=current[0] if leader is None else leader,
        original=original or current,
        min_isr=min_isr,
        limit=limit,
    )


def test_the_steps_of_the_kips_example_are_reproduced() -> None:
    assert list(walk((0, 1, 2, 3, 4), (5, 6, 7, 8, 9), limit=2)) == [
        (5, 0, 1, 2, 3, 4),
        (5, 6, 2, 3, 4),
        (5, 6, 7, 8, 4),
        (5, 6, 7, 8, 9),
    ]


def test_without_a_limit_one_step_leads_to_the_target() -> None:
    assert step((1, 2, 3), (4, 5)) == (4, 5)
    assert step((1, 2), (2, 1, 3)) == (2, 1, 3)


def test_a_change_of_order_is_one_step_under_any_limit() -> None:
    assert step((1, 2, 3), (3, 1, 2), limit=1) == (3, 1, 2)


def test_a_leader_step_adds_the_leader_and_drops_nothing() -> None:
    assert step((1, 2, 3), (4, 5, 3), limit=1) == (4, 3, 1, 2)


def test_a_step_adds_and_drops_at_most_the_limit() -> None:
    assert step((1, 2, 3, 4), (1, 5, 6, 7), limit=1) == (1, 5, 3, 4)


def test_replicas_out_of_sync_are_dropped_first_and_the_leader_last() -> None:
    assert step((1, 2, 3, 4), (4, 5, 6, 7), isr=(1, 2), leader=1, limit=1) == (4, 5, 1, 2)
    assert step((1, 2, 3, 4), (4, 5, 6, 7), isr=(1, 2), leader=1, limit=2) == (4, 5, 6, 1)


def test_min_isr_is_reached_in_the_first_step_even_in_a_leader_step() -> None:
    assert step((1, 2, 3), (4, 5, 6), isr=(3,), leader=3, min_isr=3, limit=1) == (4, 5, 1, 2, 3)
    assert step((1, 2, 3), (4, 5, 6), isr=(2, 3), leader=3, min_isr=2, limit=1) == (4, 1, 2, 3)


def test_a_preferred_leader_that_is_in_sync_leads_before_data_is_copied() -> None:
    assert step((1, 2, 3), (2, 4, 5), limit=1) == (2, 1, 3)
    assert step((2, 1, 3), (2, 4, 5), leader=1, limit=1) == (2, 1, 3)
    assert step((2, 1, 3), (2, 4, 5), leader=2, limit=1) == (2, 4, 3)


@pytest.mark.parametrize(
    ("isr", "live", "limit"), [((1, 3), ALL, 1), ((1, 2, 3), {1, 3, 4, 5}, 1), ((1, 2, 3), ALL, UNLIMITED)]
)
def test_no_leader_step_precedes_if_the_preferred_leader_cannot_or_need_not_lead(
    isr: Replicas, live: Collection[int], limit: int
) -> None:
    following = step((1, 2, 3), (2, 4, 5), isr=isr, live=live, limit=limit)
    assert following is not None
    assert 4 in following


def test_no_step_is_planned_that_would_never_have_enough_in_sync() -> None:
    assert step((1, 2, 3), (1, 2, 4), isr=(1, 3), live={1, 3, 4}, min_isr=3) == (1, 2, 4, 3)
    assert step((1, 2, 4, 3), (1, 2, 4), isr=(1, 4, 3), live={1, 3, 4}, min_isr=3) is None
    assert step((1, 2, 4, 3), (1, 2, 4), isr=(1, 2, 4, 3), min_isr=3) == (1, 2, 4)


def test_the_last_replica_in_sync_is_not_dropped_for_one_that_lags() -> None:
    assert step((2, 1, 3), (2, 4), isr=(1,), leader=1, min_isr=2, limit=1) == (2, 4, 1)
    assert step((2, 1), (2,), isr=(1,), leader=1) is None


@pytest.mark.parametrize("limit", [1, 2, UNLIMITED])
def test_a_lower_factor_drops_nothing_while_a_replica_that_stays_is_out_of_sync(limit: int) -> None:
    assert step((3, 1, 2), (3, 2), isr=(1, 2), leader=1, limit=limit) is None
    assert step((1, 2, 3), (2,), isr=(1, 3), limit=limit) is None
    assert step((1, 2, 3, 4), (1, 6), live={1, 2, 3, 4}, limit=limit) is None
    assert step((4, 2, 3, 1), (4, 2), isr=(4, 3, 1), leader=4, original=(1, 2, 3, 5), limit=limit) is None


def test_a_lower_factor_exchanges_replicas_before_the_list_becomes_shorter() -> None:
    assert list(walk((1, 2, 3, 4, 5), (6, 7, 8), limit=1)) == [
        (6, 1, 2, 3, 4, 5),
        (6, 2, 3, 4, 5),
        (6, 7, 3, 4, 5),
        (6, 7, 8, 4, 5),
        (6, 7, 8, 5),
        (6, 7, 8),
    ]


@pytest.mark.parametrize("limit", [1, UNLIMITED])
def test_a_replica_out_of_sync_that_stays_does_not_delay_an_exchange(limit: int) -> None:
    assert step((1, 2, 3), (2, 3, 4), isr=(1, 2), leader=2, limit=limit) == (2, 3, 4)
    assert step((4, 2, 3, 1), (4, 2, 3), isr=(1, 2, 4), leader=4, original=(1, 2, 3), limit=limit) == (
        4,
        2,
        3,
    )


@pytest.mark.parametrize("limit", [1, UNLIMITED])
def test_nothing_is_dropped_while_a_replica_that_was_added_before_is_out_of_sync(limit: int) -> None:
    rule = partial(step, (4, 1, 2, 3), isr=(1, 2, 3), leader=1, original=(1, 2, 3), limit=limit)
    assert rule((4, 2, 3)) is None
    assert rule((4, 5, 3)) == (4, 5, 3, 1, 2)


def test_a_list_that_is_still_long_keeps_min_isr_beyond_a_shorter_target() -> None:
    assert step((1, 2, 3, 4, 5), (1, 2, 3), isr=(1, 3, 4, 5), min_isr=4, limit=1) is None
    assert step((1, 2, 3, 4, 5), (2, 1), isr=(1, 3, 4, 5), min_isr=4, limit=1) is None


def test_live_replicas_are_added_if_none_may_be_dropped_yet() -> None:
    assert step((1, 2, 3, 4, 5), (2, 1, 6), isr=(1, 3, 4), min_isr=5, limit=2) == (2, 1, 6, 3, 4)
    assert step((2, 1, 3), (2, 4), isr=(1,), leader=1, original=(1, 3), limit=1) == (2, 4, 1, 3)


def test_replicas_out_of_sync_may_go_below_min_isr() -> None:
    assert step((1, 2, 3), (1,), isr=(1,), min_isr=2, limit=1) == (1, 3)


def test_offline_replicas_are_not_added_and_the_others_are() -> None:
    assert step((1, 2, 3), (1, 5, 6), live={1, 2, 3, 5}) == (1, 5, 3)


def test_nothing_changes_if_all_missing_replicas_are_offline() -> None:
    assert step((1, 2, 3), (1, 2, 6), live={1, 2, 3}) is None
    assert step((1, 2, 3), (4, 5, 6), live=()) is None


def test_more_than_the_limit_is_added_if_min_isr_requires_it() -> None:
    assert step((1, 2, 3), (1, 5, 6), isr=(2, 3), leader=2, min_isr=2, limit=1) == (1, 5, 2)
    assert step((1, 2, 3), (1, 5, 6), isr=(3,), leader=3, min_isr=3, limit=1) == (1, 5, 6, 3)


def test_fewer_are_dropped_if_min_isr_cannot_be_reached_otherwise() -> None:
    assert step((1, 2, 3, 4), (1, 5, 6, 7), isr=(2, 3), leader=2, min_isr=3, live={1, 2, 3, 4, 5}) == (
        1,
        5,
        2,
        3,
    )


def test_min_isr_above_the_targets_length_requires_the_target_only() -> None:
    assert step((1, 2), (1,), min_isr=5) == (1,)


brokers = st.lists(st.sampled_from(ALL), min_size=1, max_size=6, unique=True).map(tuple)
limits = st.sampled_from([1, 2, 3, UNLIMITED])


@given(brokers, brokers, limits, st.integers(1, 4))
def test_with_all_brokers_live_the_steps_end_at_the_target(
    current: Replicas, target: Replicas, limit: int, min_isr: int
) -> None:
    lists = list(walk(current, target, limit, min_isr))
    assert [current, *lists][-1] == target
    assert len(lists) <= len(current) + len(target) + 2


@given(brokers, brokers)
def test_without_a_limit_and_with_the_target_live_the_step_is_the_target(
    current: Replicas, target: Replicas
) -> None:
    assert step(current, target, live={*current, *target}) == target
    added = tuple(r for r in target if r not in current)
    if added:
        whole = target if len(target) >= len(current) or added == target else None
        everything = (*target, *(r for r in current if r not in target))
        assert step(current, target, live=target, isr=()) == (whole or everything)


@settings(max_examples=examples(300))
@given(brokers, brokers, limits, st.integers(1, 4), st.sets(st.sampled_from(ALL)), st.data())
def test_no_step_violates_the_limits_or_min_isr(
    current: Replicas, target: Replicas, limit: int, min_isr: int, live: set[int], data: st.DataObject
) -> None:
    isr = data.draw(st.lists(st.sampled_from(current), min_size=1, unique=True))
    following = step(current, target, isr=isr, live=live, leader=isr[0], min_isr=min_isr, limit=limit)
    if following is None:
        assert not (live & set(target)) - set(current)
        return
    added, dropped = set(following) - set(current), set(current) - set(following)
    in_sync = len(added) + len(set(isr) & set(following) & live)
    assert added <= live & set(target)
    assert not dropped & set(target)
    assert len(set(following)) == len(following) >= min(len(current), len(target))
    assert len(dropped) <= limit
    assert len(added) <= limit or in_sync <= max(1, min(min_isr, len(target)))
    assert not dropped & set(isr) & live or keeps_up(in_sync, len(following), min_isr)
    if dropped and len(following) < len(current):
        assert set(target) <= set(isr) & live | added  # As in Kafka.


@given(brokers, brokers, limits, st.integers(1, 4), st.sets(st.sampled_from(ALL)))
def test_with_offline_brokers_the_steps_end_with_all_live_targets(
    current: Replicas, target: Replicas, limit: int, min_isr: int, live: set[int]
) -> None:
    leader, original = next((r for r in current if r in live), -1), current
    for _ in range(3 * len(ALL)):
        isr = [r for r in current if r in live]
        following = step(
            current,
            target,
            isr=isr,
            live=live,
            leader=leader,
            original=original,
            min_isr=min_isr,
            limit=limit,
        )
        if following is None or current == target:
            break
        current = following
        leader = target[0] if target[0] in live & set(current) else leader
    assert live & set(target) <= set(current)
    able = keeps_up(len(live & set(target)), len(target), min_isr)
    able &= len(target) >= len(original) or live >= set(target)
    assert current == target or set(target) - live - set(current) or not able


EVERY_BROKER = range(1, 7)


def test_the_steps_lead_to_the_target() -> None:
    steps = steps_to(
        (1, 2, 3), (4, 5, 6), isr=(1, 2, 3), live=EVERY_BROKER, leader=1, original=(1, 2, 3), limit=1
    )
    assert [step.replicas for step in steps][-1] == (4, 5, 6)


def test_the_steps_end_before_a_broker_that_is_offline() -> None:
    live = {1, 2, 3, 4, 5}
    *_, last = steps_to((1, 2, 3), (4, 5, 6), isr=(1, 2, 3), live=live, leader=1, original=(1, 2, 3))
    assert 6 not in last.replicas
    assert why_short((4, 5, 6), live=live, leader=1) == "offline: broker 6"


def test_a_partition_without_a_leader_takes_no_step() -> None:
    assert list(steps_to((1, 2), (3, 4), isr=(1,), live={3, 4}, leader=-1, original=(1, 2))) == []
    assert why_short((3, 4), live={3, 4}, leader=-1) == "the partition has no leader"
