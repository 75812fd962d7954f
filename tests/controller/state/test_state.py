from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.messages.effects import TopicDeleted
from controller.model.cluster import (
    NO_LEADER,
    Broker,
    Config,
    ControllerEpoch,
    Deleted,
    Ending,
    Finished,
    Partition,
    Paused,
    Reassignment,
    Record,
    ResourceType,
    Topic,
)
from controller.modes import EMBEDDED, GATEWAY
from controller.state.orders import count_down
from controller.state.state import Decision, Mode, State
from tests.builders import InMemoryController, contents, key, partition

TOPIC = Topic("foo", bytes(range(16)))
MOVE = Reassignment("foo", 0, (1, 2), (3, 4))


def new_state() -> State:
    result = State(mode=EMBEDDED)
    result.apply(
        [Broker(1, "localhost", 9092, None, 1), TOPIC, partition("foo-0", (1, 2)), partition("foo-1", (2,))]
    )
    return result


@pytest.fixture
def state() -> State:
    return new_state()


def test_records_are_found_under_their_keys(state: State) -> None:
    assert state.cluster.topic_names == {TOPIC.id: "foo"}
    assert state.cluster.partition("foo", 1) == partition("foo-1", (2,))
    assert [str(each.key) for each in state.cluster.all_partitions()] == ["foo-0", "foo-1"]


@pytest.mark.parametrize(("topic", "index"), [("ghost", 0), ("foo", 2), ("foo", -1)])
def test_an_unknown_partition_is_none(state: State, topic: str, index: int) -> None:
    assert state.cluster.partition(topic, index) is None


def test_a_record_replaces_the_one_of_the_same_key(state: State) -> None:
    after = partition("foo-0", (2, 1))
    state.put(after)
    assert state.cluster.partitions["foo"][0] is after
    state.put(ControllerEpoch(7))
    assert state.cluster.controller_epoch == 7


def test_all_that_was_put_can_be_deleted_again(state: State) -> None:
    state.put(Config(ResourceType.TOPIC, "foo", "k", "v"))
    state.apply(
        [
            Deleted(Config, (ResourceType.TOPIC, "foo", "k")),
            Deleted(Partition, key("foo-1")),
            Deleted(Partition, key("foo-0")),
            Deleted(Topic, "foo"),
            Deleted(Broker, 1),
        ]
    )
    assert (
        state.settings.configs,
        state.cluster.partitions,
        state.cluster.topics,
        state.cluster.topic_names,
        state.cluster.brokers,
    ) == (
        {},
        {},
        {},
        {},
        {},
    )


def test_reassignments_are_counted_by_topic(state: State) -> None:
    state.put(MOVE)
    state.put(MOVE._replace(partition=1))
    state.put(MOVE._replace(target=(5,)))
    assert state.orders.reassigning == {"foo": 2}
    state.delete(Deleted(Reassignment, key("foo-0")))
    assert state.orders.reassigning == {"foo": 1}
    state.delete(Deleted(Reassignment, key("foo-1")))
    assert state.orders.reassigning == {}


def test_a_changed_reassignment_has_no_earlier_reason_to_wait(state: State) -> None:
    state.put(MOVE)
    state.orders.waiting[MOVE.key] = "offline: broker 3"
    state.put(MOVE._replace(target=(1,)))
    assert state.orders.waiting == {}


def test_unhealthy_partitions_are_tracked(state: State) -> None:
    state.put(partition("foo-0", (1, 2), isr=(1,), leader=NO_LEADER))
    assert (state.cluster.offline, state.cluster.under_replicated) == ({key("foo-0")}, {key("foo-0")})
    state.put(partition("foo-0", (1, 2)))
    assert (state.cluster.offline, state.cluster.under_replicated) == (set(), set())


def test_adding_replicas_out_of_sync_do_not_make_a_partition_unhealthy(state: State) -> None:
    state.put(partition("foo-0", (3, 1, 2), adding=(3,), isr=(1, 2), leader=1))
    assert state.cluster.under_replicated == set()


def test_a_deleted_partition_ends_the_external_move(state: State) -> None:
    state.gateway.add_external(key("foo-1"))
    listed = state.listing.revision
    state.delete(Deleted(Partition, key("foo-1")))
    assert state.gateway.external == set()
    assert state.listing.revision > listed


def test_a_reassignment_raises_the_revision_of_the_listing(state: State) -> None:
    listed = state.listing.revision
    state.put(MOVE)
    assert state.listing.revision > listed


