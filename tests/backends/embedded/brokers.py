"""A broker without a cluster, and requests of a controller to it."""

from typing import Any

from backends.broker_commands.requests import (
    Header,
    LeaderAndIsrRow,
    leader_and_isr,
    metadata_row,
    metadata_topics,
    stop_replica,
)
from backends.broker_commands.requests import update_metadata as metadata_request
from backends.client.channel import Channel
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.controller_requests import IsrReporter
from backends.embedded.log_dirs import LogDirs
from backends.embedded.replication import Replication, Throttles, Volume
from common.clock import ManualClock
from controller.messages.effects import DropReplica
from controller.model.cluster import Partition, Topic, TopicPartition
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from tests.builders import InMemoryController, key

SIZE = 10_240.0
FAILED, STALE, UNKNOWN, FENCED, NOT_LEADER = 56, 11, 3, 74, 6


async def no_connection(_host: str, _port: int) -> Channel:
    raise ConnectionRefusedError


class BrokerRig:
    """Broker 1 of six; the others do not exist. It starts with broker epoch 7 and controller epoch 5."""

    def __init__(self) -> None:
        self.now = 0.0
        self.volume = Volume(SIZE, 0.0, 0.0)
        self.caught_up_again: list[tuple[TopicPartition, int]] = []
        self.replication = Replication(
            1_000.0, Throttles(State(mode=EMBEDDED)), lambda _: self.volume, lambda _: True
        )
        for broker in range(1, 7):
            self.replication.add_broker(broker)
        self.broker = EmbeddedBroker(
            1, LogDirs(["a", "b"]), self.replication, lambda _: self.volume, lambda: self.now
        )
        self.reporter = IsrReporter(
            self.broker, lambda k, f: self.caught_up_again.append((k, f)), no_connection, ManualClock()
        )
        self.state = InMemoryController().state
        self.state.cluster.controller_epoch = 5
        self.start_session(epoch=7)

    def start_session(self, epoch: int) -> None:
        """Start the broker with this broker epoch."""
        self.broker.start(self.reporter)
        self.broker.epoch = epoch

    def header(self, epoch: int = 7) -> Header:
        return Header(1, epoch, 1)

    def add_topics(self, *partitions: Partition) -> None:
        for each in partitions:
            self.state.put(Topic(each.topic, bytes(16)))

    def leader_and_isr(
        self, *partitions: Partition, new: bool = False, epoch: int = 7
    ) -> LeaderAndIsrResponse:
        self.add_topics(*partitions)
        rows = [LeaderAndIsrRow(each, new) for each in partitions]
        return self.broker.leader_and_isr(leader_and_isr(self.header(epoch), self.state, rows))

    def errors(self, *partitions: Partition, new: bool = False) -> list[int]:
        return [row.error_code for row in self.leader_and_isr(*partitions, new=new).partition_errors]

    def update_metadata(self, *partitions: Partition, epoch: int = 7) -> int:
        self.add_topics(*partitions)
        topics = metadata_topics(self.state, [metadata_row(self.state, each, ()) for each in partitions])
        return self.broker.update_metadata(
            metadata_request(self.header(epoch), self.state, topics)
        ).error_code

    def stop_replica(self, name: str, leader_epoch: int, epoch: int = 7) -> Any:
        drop = DropReplica(*key(name), (1,), leader_epoch)
        return self.broker.stop_replica(stop_replica(self.header(epoch), self.state, [drop]))

    def hosts(self, name: str) -> bool:
        return self.broker.log_dirs.find(key(name)) is not None
