"""Merges of a decision with a state that brokers have stored, and the cache."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends.zookeeper.store.znode_cache import (
    NO_STATE,
    StaleError,
    StoredTopic,
    ZnodeCache,
    merge,
    new_partition,
)
from backends.zookeeper.znodes.formats import Assignment, StateZnode, TopicZnode
from controller.model.cluster import NO_ID, NO_LEADER, Partition
from tests.builders import key, partition

STORED = partition("foo-0", (1, 2, 3))._replace(leader_epoch=4, partition_epoch=7)
SUBSETS = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, unique=True).map(tuple)


def decided(**values: object) -> Partition:
    """Return a decision that was made with version 6, which the leader has replaced."""
    return STORED._replace(leader_epoch=5, partition_epoch=7)._replace(**values)  # type: ignore[arg-type]


def test_a_decision_made_with_the_stored_state_is_stored_unchanged() -> None:
    change = decided(isr=(1, 2, 4), partition_epoch=8)
    assert merge(change, STORED) is change


def test_a_new_leader_gets_the_intersection_of_both_isrs() -> None:
    merged = merge(decided(isr=(2, 3), leader=2), STORED._replace(isr=(1, 2)))
    assert (merged.isr, merged.leader, merged.partition_epoch) == ((2,), 2, 8)


def test_a_leader_that_has_left_the_isr_is_not_stored() -> None:
    with pytest.raises(StaleError, match="foo-0: elected leader 2 has left the ISR"):
        merge(decided(isr=(2, 3), leader=2), STORED._replace(isr=(1, 3)))


def test_if_the_elected_leader_has_left_the_isr_the_current_one_stays_in_the_new_epoch() -> None:
    merged = merge(decided(isr=(1, 2, 3), leader=2), STORED._replace(isr=(1, 3)))
    assert merged == STORED._replace(isr=(1, 3), leader=1, leader_epoch=5, partition_epoch=8)


def test_the_current_leader_does_not_stay_if_it_is_dropped() -> None:
    with pytest.raises(StaleError, match="elected leader 2 has left the ISR"):
        merge(decided(replicas=(2, 3), isr=(1, 2, 3), leader=2), STORED._replace(isr=(1, 3)))


def test_replicas_are_not_dropped_when_the_isr_has_shrunk() -> None:
    with pytest.raises(StaleError, match="the ISR has changed"):
        merge(decided(replicas=(2, 3), isr=(2, 3), leader=2), STORED._replace(isr=(1, 2)))


def test_without_a_leader_the_last_isr_is_kept() -> None:
    merged = merge(decided(leader=NO_LEADER, isr=(3,)), STORED._replace(isr=(1, 2)))
    assert merged.isr == (1, 2)


def test_a_change_of_the_assignment_keeps_the_stored_state() -> None:
    merged = merge(STORED._replace(replicas=(3, 2, 1), isr=(1,), partition_epoch=6), STORED)
    assert merged == STORED._replace(replicas=(3, 2, 1))


@given(SUBSETS, SUBSETS, st.data())
def test_a_replica_that_either_side_removed_is_not_in_the_isr(
    ours: tuple[int, ...], theirs: tuple[int, ...], data: st.DataObject
) -> None:
    change = decided(replicas=(1, 2, 3, 4), isr=ours, leader=data.draw(st.sampled_from(ours)))
    try:
        merged = merge(change, STORED._replace(isr=theirs))
    except StaleError:
        assume(False)
    assert set(merged.isr) == set(ours) & set(theirs)
    assert merged.leader in merged.isr


def cache() -> ZnodeCache:
    result = ZnodeCache()
    result.topics["foo"] = StoredTopic(3, NO_ID, [STORED])
    return result


def test_only_a_newer_state_is_returned() -> None:
    known = cache()
    assert known.observe_state(key("foo-0"), StateZnode(1, 4, (1,), 1), 7) is None
    seen = known.observe_state(key("foo-0"), StateZnode(1, 4, (1,), 1), 8)
    assert seen == known.partition(key("foo-0")) == STORED._replace(isr=(1,), partition_epoch=8)


def test_the_state_of_an_unknown_partition_is_ignored() -> None:
    assert cache().observe_state(key("bar-0"), StateZnode(1, 4, (1,), 1), 8) is None
    assert cache().partition(key("foo-1")) is None


def test_partitions_that_others_add_are_cached_and_other_changes_ignored() -> None:
    known = cache()
    seen = TopicZnode(NO_ID, {0: Assignment((9,)), 1: Assignment((2, 3))})
    known.observe_topic("foo", seen, 5)
    assert known.added("foo", 1) == [new_partition("foo", 1, Assignment((2, 3)))]
    assert known.partition(key("foo-0")) == STORED
    assert known.topics["foo"].version == 5


def test_partitions_in_deletion_do_not_count_as_added() -> None:
    assert cache().added("foo", 0) == []


def test_a_partition_without_a_state_may_be_led_by_any_of_its_replicas() -> None:
    result = new_partition("foo", 1, Assignment((2, 3)))
    assert (result.isr, result.leader, result.partition_epoch) == ((2, 3), NO_LEADER, NO_STATE)


def test_a_state_read_during_a_write_is_kept() -> None:
    known = cache()
    known.observe_state(key("foo-0"), StateZnode(1, 4, (1,), 1), 9)
    known.observe_topic("foo", TopicZnode(NO_ID, {0: Assignment((1,)), 1: Assignment((2,))}), 4)
    written = StoredTopic(4, NO_ID, [STORED._replace(replicas=(3, 2, 1), partition_epoch=8)])
    known.adopt("foo", written, 1)
    now = known.partition(key("foo-0"))
    assert now is not None
    assert (now.replicas, now.isr, now.partition_epoch) == ((3, 2, 1), (1,), 9)
    assert known.partition(key("foo-1")) is not None
