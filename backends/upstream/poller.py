"""Polls the upstream: reassignments often, affected topics when needed, everything rarely.

A poll requests the list of reassignments from the controller first, then Metadata from one broker. So a
reassignment that has left the list is looked up in newer Metadata, never in older.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from backends.client.errors import BrokerError
from backends.upstream.client import UpstreamPort
from backends.upstream.outcomes import UpstreamCounters
from backends.upstream.submitter import RowSubmitter
from backends.upstream.topic_metadata import ask_every_broker, ongoing_moves, polled_topics
from common.clock import Clock, wall_clock, within
from common.error_codes import ErrorCode, error_name
from controller.gateway.events import Unreachable, UpstreamBroker, UpstreamMove, UpstreamPolled, UpstreamTopic
from controller.gateway.polled import active_topics
from controller.model.replicas import TopicPartition
from controller.model.upstream_step import Stage
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponse

log = logging.getLogger(__name__)

SETTLING = {Stage.SUBMITTING, Stage.UNDOING, Stage.ENDED}

NOT_KNOWN_YET = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE}
"""Errors of a topic that was just created. The second one is of old brokers, which create internal topics
when Metadata names them."""
UNKNOWN_TOPIC_RETRIES = 10
"""Retries for a topic that a broker does not know yet; KRaft controllers, which know it, do not answer
Metadata."""
UNKNOWN_TOPIC_PAUSE_SECONDS = 0.1


class PollIntervals(NamedTuple):
    """Seconds between two polls: with steps in flight, without, and between two polls of everything."""

    busy: float = 0.05
    """Short, to start the next step soon after one ends; with 50 reassignments, a poll takes some
    milliseconds."""
    idle: float = 1.0
    whole: float = 10.0
    each_move: float = 0.0005
    """Seconds per reassignment, to limit the controller's load: 1,000 are polled twice a second, 12,000 every
    six seconds."""
    whole_share: float = 50.0
    """Idle time after a poll of everything, as a multiple of its duration; 100,000 partitions take about half
    a second."""
    whole_longest: float = 60.0
    """Longest idle time after a poll of everything: one late answer must not hide for minutes that a
    partition has a leader again."""


class UpstreamPoller:
    """Polls the upstream. `submit` submits events; `on_brokers` gets the addresses of brokers before that."""

    def __init__(
        self,
        client: UpstreamPort,
        state: State,
        submitter: RowSubmitter,
        submit: SubmitEvent,
        on_brokers: Callable[[Mapping[int, tuple[str, int]]], Awaitable[None]],
        clock: Clock,
        intervals: PollIntervals | None = None,
        counters: UpstreamCounters | None = None,
    ) -> None:
        self._counters = counters or UpstreamCounters()
        self._client, self._state, self._submitter, self._submit = client, state, submitter, submit
        self._on_brokers, self._clock, self._intervals = on_brokers, clock, intervals or PollIntervals()
        self._whole_every = self._intervals.whole
        self._moves: dict[TopicPartition, UpstreamMove] = {}
        self._followed: dict[TopicPartition, UpstreamMove] | None = None
        """The moves of a poll that the controller has followed conclusively, if it has decided nothing
        since."""
        self._brokers_at = self._whole_at = float("-inf")
        self._looks = self._looked = 0
        """The number of the last `look` that has begun, and of the last one that has succeeded."""
        self._polling = asyncio.Lock()
        """One poll at a time, so that events are in the order of the polls."""
        self._wake = asyncio.Event()

    def poll_soon(self) -> None:
        """End the pause before the next poll, because the controller has decided something."""
        self._followed = None
        self._wake.set()

    async def poll(self) -> None:
        """Poll once and submit the result. Raises BrokerError when the upstream does not answer."""
        async with self._polling:
            await self._poll_counted()

    async def look(self) -> None:
        """Poll everything now, and from all brokers that answer. Raises BrokerError.

        When this returns, the state has every replica that existed at the call. Calls share a poll that began
        after them.
        """
        before = self._looks
        async with self._polling:
            if self._looked > before:
                return
            self._looks += 1
            await self._poll_counted(every_broker=True)
            self._looked = self._looks

    async def poll_topics(self, topics: Sequence[str]) -> None:
        """Poll all partitions of these topics; of new ones when the broker knows them. Raises BrokerError."""
        unknown = await self._poll_named(topics) if topics else []
        known = await self._await_known(unknown) if unknown else []
        if known:
            await self._poll_named(known)

    async def _poll_named(self, names: Sequence[str]) -> list[str]:
        """Poll these topics, and return those that the broker does not know."""
        async with self._polling:
            with self._submitter.watch() as outstanding:
                moves = await self._ask_moves()
                response = await self._ask_named(names)
                polled = polled_topics(response, None)
                await self._submit(
                    UpstreamPolled(None, polled, moves, False, frozenset(outstanding), conclusive=False)
                )
        return _not_known_yet(response)

    async def _await_known(self, names: Sequence[str]) -> list[str]:
        """Wait until the broker knows these topics, for a limited time; return those that it knows then.

        Other polls go on meanwhile, so nothing of these answers is submitted: it would be out of order.
        """
        unknown = list(names)
        for _ in range(UNKNOWN_TOPIC_RETRIES):
            await self._clock.sleep(UNKNOWN_TOPIC_PAUSE_SECONDS)
            unknown = _not_known_yet(await self._ask_named(unknown))
            if not unknown:
                break
        return sorted(set(names).difference(unknown))

    async def _poll_counted(self, *, every_broker: bool = False) -> None:
        began = self._clock.now()
        whole = await self._poll(every_broker=every_broker)
        self._counters.polled(self._clock.now() - began, wall_clock(), whole=whole)

    async def _poll(self, *, every_broker: bool) -> bool:
        """Poll, and return whether all topics were asked for."""
        now = self._clock.now()
        whole = every_broker or now - self._whole_at >= self._whole_every
        brokers = None
        if whole or now - self._brokers_at >= self._intervals.idle:
            await self._client.refresh()
            await self._on_brokers({b.id: (b.host, b.port) for b in self._client.brokers.values()})
            brokers = [
                UpstreamBroker(b.id, b.host, b.port, b.rack, not b.fenced)
                for b in self._client.brokers.values()
            ]
        with self._submitter.watch() as outstanding:
            moves = await self._ask_moves()
            unclear = set() if whole else self._unclear(moves)
            topics = await self._ask_all_topics(every_broker) if whole else await self._ask_topics(unclear)
            settling = self._settling()
            # Each move that is passed on takes a few microseconds: with 10,000 a large part of a poll.
            changed = whole or bool(unclear) or settling or moves != self._followed
            if changed or brokers is not None:
                self._followed = None if unclear or settling or outstanding else moves
                passed = moves if changed else {}
                await self._submit(UpstreamPolled(brokers, topics, passed, whole, frozenset(outstanding)))
        self._moves = moves
        self._brokers_at = now if brokers is not None else self._brokers_at
        if whole:
            self._whole_at = now
            duration = self._clock.now() - now
            rest = min(duration * self._intervals.whole_share, self._intervals.whole_longest)
            self._whole_every = max(self._intervals.whole, rest)
        return whole

    async def run(self) -> None:
        """Poll until cancelled. After a failure, submit `Unreachable` and poll everything next."""
        while True:
            began, longest_pause = self._clock.now(), self._intervals.whole
            try:
                await self.poll()
            except BrokerError as error:
                self._whole_at = float("-inf")
                longest_pause = self._intervals.idle
                self._counters.failed_polls += 1
                await self._submit(Unreachable(str(error)))
            await self._pause(self._clock.now() - began, longest_pause)

    async def _pause(self, duration: float, longest: float) -> None:
        """Pause as long as the last poll took, `longest` at most: polls take half of the time at most.

        After a failed poll `longest` is short: its duration is that of timeouts, and a recovery should be
        seen soon.
        """
        intervals = self._intervals
        pause = max(intervals.busy, min(max(duration, len(self._moves) * intervals.each_move), longest))
        self._wake.clear()
        await self._clock.sleep(pause)
        if not self._busy and not self._wake.is_set():
            await within(self._clock, max(0.0, intervals.idle - pause), self._wake)

    @property
    def _busy(self) -> bool:
        return bool(self._moves) or bool(self._state.in_flight) or self._settling()

    def _settling(self) -> bool:
        steps = self._state.gateway.steps
        return any(steps[key].stage in SETTLING for key in self._state.in_flight.at_upstream())

    def _unclear(self, moves: dict[TopicPartition, UpstreamMove]) -> set[TopicPartition]:
        """Return the partitions whose Metadata is needed in addition to the list of reassignments."""
        state = self._state
        in_flight = state.in_flight.at_upstream()
        steps = {
            key for key in in_flight if key not in moves or state.gateway.steps[key].stage is Stage.ENDED
        }
        # Only moves that the last poll did not have: otherwise a topic without DESCRIBE permission is
        # requested each time.
        new_moves = (moves.keys() - self._moves.keys()).difference(in_flight)
        ended_moves = state.gateway.external - moves.keys()
        return steps | new_moves | ended_moves | state.gateway.sighted_keys()

    async def _ask_moves(self) -> dict[TopicPartition, UpstreamMove]:
        return ongoing_moves(await self._client.ask(ListPartitionReassignmentsRequest(topics=None)))

    async def _ask_all_topics(self, every_broker: bool) -> list[UpstreamTopic]:
        """Return all topics. An active topic that is missing is requested by name, to get its error code."""
        topics = await (ask_every_broker(self._client) if every_broker else self._ask_topics(None))
        missing = sorted(active_topics(self._state) - {topic.name for topic in topics})
        if missing:
            response = await self._ask_named(missing)
            for topic in response.topics:
                if topic.error_code not in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
                    raise BrokerError(
                        f"the upstream refuses to describe topic {topic.name}: {error_name(topic.error_code)}"
                    )
            topics += polled_topics(response, None)
        return topics

    async def _ask_named(self, names: Iterable[str]) -> MetadataResponse:
        named = [MetadataRequestTopic(name=name) for name in names]
        response: MetadataResponse = await self._client.ask(
            MetadataRequest(named, allow_auto_topic_creation=False)
        )
        return response

    async def _ask_topics(self, keys: set[TopicPartition] | None) -> list[UpstreamTopic]:
        if keys is not None and not keys:
            return []
        if keys is None:
            response = await self._client.ask(MetadataRequest(None, allow_auto_topic_creation=False))
        else:
            response = await self._ask_named(sorted({key.topic for key in keys}))
        if any(topic.error_code for topic in response.topics):
            self._whole_at = float("-inf")
        if keys is None:
            return await self._client.off_loop.run(polled_topics, response, None)
        return polled_topics(response, keys)


def _not_known_yet(response: MetadataResponse) -> list[str]:
    return sorted(topic.name or "" for topic in response.topics if topic.error_code in NOT_KNOWN_YET)
