from typing import Any

import pytest

from backends.broker_commands.requests import (
    Header,
    LeaderAndIsrRow,
    Versions,
    leader_and_isr,
    metadata_row,
    metadata_topics,
    stop_replica,
    update_metadata,
)
from controller.messages.effects import DropReplica
from controller.model.cluster import NO_LEADER
from protocol.codec.wire import codec
from tests.builders import InMemoryController, partition

HEADER = Header(broker=2, broker_epoch=7, controller=1)
FOO = partition("foo-0", [4, 1, 2], isr=(1, 2), leader=1, adding=(4,), removing=(2,), leader_epoch=5)


@pytest.fixture
def controller() -> InMemoryController:
    controller = InMemoryController(live=[1, 2, 3]).with_partitions(FOO)
    controller.state.cluster.controller_epoch = 9
    return controller


def read(message: Any, version: int) -> Any:
    """What a broker reads of the message."""
    wire = codec(type(message), version)
    return wire.decode(wire.encode(message))


@pytest.mark.parametrize("version", [3, 4])
def test_leader_and_isr_has_adding_and_removing_replicas(
    controller: InMemoryController, version: int
) -> None:
    request = read(leader_and_isr(HEADER, controller.state, [LeaderAndIsrRow(FOO, new=True)]), version)
    [[row]] = [topic.partition_states for topic in request.topic_states]
    assert (row.replicas, row.adding_replicas, row.removing_replicas) == ((4, 1, 2), (4,), (2,))
    assert (row.leader, row.leader_epoch, row.isr, row.is_new) == (1, 5, (1, 2), True)
    assert (request.controller_id, request.controller_epoch, request.broker_epoch) == (1, 9, 7)


def test_leaders_that_live_are_named_with_their_addresses(controller: InMemoryController) -> None:
    states = [FOO, FOO._replace(partition=1), FOO._replace(leader=NO_LEADER), FOO._replace(leader=6)]
    request = leader_and_isr(
        HEADER, controller.state, [LeaderAndIsrRow(state, new=False) for state in states]
    )
    assert [(leader.broker_id, leader.port) for leader in request.live_leaders] == [
        (1, controller.state.cluster.brokers[1].port)
    ]


def test_leader_and_isr_has_no_rows_of_deleted_topics(controller: InMemoryController) -> None:
    request = leader_and_isr(HEADER, controller.state, [LeaderAndIsrRow(partition("bar-0", [1]), new=False)])
    assert request.topic_states == []


@pytest.mark.parametrize(("version", "target"), [(5, ()), (6, (7, 8)), (7, (7, 8))])
def test_update_metadata_has_the_target_from_version_six_on(
    controller: InMemoryController, version: int, target: tuple[int, ...]
) -> None:
    topics = metadata_topics(controller.state, [metadata_row(controller.state, FOO, (7, 8))])
    request = read(update_metadata(HEADER, controller.state, topics), version)
    [[row]] = [topic.partition_states for topic in request.topic_states]
    assert (row.offline_replicas, row.target_replicas) == ((4,), target)
    assert [(broker.id, broker.rack) for broker in request.live_brokers] == [
        (1, "rack-1"),
        (2, "rack-2"),
        (3, "rack-0"),
    ]


def test_replicas_are_stopped_with_their_leader_epoch(controller: InMemoryController) -> None:
    request = read(stop_replica(HEADER, controller.state, [DropReplica("foo", 0, (2,), 6)]), 3)
    [[row]] = [topic.partition_states for topic in request.topic_states]
    assert (row.partition_index, row.leader_epoch, row.delete_partition) == (0, 6, True)
    assert request.controller_epoch == 9


@pytest.mark.parametrize("version", [1, 2])
def test_old_brokers_are_asked_to_stop_replicas_by_name(controller: InMemoryController, version: int) -> None:
    header = HEADER._replace(versions=Versions(stop_replica=version))
    drops = [DropReplica("foo", 0, (2,), 6), DropReplica("foo", 3, (2,), 6)]
    request = read(stop_replica(header, controller.state, drops), version)
    assert request.delete_partitions
    assert [(topic.name, topic.partition_indexes) for topic in request.topics] == [("foo", (0, 3))]
