"""How large partitions are, how much of a moving one has arrived, and how full disks are: DescribeLogDirs (KIP-113, KIP-827).

Sizes are asked for where something is to be done: of partitions in flight often, of others now and then.
`offset_lag` says nothing of a replica that is being added; its bytes do.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from backends.client.asker import BrokerClient
from backends.client.errors import BrokerError
from backends.measuring.stalls import Received
from common.clock import Clock
from common.error_codes import ErrorCode
from common.grouping import grouped
from controller.messages.upstream_events import Measured
from controller.model.names import TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State
from controller.state.upstream import Disk
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse

log = logging.getLogger(__name__)

OFTEN_SECONDS = 3.0
"""Between two looks at partitions in flight."""
SELDOM_SECONDS = 60.0
"""Between two looks at what waits, and at all disks."""
SHARE = 10.0
"""After a look, so many times as long as the slowest answer took none is taken, but for SELDOM_SECONDS at most."""
LEARN_SECONDS = 2.0
"""How long an order waits, at most, for the sizes of its partitions."""
MOST = 20_000
"""Partitions asked for in one look, of a cluster that has more: in turn those of topics with reassignments."""


class ReplicaSizes:
    """Implements `server.ports.ReplicaSizes`. `submit` gives events to the core."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._arrived: dict[tuple[TopicPartition, int], Received] = {}
        self._silent: set[int] = set()
        """Brokers that answer without telling."""
        self._longest = 0.0
        self._all_at = float("-inf")
        self._known_jobs = 0
        self._last_topic = ""

    def size(self, key: TopicPartition) -> int | None:
        """Bytes of a whole replica of the partition; None when not known."""
        return self._state.sizes.get(key)

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        """Bytes that the broker has of a replica on its way to it; None when not known."""
        known = self._arrived.get((key, broker))
        return None if known is None else int(known.size)

    def received(self, key: TopicPartition) -> Received | None:
        """What the adding replicas of the partition have together, as old as the oldest answer of their live brokers.

        None when a live one has not told. On a dead one is what was there.
        """
        partition = self._state.partition(*key)
        size, at = 0.0, self._clock.now()
        for broker in partition.adding if partition else ():
            known = self._arrived.get((key, broker))
            if known is not None:
                size += known.size
            if broker in self._state.live:
                if known is None:
                    return None
                at = min(at, known.at)
        return Received(size, at)

    async def run(self) -> None:
        """Measure for ever, where there is something to measure."""
        while True:
            self._longest = 0.0
            await self.measure()
            await self._clock.sleep(max(OFTEN_SECONDS, min(SHARE * self._longest, SELDOM_SECONDS)))

    async def measure(self) -> None:
        """One look at what is due. A broker that does not answer is left out."""
        state, now = self._state, self._clock.now()
        everything = state.last_job != self._known_jobs or now - self._all_at >= SELDOM_SECONDS
        if everything:
            self._known_jobs, self._all_at = state.last_job, now
        elif not state.in_flight:
            return
        self._forget()
        request = self._request(everything)
        sizes: dict[TopicPartition, int] = {}
        disks: dict[int, list[Disk]] = {}
        moving = self._moving_to(request)
        await asyncio.gather(
            *(self._ask(each, request, moving.get(each, ()), sizes, disks) for each in sorted(state.live))
        )
        # How many replicas a directory holds is told only when all are asked for; then directories compete by room.
        await self._submit(Measured(sizes, disks if everything else {}))

    async def _ask(
        self,
        broker: int,
        request: DescribeLogDirsRequest,
        moving: Iterable[TopicPartition],
        sizes: dict[TopicPartition, int],
        disks: dict[int, list[Disk]],
    ) -> None:
        """One broker; what is on its way to it, and is in none of its directories, has not begun to arrive."""
        began = self._clock.now()
        try:
            response = await self._client.ask(request, broker)
        except BrokerError as error:
            log.info("broker %d does not tell its sizes: %s", broker, error)
            return
        now = self._clock.now()
        self._longest = max(self._longest, now - began)
        if self._tells(broker, response):
            self._arrived.update({(key, broker): Received(0, now) for key in moving})
            self._take(broker, request, response, sizes, disks)
        else:
            disks[broker] = []

    def _tells(self, broker: int, response: DescribeLogDirsResponse) -> bool:
        """Before version 3 a principal that may not know gets an empty answer (KIP-784)."""
        if response.error_code == ErrorCode.NONE and any(
            row.error_code == ErrorCode.NONE for row in response.results
        ):
            self._silent.discard(broker)
            return True
        if broker not in self._silent:
            self._silent.add(broker)
            why = (
                ErrorCode(response.error_code).name if response.error_code else "it names no usable directory"
            )
            log.warning(
                "broker %d does not tell its sizes: %s; stalled steps to it are not noticed, "
                "allow DescribeLogDirs (Describe on the cluster)", broker, why,
            )  # fmt: skip
        return False

    def _moving_to(self, request: DescribeLogDirsRequest) -> dict[int, list[TopicPartition]]:
        """What is asked for and on its way, by broker."""
        state = self._state
        asked = (
            state.in_flight.by_topic
            if request.topics is None
            else {t.topic: t.partitions for t in request.topics}
        )
        partitions = (state.partition(topic, number) for topic in asked for number in asked[topic])
        return grouped(
            (broker, each.key) for each in partitions if each is not None for broker in each.adding
        )

    async def learn(self, topics: Iterable[str]) -> None:
        """Sizes that are not known of partitions about to be ordered, from their leaders; steps planned next go by them."""
        asked = self._unknown(topics)
        sizes: dict[TopicPartition, int] = {}
        answers = (self._learn(broker, named, sizes) for broker, named in asked.items())
        try:
            async with asyncio.timeout(LEARN_SECONDS):
                await asyncio.gather(*answers)
        except TimeoutError:
            log.info("an order goes without some sizes: brokers take longer than %g s", LEARN_SECONDS)
        if sizes:
            await self._submit(Measured(sizes, {}))

    def _unknown(self, topics: Iterable[str]) -> dict[int, dict[str, list[int]]]:
        """Numbers of partitions whose size is not known, by leader and topic."""
        state = self._state
        found: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            for partition in state.partitions.get(topic, ()):
                if partition.key not in state.sizes and partition.leader in state.live:
                    found.setdefault(partition.leader, {}).setdefault(topic, []).append(partition.partition)
        return found

    async def _learn(
        self, broker: int, named: Mapping[str, Sequence[int]], sizes: dict[TopicPartition, int]
    ) -> None:
        request = DescribeLogDirsRequest([DescribableLogDirTopic(t, tuple(p)) for t, p in named.items()])
        await self._ask(broker, request, (), sizes, {})

    def _request(self, everything: bool) -> DescribeLogDirsRequest:
        """Ask for what is in flight, or for all there is, or for all of a large cluster's that is in flight or next."""
        state = self._state
        if everything and sum(map(len, state.partitions.values())) <= MOST:
            return DescribeLogDirsRequest(None)
        asked = {topic: set(numbers) for topic, numbers in state.in_flight.by_topic.items()}
        if everything:
            for topic, numbers in self._next_slice():
                asked.setdefault(topic, set()).update(numbers)
        return DescribeLogDirsRequest(
            [DescribableLogDirTopic(topic, tuple(sorted(numbers))) for topic, numbers in asked.items()]
        )

    def _next_slice(self) -> Iterator[tuple[str, range]]:
        """Topics with reassignments, from where the last slice ended."""
        left = MOST
        topics = sorted(self._state.reassigning)
        at = bisect_right(topics, self._last_topic)
        for topic in topics[at:] + topics[:at]:
            size = len(self._state.partitions.get(topic, ()))
            if left < MOST and size > left:
                break
            left -= size
            self._last_topic = topic
            yield topic, range(size)

    def _forget(self) -> None:
        """What has arrived counts only while it moves."""
        partition = self._state.partition
        self._arrived = {
            (key, broker): size
            for (key, broker), size in self._arrived.items()
            if (known := partition(*key)) is not None and broker in known.adding
        }

    def _take(
        self,
        broker: int,
        request: DescribeLogDirsRequest,
        response: DescribeLogDirsResponse,
        sizes: dict[TopicPartition, int],
        disks: dict[int, list[Disk]],
    ) -> None:
        found = []
        for row in response.results:
            if row.error_code != ErrorCode.NONE:
                continue
            replicas = 0
            for topic in row.topics:
                replicas += len(topic.partitions)
                for part in topic.partitions:
                    if not part.is_future_key:
                        self._one(
                            broker,
                            TopicPartition(topic.name, part.partition_index),
                            part.partition_size,
                            sizes,
                        )
            found.append(
                Disk(
                    row.log_dir, row.total_bytes, row.usable_bytes, replicas if request.topics is None else 0
                )
            )
        disks[broker] = found

    def _one(self, broker: int, key: TopicPartition, size: int, sizes: dict[TopicPartition, int]) -> None:
        partition = self._state.partition(*key)
        if partition is None:
            return
        if broker == partition.leader:
            sizes[key] = size
        if broker in partition.adding:
            self._arrived[key, broker] = Received(size, self._clock.now())
