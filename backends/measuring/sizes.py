"""Sizes of partitions, progress of adding replicas, and usage of disks (DescribeLogDirs, KIP-113, KIP-827).

`StallWatch` detects steps in flight that make no progress, so that they do not use up the limits (KIP-435)
forever. Each of its checks visits a bounded number of steps; all steps take turns.
"""

import asyncio
import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from common.clock import Clock
from common.error_codes import ErrorCode, error_name
from common.lists import grouped
from controller.cluster.cluster_values import cluster_value
from controller.gateway.events import Measured
from controller.messages.events import Stalled
from controller.model.configs import STEP_TIMEOUT
from controller.model.replicas import StoredReplica, StoredReplicas, TopicPartition
from controller.ports import SubmitEvent
from controller.state.cluster import Disk
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse

CHECK_SECONDS = 1.0
"""Pause between two checks."""
STEPS_PER_CHECK = 1_000


class Received(NamedTuple):
    """The total bytes of a partition's adding replicas, and the time in seconds of the measurement."""

    size: float
    at: float


class StallWatch:
    """Remembers for each step in flight how many bytes its adding replicas had, and since when.

    `received` returns the last measurement, or None if there is none. Only the time between two measurements
    counts: a broker that does not report sizes does not make its steps stall.
    """

    def __init__(self, state: State, received: Callable[[TopicPartition], Received | None]) -> None:
        self._state = state
        self._received = received
        self._unchecked: deque[TopicPartition] = deque()
        self._last_progress: dict[TopicPartition, Received] = {}

    async def run(self, clock: Clock, submit: SubmitEvent) -> None:
        """Check every CHECK_SECONDS and submit the stalled steps. Runs until it is cancelled."""
        while True:
            await clock.sleep(CHECK_SECONDS)
            if keys := self.check():
                await submit(Stalled(keys))

    def check(self) -> list[TopicPartition]:
        """Check the next steps; return those without progress for `reassignment.step.timeout.ms`."""
        if not self._unchecked:
            self._unchecked.extend(self._state.in_flight)
            self._last_progress = {
                key: self._last_progress[key] for key in self._unchecked if key in self._last_progress
            }
        checked = [self._unchecked.popleft() for _ in range(min(STEPS_PER_CHECK, len(self._unchecked)))]
        return [key for key in checked if self._stalled(key)]

    def _stalled(self, key: TopicPartition) -> bool:
        partition = self._state.cluster.partition(*key)
        if partition is None or not partition.moving:
            return False
        received, progress = self._received(key), self._last_progress.get(key)
        if received is None:
            self._last_progress.pop(key, None)
            return False
        if progress is None or received.size != progress.size:
            self._last_progress[key] = received
            return False
        if received.at - progress.at < self._timeout():
            return False
        del self._last_progress[key]
        return True

    def _timeout(self) -> float:
        return int(cluster_value(self._state, STEP_TIMEOUT)) / 1000


log = logging.getLogger(__name__)

OFTEN_SECONDS = 3.0
"""Pause between two measurements of partitions in flight."""
SELDOM_SECONDS = 60.0
"""Pause between two measurements of waiting partitions and of all disks."""
SHARE = 10.0
"""Pause after a measurement, as a multiple of its slowest answer; at most SELDOM_SECONDS."""
LEARN_SECONDS = 2.0
"""How long a request waits at most for the sizes of its partitions."""
MOST = 20_000
"""Partitions per measurement. In a larger cluster, the topics with reassignments take turns."""


