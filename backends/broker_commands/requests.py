"""LeaderAndIsr (4), UpdateMetadata (6) and StopReplica (5) built from the controller's records.

KIP-455: adding and removing replicas in LeaderAndIsr v3. KIP-352: target replicas in UpdateMetadata v6
(tagged). The messages fit LeaderAndIsr v2-4, UpdateMetadata v5-7 and StopReplica v1-3.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from common.lists import grouped
from controller.messages.effects import TOPIC_DELETED, DropReplica
from controller.model.cluster import Partition, Replicas
from controller.state.state import State
from protocol.codec.schema import Request
from protocol.messages.leader_and_isr_request import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.messages.update_metadata_response import UpdateMetadataResponse

LISTENER = "PLAINTEXT"
"""Listener name of the embedded brokers. Their security protocol is PLAINTEXT, too, which is number 0."""

UNFENCED = -1
"""Leader epoch of a StopReplica that brokers accept at any leader epoch of theirs."""


MetadataRow = tuple[str, UpdateMetadataPartitionState]
"""A topic and the row of one of its partitions."""


BrokerResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse
BrokerRequest = Request[BrokerResponse]
"""A request of a controller to a broker."""


class Versions(NamedTuple):
    """Versions of the requests."""

    leader_and_isr: int = 3
    update_metadata: int = 6
    stop_replica: int = 3
    fenced_stops: bool = True
    """StopReplica has the leader epoch. Brokers 2.6 to 3.1 refuse one that equals their own (KAFKA-13972)."""


class Header(NamedTuple):
    """The fields common to all requests to one broker."""

    broker: int
    broker_epoch: int
    controller: int
    versions: Versions = Versions()
    brokers: Sequence[UpdateMetadataBroker] | None = None
    """The brokers that clients get to know; None for the live ones."""


class LeaderAndIsrRow(NamedTuple):
    """A partition, and whether the receiving broker's replica is new (isNew): it may have no log yet."""

    partition: Partition
    new: bool


def leader_and_isr(header: Header, state: State, rows: Sequence[LeaderAndIsrRow]) -> LeaderAndIsrRequest:
    """Return the request for these partitions."""
    epoch = state.cluster.controller_epoch
    by_topic = grouped((row.partition.topic, _lead_state(row, epoch)) for row in rows)
    leaders = dict.fromkeys(row.partition.leader for row in rows)
    return LeaderAndIsrRequest(
        controller_id=header.controller,
        controller_epoch=epoch,
        broker_epoch=header.broker_epoch,
        topic_states=[
            LeaderAndIsrTopicState(name, state.cluster.topics[name].id, states)
            for name, states in by_topic.items()
            if name in state.cluster.topics
        ],
        live_leaders=[
            LeaderAndIsrLiveLeader(broker.id, broker.host, broker.port)
            for broker in map(state.cluster.brokers.get, leaders)
            if broker is not None and broker.id in state.cluster.live
        ],
    )


def _lead_state(row: LeaderAndIsrRow, controller_epoch: int) -> LeaderAndIsrPartitionState:
    p = row.partition
    return LeaderAndIsrPartitionState(
        partition_index=p.partition,
        controller_epoch=controller_epoch,
        leader=p.leader,
        leader_epoch=p.leader_epoch,
        isr=p.isr,
        partition_epoch=p.partition_epoch,
        replicas=p.replicas,
        adding_replicas=p.adding,
        removing_replicas=p.removing,
        is_new=row.new,
    )


def metadata_row(state: State, partition: Partition, target: Replicas) -> MetadataRow:
    """Return topic and row of one partition; `target` is empty unless it is being reassigned."""
    live = state.cluster.live
    offline = (
        () if live.issuperset(partition.replicas) else tuple(r for r in partition.replicas if r not in live)
    )
    return partition.topic, UpdateMetadataPartitionState(
        "",
        partition.partition,
        state.cluster.controller_epoch,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.partition_epoch,
        partition.replicas,
        offline,
        target,
    )


def metadata_topics(state: State, rows: Iterable[MetadataRow]) -> list[UpdateMetadataTopicState]:
    """Return the rows grouped by topic. A deleted topic has no id."""
    return [
        UpdateMetadataTopicState(name, state.cluster.topics[name].id, states)
        if name in state.cluster.topics
        else UpdateMetadataTopicState(name, partition_states=states)
        for name, states in grouped(rows).items()
    ]


def update_metadata(
    header: Header, state: State, topics: Sequence[UpdateMetadataTopicState]
) -> UpdateMetadataRequest:
    """Return the request for these topics, with the list of brokers."""
    return UpdateMetadataRequest(
        controller_id=header.controller,
        controller_epoch=state.cluster.controller_epoch,
        broker_epoch=header.broker_epoch,
        topic_states=topics,
        live_brokers=live_brokers(state) if header.brokers is None else header.brokers,
    )


def live_brokers(state: State) -> list[UpdateMetadataBroker]:
    """Return the live brokers, each with the listener of its record."""
    return [
        UpdateMetadataBroker(
            id=broker.id,
            endpoints=[UpdateMetadataEndpoint(broker.port, broker.host, LISTENER)],
            rack=broker.rack,
        )
        for broker in state.cluster.brokers.values()
        if broker.id in state.cluster.live
    ]


def stop_replica(header: Header, state: State, drops: Sequence[DropReplica]) -> StopReplicaRequest:
    """Return the request that deletes these replicas; before v3 it has no leader epochs."""
    with_epochs = header.versions.stop_replica >= 3
    by_topic = grouped((drop.topic, drop) for drop in drops)
    return StopReplicaRequest(
        controller_id=header.controller,
        controller_epoch=state.cluster.controller_epoch,
        broker_epoch=header.broker_epoch,
        delete_partitions=not with_epochs,
        topics=()
        if with_epochs
        else [StopReplicaTopicV1(name, tuple(d.partition for d in rows)) for name, rows in by_topic.items()],
        topic_states=[
            StopReplicaTopicState(name, [_stop_state(d, header.versions) for d in rows])
            for name, rows in by_topic.items()
            if with_epochs
        ],
    )


def _stop_state(drop: DropReplica, versions: Versions) -> StopReplicaPartitionState:
    epoch = drop.leader_epoch if versions.fenced_stops or drop.leader_epoch == TOPIC_DELETED else UNFENCED
    return StopReplicaPartitionState(drop.partition, epoch, delete_partition=True)
