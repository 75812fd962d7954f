"""Limits of requests for new partitions."""

from collections import Counter
from itertools import chain, islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from controller.cluster.topics import (
    MAX_NEW_PARTITIONS,
    PARTITIONS_PER_SLICE,
    TOPICS_PER_SLICE,
    interleave_racks,
    place,
)
from controller.machine import decide
from controller.messages.effects import Publish
from controller.messages.event import AnyEvent
from controller.messages.events import (
    CreatedTopic,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    NewPartitions,
    NewTopic,
)
from controller.model.cluster import Config, ResourceType
from controller.model.errors import DONE
from controller.model.replicas import is_topic_name
from controller.modes import EMBEDDED, ZOOKEEPER
from controller.state.cluster import Disk
from controller.state.state import Decision
from tests.builders import InMemoryController, partition
from tests.controller.topic_requests import ID, create, delete, grow
from tests.examples import examples


def test_a_created_topic_has_healthy_published_partitions() -> None:
    controller = InMemoryController()
    assert create(controller, partitions=3, replication_factor=2) == CreatedTopic("foo", DONE, 3, 2)
    for number, told in enumerate(effect for effect in controller.effects if isinstance(effect, Publish)):
        now = controller[f"foo-{number}"]
        assert told == Publish(now, new=now.replicas)
        assert (len(now.replicas), now.isr, now.leader) == (2, now.replicas, now.replicas[0])


def test_new_partitions_are_not_placed_on_excluded_brokers() -> None:
    controller = InMemoryController()
    controller.put(Config(ResourceType.BROKER, "", "reassignment.excluded.brokers", "1, 3,4"))
    create(controller, partitions=5, replication_factor=3)
    grow(controller, total=9)
    assert {*chain(*(controller.replicas(f"foo-{number}") for number in range(9)))} == {2, 5, 6}
    refused = create(controller, "bar", partitions=1, replication_factor=4)[1]
    assert refused.error is ErrorCode.INVALID_REPLICATION_FACTOR
    assert "registered and not in reassignment.excluded.brokers (1, 3, 4)" in refused.text


def test_new_partitions_are_not_placed_on_cordoned_brokers() -> None:
    controller = InMemoryController()
    controller.state.cluster.disks = {4: [Disk("/a", 9, 9, 0), Disk("/b", 9, 9, 0)]}
    for broker, value in ((1, "*"), (3, "/a"), (4, "/a,/b")):
        controller.put(Config(ResourceType.BROKER, str(broker), "cordoned.log.dirs", value))
    create(controller, partitions=8, replication_factor=3)
    assert {*chain(*(controller.replicas(f"foo-{number}") for number in range(8)))} == {2, 3, 5, 6}


def test_a_client_may_assign_replicas_to_excluded_brokers() -> None:
    controller = InMemoryController()
    controller.put(Config(ResourceType.BROKER, "", "reassignment.excluded.brokers", "1"))
    assert create(controller, assignments={0: (1, 2)})[1] == DONE


def test_omitted_fields_use_the_cluster_defaults() -> None:
    controller = InMemoryController()
    assert create(controller)[2:] == (1, 1)
    controller.put(Config(ResourceType.BROKER, "", "num.partitions", "4"))
    controller.put(Config(ResourceType.BROKER, "", "default.replication.factor", "3"))
    assert create(controller, "bar")[2:] == (4, 3)


def test_a_topic_may_have_a_manual_assignment_with_dead_replicas_out_of_sync() -> None:
    controller = InMemoryController(live=(1, 2))
    assert create(controller, assignments={1: (2, 1), 0: (6, 1)})[1:] == (DONE, 2, 2)
    assert (controller["foo-0"].isr, controller["foo-0"].leader) == ((1,), 1)
    assert controller.replicas("foo-1") == (2, 1)