class ReplicaSizes:
    """Implements `server.progress.rates.Sizes`. `submit` gives events to the controller."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._arrived: dict[tuple[TopicPartition, int], Received] = {}
        self._silent: set[int] = set()
        """Brokers whose answers contain no sizes; each was logged once."""
        self._unanswered: set[int] = set()
        """Brokers that did not answer the last time; each was logged once."""
        self._longest = 0.0
        self._pause = OFTEN_SECONDS
        """Between the last two measurements."""
        self._all_at = float("-inf")
        self._measured_at: float | None = None
        self._known_jobs = 0
        self._last_topic = ""

    def size(self, key: TopicPartition) -> int | None:
        """Return the bytes of a complete copy, or None if unknown."""
        return self._state.cluster.copied_size(key)

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        """Return the bytes that an adding replica on the broker has, or None if unknown."""
        known = self._arrived.get((key, broker))
        return None if known is None else int(known.size)

    def stored(self, key: TopicPartition) -> StoredReplicas | None:
        """Return what the brokers report of their own replicas, or None if nothing is known."""
        return self._state.cluster.stored.get(key)

    def measured(self) -> float | None:
        """Return when the last measurement was complete; None before the first one."""
        return self._measured_at

    def received(self, key: TopicPartition) -> Received | None:
        """Return the total bytes of the partition's adding replicas, and the time of the oldest measurement.

        The result is None if a live broker has not been measured. For a dead broker, its last measurement
        counts.
        """
        partition = self._state.cluster.partition(*key)
        size, at = 0.0, self._clock.now()
        for broker in partition.adding if partition else ():
            known = self._arrived.get((key, broker))
            if known is not None:
                size += known.size
            if broker in self._state.cluster.live:
                if known is None:
                    return None
                at = min(at, known.at)
        return Received(size, at)

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
        """Ask the broker for its directories now; None if it does not answer."""
        try:
            return await self._client.ask(request, broker)
        except BrokerError:
            return None

    async def run(self) -> None:
        """Measure again and again until cancelled."""
        while True:
            self._longest = 0.0
            await self.measure()
            self._pause = max(OFTEN_SECONDS, min(SHARE * self._longest, SELDOM_SECONDS))
            await self._clock.sleep(self._pause)

    async def measure(self) -> None:
        """Measure once what is due, and submit it. Brokers that do not answer are left out."""
        state, now = self._state, self._clock.now()
        # Not later than SELDOM_SECONDS, also where the next measurement is far away.
        due = self._all_at + SELDOM_SECONDS - self._pause
        everything = state.orders.last_job != self._known_jobs or now > due
        if everything:
            self._known_jobs, self._all_at = state.orders.last_job, now
        elif not state.in_flight:
            self._measured_at = now
            return
        self._prune_arrived()
        requests, found = self._requests(everything), _Found()
        moving = self._moving_to()
        await asyncio.gather(
            *(
                self._ask(each, request, moving.get(each, ()), found)
                for each, request in sorted(requests.items())
            )
        )
        # Directories are only complete, with their number of replicas, if all partitions are asked for.
        await self._submit(Measured(found.sizes, found.disks if everything else {}, found.stored))
        self._measured_at = self._clock.now()

    async def _ask(
        self,
        broker: int,
        request: DescribeLogDirsRequest,
        moving: Iterable[TopicPartition],
        found: "_Found",
    ) -> None:
        """Measure one broker.

        An adding replica that is in none of its directories has received nothing yet.
        """
        began = self._clock.now()
        try:
            response = await self._client.ask(request, broker)
        except BrokerError as error:
            if broker not in self._unanswered:
                self._unanswered.add(broker)
                log.info("broker %d does not report its sizes: %s", broker, error)
            return
        if broker in self._unanswered:
            self._unanswered.discard(broker)
            log.info("broker %d answers again when asked for its sizes", broker)
        now = self._clock.now()
        self._longest = max(self._longest, now - began)
        if self._has_sizes(broker, response):
            self._arrived.update({(key, broker): Received(0, now) for key in moving})
            self._record_answer(broker, request, response, found)
        else:
            found.disks[broker] = []

    def _has_sizes(self, broker: int, response: DescribeLogDirsResponse) -> bool:
        """Whether the answer contains sizes.

        Before version 3 an unauthorized principal gets an empty answer (KIP-784).
        """
        if response.error_code == ErrorCode.NONE and any(
            row.error_code == ErrorCode.NONE for row in response.results
        ):
            self._silent.discard(broker)
            return True
        if broker not in self._silent:
            self._silent.add(broker)
            why = error_name(response.error_code) if response.error_code else "it names no usable directory"
            log.warning(
                "broker %d does not report its sizes: %s. Stalled steps to it are not detected. "
                "Allow DescribeLogDirs (Describe on the cluster)", broker, why,
            )  # fmt: skip
        return False

    def _moving_to(self) -> dict[int, list[TopicPartition]]:
        """Return the partitions with adding replicas, by broker of the replica."""
        partitions = (self._state.cluster.partition(*key) for key in self._state.in_flight)
        return grouped(
            (broker, each.key) for each in partitions if each is not None for broker in each.adding
        )

    async def learn(self, topics: Iterable[str]) -> None:
        """Measure partitions of unknown size in the topics, at their leaders, for LEARN_SECONDS at most."""
        asked, found = self._unknown(topics), _Found()
        answers = (self._learn(broker, named, found) for broker, named in asked.items())
        try:
            async with asyncio.timeout(LEARN_SECONDS):
                await asyncio.gather(*answers)
        except TimeoutError:
            log.info("a request is decided without some sizes: brokers take longer than %g s", LEARN_SECONDS)
        if found.sizes:
            await self._submit(Measured(found.sizes, {}, found.stored))

    def _unknown(self, topics: Iterable[str]) -> dict[int, dict[str, list[int]]]:
        """Return the numbers of the partitions of unknown size, by leader and topic."""
        state = self._state
        found: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            for partition in state.cluster.partitions.get(topic, ()):
                unknown = state.cluster.leader_size(partition.key) is None
                if unknown and partition.leader in state.cluster.live:
                    found.setdefault(partition.leader, {}).setdefault(topic, []).append(partition.partition)
        return found

    async def _learn(self, broker: int, named: Mapping[str, Sequence[int]], found: "_Found") -> None:
        request = DescribeLogDirsRequest([DescribableLogDirTopic(t, tuple(p)) for t, p in named.items()])
        await self._ask(broker, request, (), found)

    def _requests(self, everything: bool) -> dict[int, DescribeLogDirsRequest]:
        """Return the requests by live broker: for its replicas of the partitions in flight.

        With `everything`, all brokers are asked for all partitions, or the next MOST of them in a large
        cluster.
        """
        state = self._state
        if everything and sum(map(len, state.cluster.partitions.values())) <= MOST:
            return dict.fromkeys(state.cluster.live, DescribeLogDirsRequest(None))
        asked = {topic: set(numbers) for topic, numbers in state.in_flight.by_topic.items()}
        if everything:
            for topic, numbers in self._next_slice():
                asked.setdefault(topic, set()).update(numbers)
        held: dict[int, dict[str, list[int]]] = (
            {broker: {} for broker in state.cluster.live} if everything else {}
        )
        for topic, chosen in asked.items():
            partitions = state.cluster.partitions.get(topic, ())
            for number in sorted(chosen):
                for broker in partitions[number].replicas if number < len(partitions) else ():
                    held.setdefault(broker, {}).setdefault(topic, []).append(number)
        return {
            broker: DescribeLogDirsRequest([DescribableLogDirTopic(t, tuple(n)) for t, n in named.items()])
            for broker, named in held.items()
            if broker in state.cluster.live
        }

    def _next_slice(self) -> Iterator[tuple[str, range]]:
        """Yield topics with reassignments and their partitions, beginning after the last slice."""
        left = MOST
        topics = sorted(self._state.orders.reassigning)
        at = bisect_right(topics, self._last_topic)
        for topic in topics[at:] + topics[:at]:
            size = len(self._state.cluster.partitions.get(topic, ()))
            if left < MOST and size > left:
                break
            left -= size
            self._last_topic = topic
            yield topic, range(size)

    def _prune_arrived(self) -> None:
        """Remove the measurements of replicas that are no longer being added."""
        partition = self._state.cluster.partition
        self._arrived = {
            (key, broker): size
            for (key, broker), size in self._arrived.items()
            if (known := partition(*key)) is not None and broker in known.adding
        }

    def _record_answer(
        self,
        broker: int,
        request: DescribeLogDirsRequest,
        response: DescribeLogDirsResponse,
        found: "_Found",
    ) -> None:
        dirs = []
        for row in response.results:
            if row.error_code != ErrorCode.NONE:
                continue
            replicas = 0
            for topic in row.topics:
                replicas += len(topic.partitions)
                for part in topic.partitions:
                    if not part.is_future_key:
                        key = TopicPartition(topic.name, part.partition_index)
                        self._record_size(key, StoredReplica(broker, part.partition_size, row.log_dir), found)
            number = replicas if request.topics is None else 0
            dirs.append(Disk(row.log_dir, row.total_bytes, row.usable_bytes, number, row.is_cordoned))
        found.disks[broker] = dirs

    def _record_size(self, key: TopicPartition, replica: StoredReplica, found: "_Found") -> None:
        partition = self._state.cluster.partition(*key)
        if partition is None:
            return
        found.stored.setdefault(key, []).append(replica)
        if replica.broker == partition.leader:
            found.sizes[key] = replica.bytes
        if replica.broker in partition.adding:
            self._arrived[key, replica.broker] = Received(replica.bytes, self._clock.now())


class _Found:
    """What one measurement has found, for `Measured`. All brokers add to it."""

    def __init__(self) -> None:
        self.sizes: dict[TopicPartition, int] = {}
        self.disks: dict[int, list[Disk]] = {}
        self.stored: dict[TopicPartition, list[StoredReplica]] = {}
