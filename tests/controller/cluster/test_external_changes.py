"""Changes that other clients stored are applied to the state, and the controller reacts to them."""

from typing import Any

import pytest

from controller.machine import decide
from controller.messages.effects import BrokerJoined, ConfigsChanged, Publish
from controller.messages.event import AnyEvent
from controller.messages.events import (
    AlterReassignments,
    BrokerChanged,
    ConfigsStored,
    Halt,
    PartitionsStored,
    TopicStored,
)
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import (
    NO_ID,
    NO_LEADER,
    Config,
    Partition,
    Reassignment,
    ResourceType,
    TopicPartition,
)
from controller.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS, SCHEDULE, THROTTLE
from controller.state.state import Decision
from tests.builders import InMemoryController, partition, registration

FOO = TopicPartition("foo", 0)
MOVING = partition("foo-0", (3, 1, 2), isr=(1, 2), leader=1, adding=(3,), removing=(1,))


def do(controller: InMemoryController, event: AnyEvent) -> Decision:
    """Return the decision, without the comparison of states: external changes are not recorded."""
    d = Decision(controller.state)
    for _ in decide(d, event):
        pass
    return d


def bare(name: str, number: int, *replicas: int) -> Partition:
    return Partition(name, number, replicas, replicas, NO_LEADER, -1, -1)


def test_an_isr_that_completes_a_step_ends_it() -> None:
    controller = InMemoryController().with_partitions(MOVING)
    do(controller, PartitionsStored([MOVING._replace(isr=(1, 2, 3), partition_epoch=1)]))
    now = controller.state.cluster.partitions["foo"][0]
    assert (now.replicas, now.isr, now.partition_epoch) == ((3, 2), (2, 3), 2)


def test_an_external_isr_that_completes_no_step_is_published_but_not_stored() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    seen = partition("foo-0", (1, 2, 3))._replace(isr=(1, 2), partition_epoch=1)
    d = do(controller, PartitionsStored([seen]))
    assert d.changes == []
    assert d.effects == [Publish(seen, lead=False)]


def test_external_changes_older_than_the_state_are_ignored() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", (1, 2, 3))._replace(leader_epoch=4, partition_epoch=7)
    )
    known = controller.state.cluster.partitions["foo"][0]
    for stale in (
        known._replace(isr=(1,), partition_epoch=7),
        known._replace(leader_epoch=3, partition_epoch=9),
    ):
        assert do(controller, PartitionsStored([stale])).effects == []
    assert controller.state.cluster.partitions["foo"][0] is known


def test_a_new_topic_is_led_by_its_first_live_replica() -> None:
    controller = InMemoryController(live=[2, 3])
    d = do(controller, TopicStored("foo", NO_ID, [bare("foo", 0, 1, 2, 3)]))
    before = Partition("foo", 0, (1, 2, 3), (2, 3), 2, 0, 0)
    assert d.changes == [before]
    assert d.effects == [Publish(before, new=(1, 2, 3))]


def test_a_new_topic_without_a_live_replica_waits_for_one() -> None:
    controller = InMemoryController(live=[2])
    assert do(controller, TopicStored("foo", NO_ID, [bare("foo", 0, 1)])).changes == []
    assert controller.state.cluster.offline == {FOO}


def test_more_partitions_of_a_topic_are_led_too() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    do(controller, TopicStored("foo", NO_ID, [bare("foo", 0, 1, 2), bare("foo", 1, 2, 1)]))
    assert [each.leader for each in controller.state.cluster.partitions["foo"]] == [1, 2]


def test_invalid_values_count_as_not_set() -> None:
    controller = InMemoryController()
    limit = "reassignment.max.concurrent.partition.movements"
    values = {limit: "many", "log.cleaner.threads": "2", "reassignment.parallel.replica.count": "1"}
    d = do(controller, ConfigsStored(ResourceType.BROKER, "", values))
    assert d.effects == [ConfigsChanged(ResourceType.BROKER, "")]
    assert controller.state.backlog.usage.limits.per_partition == 1
    assert set(controller.state.settings.configs[ResourceType.BROKER, ""]) == {
        "log.cleaner.threads",
        "reassignment.max.concurrent.replica.movements.per.partition",
    }


@pytest.mark.parametrize(
    ("text", "problem"), [("00:00-24:00; tz=Mars", "'tz=Mars'"), ("at night", "'at night'")]
)
def test_a_schedule_that_is_not_valid_stays_and_is_closed(text: str, problem: str) -> None:
    controller = InMemoryController()
    do(controller, ConfigsStored(ResourceType.BROKER, "", {SCHEDULE: text}))
    schedule = controller.state.settings.schedule
    assert schedule is not None
    assert not schedule.periods
    assert schedule.problem.startswith(problem)


def test_deleted_values_are_removed() -> None:
    controller = InMemoryController()
    controller.put(Config(ResourceType.TOPIC, "foo", "retention.ms", "5"))
    do(controller, ConfigsStored(ResourceType.TOPIC, "foo", {}))
    assert controller.state.settings.configs == {}


def test_a_broker_with_a_new_address_gets_the_full_state_again() -> None:
    controller = InMemoryController()
    d = do(controller, BrokerChanged(registration(2)._replace(port=1)))
    assert controller.state.cluster.brokers[2].port == 1
    assert d.effects == [BrokerJoined(2)]


def test_a_change_of_an_unknown_broker_is_ignored() -> None:
    controller = InMemoryController(live=[1])
    outcome: Any = do(controller, BrokerChanged(registration(2)._replace(port=1)))
    assert outcome.effects == []


def adopting() -> InMemoryController:
    """Return a controller with a step that another controller began."""
    controller = InMemoryController().with_partitions(MOVING)
    controller.state.put(Reassignment("foo", 0, MOVING.current, MOVING.next))
    return controller


def order(number: int, *replicas: int) -> AlterReassignments:
    return AlterReassignments([AlterTopic("foo", [AlterRow(number, replicas)])])


def test_while_halted_nothing_starts() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    do(controller, Halt(True))
    do(controller, order(0, 3, 2))
    assert not controller.state.cluster.partitions["foo"][0].moving
    do(controller, Halt(False))
    assert controller.state.cluster.partitions["foo"][0].adding == (3,)


def test_while_halted_a_step_in_flight_is_finished() -> None:
    controller = adopting()
    do(controller, Halt(True))
    do(controller, PartitionsStored([MOVING._replace(isr=(1, 2, 3), partition_epoch=1)]))
    assert controller.state.cluster.partitions["foo"][0].replicas == (3, 2)


def test_lists_of_throttled_replicas_that_someone_removes_are_set_again() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.default(THROTTLE, "1000")
    controller.alter({"foo-0": (1, 3)})
    d = do(controller, ConfigsStored(ResourceType.TOPIC, "foo", {}))
    written = {each.config: each.value for each in d.changes if isinstance(each, Config)}
    assert written == {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3"}
