"""Brokers without a cluster, and the requests that a controller would send them."""

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
from backends.embedded.isr_reporter import IsrReporter
from backends.embedded.log_dirs import LogDirs
from backends.embedded.replication import Replication, Volume
from backends.embedded.throttles import Throttles
from common.clock import ManualClock
from controller.messages.effects import DropReplica
from controller.model.cluster import Partition, Topic, TopicPartition
from controller.state.state import State
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from tests.builders import World, key

SIZE = 10_240.0
FAILED, STALE, UNKNOWN, FENCED, NOT_LEADER = 56, 11, 3, 74, 6


async def no_connection(_host: str, _port: int) -> Channel:
    raise ConnectionRefusedError


class One:
    """Broker 1 of six, of which only it is there; `epoch` is the controller's."""

    def __init__(self) -> None:
        self.now = 0.0
        self.volume = Volume(SIZE, 0.0, 0.0)
        self.looked_at: list[tuple[TopicPartition, int]] = []
        self.replication = Replication(1_000.0, Throttles(State()), lambda _: self.volume, lambda _: True)
        for broker in range(1, 7):
            self.replication.add_broker(broker)
        self.broker = EmbeddedBroker(
            1, LogDirs(["a", "b"]), self.replication, lambda _: self.volume, lambda: self.now
        )
        self.reporter = IsrReporter(
            self.broker, lambda k, f: self.looked_at.append((k, f)), no_connection, ManualClock()
        )
        self.state = World().state
        self.state.controller_epoch = 5
        self.begin(epoch=7)

    def begin(self, epoch: int) -> None:
        """Start a session with this broker epoch."""
        self.broker.start(self.reporter)
        self.broker.epoch = epoch

    def header(self, epoch: int = 7) -> Header:
        return Header(1, epoch, 1)

    def know(self, *partitions: Partition) -> None:
        for made in partitions:
            self.state.put(Topic(made.topic, bytes(16)))

    def lead(self, *partitions: Partition, new: bool = False, epoch: int = 7) -> LeaderAndIsrResponse:
        self.know(*partitions)
        rows = [LeaderAndIsrRow(made, new) for made in partitions]
        return self.broker.leader_and_isr(leader_and_isr(self.header(epoch), self.state, rows))

    def errors(self, *partitions: Partition, new: bool = False) -> list[int]:
        return [row.error_code for row in self.lead(*partitions, new=new).partition_errors]

    def tell(self, *partitions: Partition, epoch: int = 7) -> int:
        self.know(*partitions)
        topics = metadata_topics(self.state, [metadata_row(self.state, made, ()) for made in partitions])
        return self.broker.update_metadata(
            metadata_request(self.header(epoch), self.state, topics)
        ).error_code

    def stop(self, name: str, leader_epoch: int, epoch: int = 7) -> Any:
        drop = DropReplica(*key(name), (1,), leader_epoch)
        return self.broker.stop_replica(stop_replica(self.header(epoch), self.state, [drop]))

    def hosts(self, name: str) -> bool:
        return self.broker.log_dirs.find(key(name)) is not None