def test_ends_recorded_together_leave_the_state_of_one_after_the_other() -> None:
    ended = Finished(7, "foo", 0, (1, 2), (1, 2), Ending.ROLLED_BACK, 0)
    moving = partition("foo-0", (1, 2, 3), isr=(1, 2), adding=(3,))
    states = [new_state(), new_state()]
    for each in states:
        each.apply([moving, MOVE._replace(job=7), ended._replace(ending=Ending.TAKEN)])
    states[0].apply([partition("foo-0", (1, 2)), Deleted(Reassignment, MOVE.key), ended])
    states[1].put_settled("foo", [partition("foo-0", (1, 2))])
    states[1].end_all("foo", [MOVE.key], {7: {MOVE.key: ended}})
    assert contents(states[0]) == contents(states[1])
    assert not states[1].in_flight


members = st.lists(st.integers(1, 3), min_size=1, unique=True).map(tuple)
loaded = st.lists(
    st.one_of(
        st.builds(
            Partition, st.just("foo"), st.just(0), members, members, st.integers(-1, 3), adding=members
        ),
        st.builds(Partition, st.just("foo"), st.just(1), members, members, st.integers(-1, 3)),
        st.builds(
            Reassignment,
            st.just("foo"),
            st.integers(0, 1),
            members,
            members,
            st.integers(0, 2),
            st.sampled_from(["", "why"]),
        ),
        st.builds(
            Finished,
            st.integers(1, 2),
            st.just("foo"),
            st.integers(0, 1),
            members,
            members,
            st.sampled_from(Ending),
        ),
        st.builds(Paused, st.booleans()),
    )
)


@given(loaded, st.sampled_from([EMBEDDED, GATEWAY]))
def test_loaded_records_leave_the_state_of_one_after_the_other(rows: list[Record], mode: Mode) -> None:
    states = [State(mode=mode), State(mode=mode)]
    first: list[Record] = [TOPIC, *(partition(f"foo-{number}", (1, 2)) for number in range(4))]
    for record in [*first, *rows]:
        states[0].put(record)
    states[1].load([*first, *rows])
    assert contents(states[1]) == contents(states[0])
    assert list(states[1].in_flight) == list(states[0].in_flight)
    assert states[1].listing.by_topic.keys() == states[0].listing.by_topic.keys()


def test_loaded_partitions_without_their_topic_are_an_error() -> None:
    with pytest.raises(KeyError):
        State(mode=EMBEDDED).load([partition("foo-0", (1, 2))])


def test_a_key_whose_count_is_0_is_absent() -> None:
    counts = Counter(a=2)
    count_down(counts, "a")
    assert counts == {"a": 1}
    count_down(counts, "a")
    assert counts == {}


def test_several_can_be_subtracted_at_once() -> None:
    counts = Counter(a=3, b=2)
    count_down(counts, "a", 2)
    count_down(counts, "b", 2)
    assert counts == {"a": 1}


def test_a_change_counts_at_once_and_is_remembered() -> None:
    d = Decision(InMemoryController().state)
    d.put(ControllerEpoch(3))
    assert d.state.cluster.controller_epoch == 3
    assert d.changes == [ControllerEpoch(3)]


def test_a_deletion_counts_at_once_and_is_remembered() -> None:
    d = Decision(InMemoryController().state)
    d.put(Topic("foo", bytes(16)))
    d.delete(Topic, "foo")
    assert d.state.cluster.topics == {}
    assert d.changes[1:] == [Deleted(Topic, "foo")]


def test_a_missing_record_cannot_be_deleted() -> None:
    d = Decision(InMemoryController().state)
    with pytest.raises(KeyError):
        d.delete(Topic, "ghost")
    assert d.changes == []


def test_effects_are_kept_in_order_and_nothing_is_replied_yet() -> None:
    d = Decision(InMemoryController().state)
    d.effects.append(TopicDeleted("foo"))
    d.effects.append(TopicDeleted("bar"))
    assert d.effects == [TopicDeleted("foo"), TopicDeleted("bar")]
    assert d.reply is None


def test_an_effect_can_be_inserted_before_all_others() -> None:
    d = Decision(InMemoryController().state)
    d.effects.append(TopicDeleted("foo"))
    d.effects.insert(0, TopicDeleted("bar"))
    assert d.effects == [TopicDeleted("bar"), TopicDeleted("foo")]
