"""A poller of a scripted upstream, with a manual clock."""

from collections.abc import Mapping
from typing import Any

from backends.upstream.poller import PollIntervals, UpstreamPoller
from backends.upstream.submitter import RowSubmitter
from common.clock import ManualClock, settle
from controller.gateway.events import UpstreamMove
from controller.model.cluster import Partition, Replicas, Topic, UpstreamStep
from controller.model.upstream_step import Stage
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.backends.upstream.scripted import Events, Scripted
from tests.builders import key

MOVE = UpstreamMove((3, 1), (3,), (1,))


class Rig:
    """An upstream with two partitions per topic. A request for all topics leaves out those in `hidden`."""

    def __init__(self, intervals: PollIntervals | None = None) -> None:
        self.client, self.events, self.clock, self.state = (
            Scripted(),
            Events(),
            ManualClock(),
            State(mode=EMBEDDED),
        )
        self.topics: dict[str, list[Replicas]] = {"foo": [(1,), (1,)], "bar": [(1,), (1,)]}
        self.moves: dict[str, UpstreamMove] = {}
        self.errors: dict[str, int] = {}
        self.hidden: set[str] = set()
        self.client.answers[ListPartitionReassignmentsRequest] = self._list
        self.client.answers[MetadataRequest] = self._metadata
        self.submitter = RowSubmitter(self.client, self.events.submit, settle)
        self.poller = UpstreamPoller(
            self.client,
            self.state,
            self.submitter,
            self.events.submit,
            self.set_brokers,
            self.clock,
            intervals,
        )

    async def set_brokers(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        self.brokers = brokers

    def _list(self, *_: Any) -> ListPartitionReassignmentsResponse:
        return ListPartitionReassignmentsResponse(
            topics=[
                OngoingTopicReassignment(
                    key(name).topic, [OngoingPartitionReassignment(key(name).partition, *move)]
                )
                for name, move in self.moves.items()
            ]
        )

    def _metadata(self, request: MetadataRequest, _: Any) -> MetadataResponse:
        named = None if request.topics is None else [topic.name or "" for topic in request.topics]
        shown = self.topics.keys() - self.hidden if named is None else named
        return MetadataResponse(topics=[self._topic(name) for name in sorted(shown)])

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.topics:
            return MetadataResponseTopic(error_code=self.errors.get(name, 3), name=name)
        rows = [
            MetadataResponsePartition(0, n, 1, 0, replicas, replicas, ())
            for n, replicas in enumerate(self.topics[name])
        ]
        return MetadataResponseTopic(0, name, name.encode().ljust(16), False, rows)

    async def poll_all(self) -> None:
        """Poll completely once, and put the topics into the state."""
        await self.poller.poll()
        for name, lists in self.topics.items():
            self.state.put(Topic(name, name.encode().ljust(16)))
            for number, replicas in enumerate(lists):
                self.state.put(Partition(name, number, replicas, replicas, 1))
        self.events.clear()
        self.client.asked.clear()

    def step(self, name: str, stage: Stage = Stage.ACTIVE) -> None:
        """Put a step in flight into the state."""
        self.state.put(UpstreamStep(*key(name), (1,), (3,), stage))

    def asked_topics(self) -> list[list[str] | None]:
        requests = self.client.requests(MetadataRequest)
        return [None if r.topics is None else [t.name or "" for t in r.topics] for r in requests]