def test_a_topic_keeps_the_configs_that_it_is_created_with() -> None:
    controller = InMemoryController()
    create(controller, configs={"min.insync.replicas": "2"})
    assert controller.state.settings.min_isr("foo") == 2


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"name": ""}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": ".."}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "a b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "x" * 250}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "there"}, ErrorCode.TOPIC_ALREADY_EXISTS),
        ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 7}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"assignments": {0: (1, 2)}, "partitions": 1}, ErrorCode.INVALID_REQUEST),
        ({"assignments": {1: (1, 2)}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: (1, 2), 1: (1,)}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: ()}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: (1, 1)}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"configs": {"min.insync.replicas": "0"}}, ErrorCode.INVALID_CONFIG),
        ({"configs": {"min.insync.replicas": None}}, ErrorCode.INVALID_CONFIG),
        ({"configs": {"no.such.key": "1"}}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_an_invalid_topic_is_refused(fields: dict[str, Any], error: ErrorCode) -> None:
    controller = InMemoryController().with_partitions(partition("there-0", (1,)))
    created = create(controller, **fields)
    assert (created.outcome.error, created.partitions, created.replication_factor) == (error, *created[2:])
    assert controller.changes == []


def test_an_assignment_to_dead_brokers_only_is_refused() -> None:
    controller = InMemoryController(live=(1,))
    assert create(controller, assignments={0: (2, 3)}).outcome.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_name_twice_in_a_request_is_refused_twice() -> None:
    controller = InMemoryController()
    reply = controller.do(CreateTopics([NewTopic("foo", ID), NewTopic("bar", ID), NewTopic("foo", ID)])).reply
    assert [created.outcome.ok for created in reply] == [False, True, False]


def test_validating_only_answers_and_changes_nothing() -> None:
    controller = InMemoryController()
    reply = controller.do(CreateTopics([NewTopic("foo", ID, 3, 2)], validate_only=True)).reply
    assert reply == [CreatedTopic("foo", DONE, 3, 2)]
    assert controller.changes == []


def test_new_replicas_go_to_live_brokers_that_do_not_leave() -> None:
    controller = InMemoryController(live=(1, 2, 3))
    controller.state.cluster.shutting_down.add(3)
    assert create(controller, replication_factor=3).outcome.error is ErrorCode.INVALID_REPLICATION_FACTOR
    create(controller, partitions=4, replication_factor=2)
    assert {r for now in controller.state.cluster.all_partitions() for r in now.replicas} == {1, 2}


def test_a_topic_grows_with_as_many_replicas_as_it_has() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    assert grow(controller, 3) is DONE
    assert [len(now.replicas) for now in controller.state.cluster.all_partitions()] == [2, 2, 2]


def test_a_topic_grows_while_it_moves_by_the_size_it_had() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.alter({"foo-0": (3, 4, 5)})
    assert grow(controller, 2) is DONE
    assert len(controller.replicas("foo-1")) == 2


def test_a_topic_may_grow_with_a_manual_assignment() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    assert grow(controller, 3, [(3, 4), (5, 6)]) is DONE
    assert [controller.replicas(f"foo-{n}") for n in (1, 2)] == [(3, 4), (5, 6)]


@pytest.mark.parametrize(
    ("total", "assignments", "error"),
    [
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (0, None, ErrorCode.INVALID_PARTITIONS),
        (3, [(3, 4)], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (2, [(3,)], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (2, [(3, 9)], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_invalid_growth_is_refused(total: int, assignments: Any, error: ErrorCode) -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    assert grow(controller, total, assignments).error is error
    assert controller.changes == []


def test_an_unknown_topic_can_neither_grow_nor_be_deleted() -> None:
    controller = InMemoryController()
    assert grow(controller, 2, topic="ghost").error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(controller, "ghost").error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_growth_without_enough_live_brokers_is_refused() -> None:
    controller = InMemoryController(live=(1,)).with_partitions(partition("foo-0", (1, 2)))
    assert grow(controller, 2).error is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_large_topic_is_created_grown_and_deleted_in_slices() -> None:
    controller, count = InMemoryController(), 2 * PARTITIONS_PER_SLICE
    events: list[AnyEvent] = [
        CreateTopics([NewTopic("foo", ID, count, 1)]),
        CreatePartitions([NewPartitions("foo", 2 * count)]),
        DeleteTopics(["foo"]),
    ]
    slices = [len(list(decide(Decision(controller.state), event))) for event in events]
    # A deletion sends the drops first, and deletes the records after.
    assert slices == [2, 2, 8]


def test_as_many_partitions_as_are_allowed_are_created_in_slices() -> None:
    controller = InMemoryController()
    d = Decision(controller.state)
    slices = list(decide(d, CreateTopics([NewTopic("foo", ID, MAX_NEW_PARTITIONS, 3)])))
    assert d.reply == [CreatedTopic("foo", DONE, MAX_NEW_PARTITIONS, 3)]
    assert len(slices) == MAX_NEW_PARTITIONS // PARTITIONS_PER_SLICE


def test_many_small_topics_are_created_in_slices() -> None:
    topics = [NewTopic(f"foo-{n}", ID, 1, 1) for n in range(4 * TOPICS_PER_SLICE)]
    assert len(list(decide(Decision(InMemoryController().state), CreateTopics(topics)))) == 4


@pytest.mark.parametrize(
    ("name", "legal"), [("a.b_c-D9", True), ("x" * 249, True), ("ä", False), (".", False)]
)
def test_topic_names_are_kafkas(name: str, legal: bool) -> None:
    assert is_topic_name(name) is legal


def test_the_backend_decides_whether_a_moving_topic_grows() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("bar-0", [1, 2]))
    controller.alter({"foo-0": [3, 2]})
    controller.state.mode = ZOOKEEPER
    text = "A partition reassignment is in progress for the topic 'foo'."
    assert grow(controller, 2) == (ErrorCode.REASSIGNMENT_IN_PROGRESS, text)
    assert grow(controller, 2, topic="bar").ok
    controller.state.mode = EMBEDDED
    assert grow(controller, 2).ok


@pytest.mark.parametrize(
    "topics",
    [
        [NewTopic("foo", ID, 2**31 - 1, 1)],
        [NewTopic("foo", ID, 5_000, 1), NewTopic("bar", ID, 5_001, 1)],
        [NewTopic("foo", ID, assignments=dict.fromkeys(range(10_001), (1,)))],
        [NewTopic("foo", ID, assignments={0: (1,) * 100_001})],
        [NewTopic("foo", ID), NewTopic("bar", ID, 10_000, 1)],
        [NewTopic("foo", ID, 10_000, 11)],
    ],
)
def test_a_request_for_too_many_partitions_creates_nothing(topics: list[NewTopic]) -> None:
    controller = InMemoryController(range(1, 21))
    d = Decision(controller.state)
    assert list(decide(d, CreateTopics(topics))) == []
    assert {created.outcome.error for created in d.reply} == {ErrorCode.POLICY_VIOLATION}
    assert len(d.reply) == len(topics)
    assert d.changes == []


def test_the_clusters_default_is_bounded_too() -> None:
    controller = InMemoryController()
    controller.put(Config(ResourceType.BROKER, "", "num.partitions", str(2**31 - 1)))
    assert create(controller).outcome.error is ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize(("total", "assignments"), [(2**31 - 1, None), (10_002, None), (2, [(1,) * 100_001])])
def test_growth_by_too_many_partitions_is_refused(total: int, assignments: Any) -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)), partition("bar-0", (1,)))
    outcome = grow(controller, total, assignments)
    assert outcome.error is ErrorCode.POLICY_VIOLATION
    assert "one request may add 10,000 partitions with 100,000 replicas" in outcome.text
    assert controller.changes == []


def test_the_bound_of_growth_is_that_of_the_whole_request() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)), partition("bar-0", (1,)))
    both = CreatePartitions([NewPartitions("foo", 5_001), NewPartitions("bar", 5_002)])
    assert {outcome.error for _, outcome in controller.do(both).reply} == {ErrorCode.POLICY_VIOLATION}
    assert grow(controller, 10_001).ok


def test_a_topic_too_large_for_the_backend_is_neither_created_nor_grown() -> None:
    controller = InMemoryController()
    controller.state.cluster.fits_topic = lambda partitions, replicas: partitions + replicas <= 12
    assert create(controller, partitions=5, replication_factor=2).outcome.error is ErrorCode.POLICY_VIOLATION
    assert (
        create(controller, assignments=dict.fromkeys(range(5), (1, 2))).outcome.error
        is ErrorCode.POLICY_VIOLATION
    )
    assert create(controller, partitions=4, replication_factor=2).outcome.ok
    assert grow(controller, 5).error is ErrorCode.POLICY_VIOLATION


RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}


def test_neighbours_are_in_different_racks_as_far_as_racks_allow() -> None:
    assert interleave_racks(RACKS) == [1, 3, 5, 2, 4, 6]
    assert interleave_racks({1: "a", 2: "a", 3: "a", 4: "b"}) == [1, 4, 2, 3]


def test_without_racks_brokers_are_in_order() -> None:
    assert interleave_racks({3: None, 1: None, 2: None}) == [1, 2, 3]


def test_each_broker_leads_in_turn_and_each_rack_has_a_replica() -> None:
    lists = list(islice(place(RACKS, 3, 0), 36))
    assert Counter(replicas[0] for replicas in lists) == dict.fromkeys(RACKS, 6)
    assert all(len({RACKS[r] for r in replicas}) == 3 for replicas in lists)


def test_the_followers_of_a_leader_change_from_round_to_round() -> None:
    lists = list(islice(place(dict.fromkeys(range(4)), 2, 0), 12))
    assert len(set(lists)) == 12


def test_placement_continues_after_the_last_position() -> None:
    assert list(islice(place(RACKS, 2, 0), 5, 9)) == list(islice(place(RACKS, 2, 5), 4))


def test_a_single_broker_holds_all_partitions() -> None:
    assert list(islice(place({7: None}, 1, 3), 2)) == [(7,), (7,)]


@settings(max_examples=examples(40))
@given(st.dictionaries(st.integers(0, 20), st.sampled_from(["a", "b", "c", None]), min_size=1), st.data())
def test_a_list_has_as_many_different_brokers_as_asked_for(
    racks: dict[int, str | None], data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    for replicas in islice(place(racks, factor, data.draw(st.integers(0, 99))), 30):
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= racks.keys()
        assert len({racks[r] for r in replicas}) == min(factor, len(set(racks.values())))
