"""Measures the latency of brokers.

A small produce with acks=all to a partition of each broker, several times a second.

The topic of the canary has one partition for each broker, with replicas on the next two brokers. Moving
replicas share fetchers with those in sync: with three replicas, as most topics have, the canary sees more of
them. It is created when pace is switched on, unless it exists. Its records are of no use, so they are kept
for minutes only.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError, RequestLostError
from backends.measuring.pace import Taken
from common.clock import Clock
from common.error_codes import ErrorCode, error_name
from common.tasks import cancel
from controller.cluster.cluster_values import cluster_value
from controller.messages.events import CreateTopics, NewTopic
from controller.model.cluster import Partition, Replicas
from controller.model.configs import PACE_TOPIC
from controller.pace.readings import Probe, Source
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.codec.schema import Request, Response
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import NO_PRODUCER, BatchRecord, Producer, encode_batch

SETTINGS = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",
    "retention.bytes": "1048576",
    "retention.ms": "600000",
    "segment.bytes": "1048576",
}
"""Configs of the new topic. A segment of 1 MiB is the smallest that Kafka 4 permits."""
REPLICAS = 3
"""At most. If all brokers had a replica of all partitions, it would not show which one is slow."""
CREATE_MS = 30_000
REFUSED = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})

CreateCanary = Callable[[str, Sequence[int]], Awaitable[str]]
"""Creates the topic for these brokers. Returns why it could not be created, in one line; empty if it exists
now."""


def assignments(brokers: Sequence[int]) -> Mapping[int, Replicas]:
    """Return the replicas of each partition: partition i is led by the broker at position i."""
    ring = sorted(brokers)
    count = min(REPLICAS, max(2, len(ring) - 1), len(ring))
    return {
        index: tuple(ring[(index + step) % len(ring)] for step in range(count)) for index in range(len(ring))
    }


def at_upstream(client: BrokerClient) -> CreateCanary:
    """Return how the topic is created in a running Kafka."""

    async def create(name: str, brokers: Sequence[int]) -> str:
        rows = [CreatableReplicaAssignment(index, each) for index, each in assignments(brokers).items()]
        configs = [CreatableTopicConfig(config, value) for config, value in SETTINGS.items()]
        request = CreateTopicsRequest([CreatableTopic(name, -1, -1, rows, configs)], CREATE_MS)
        try:
            (row,) = (await client.ask(request)).topics
        except BrokerError as error:
            return f"the canary topic {name} cannot be created: {error}"
        return problem(name, row.error_code, row.error_message)

    return create


def by_controller(submit: SubmitEvent, new_id: Callable[[], bytes]) -> CreateCanary:
    """Return how the topic is created where reassignd is the controller."""

    async def create(name: str, brokers: Sequence[int]) -> str:
        topic = NewTopic(name, new_id(), assignments=assignments(brokers), configs=SETTINGS)
        (row,) = await submit(CreateTopics([topic]))
        return problem(name, row.outcome.error, row.outcome.message)

    return create


def problem(name: str, code: int, message: str | None) -> str:
    """Return why the topic cannot be used, and what to do."""
    if code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
        return ""
    if code in REFUSED:
        return f"the canary topic {name} is refused: grant CREATE and WRITE on it to the user of reassignd"
    return f"the canary topic {name} cannot be used: {message or error_name(code)}"


log = logging.getLogger(__name__)

BUSY_SECONDS, IDLE_SECONDS = 0.15, 0.5
"""Pause between two probes of a broker, while something moves and otherwise."""
LEARN_SECONDS = 30.0
"""For so long it probes often at first, so that the idle level is soon known."""
MOST_PER_SECOND = 100
"""Probes of all brokers together. In a large cluster each broker is probed less often."""
PENDING_SECONDS = 0.2
"""A request that is not answered yet counts with its time until now, if that is longer than this."""
LATE_SECONDS = 3.0
"""A request without an answer after this time is a timeout."""
CREATE_SECONDS = 60.0
"""Pause between two attempts to create the topic."""
REFRESH_SECONDS = 10.0
NOTHING_SECONDS = 10.0
"""After this time without an answer of any broker, or with refusals only, something else is followed."""
RECORD_BYTES = 100


class CanaryClient(Protocol):
    """Sends requests to brokers, over connections that nothing else uses."""

    async def ask(self, request: Request[Response], broker: int | None = None) -> Response:
        """See `BrokerClient.ask`."""
        ...

    async def refresh(self) -> None:
        """Update the addresses of the brokers. Raises BrokerError."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class _Pending(NamedTuple):
    partition: Partition | None
    began: float


class Canary:
    """Implements `Probes`. `now_ms` gives the timestamps of records."""

    def __init__(
        self,
        client: CanaryClient,
        state: State,
        create: CreateCanary,
        clock: Clock,
        now_ms: Callable[[], int],
    ) -> None:
        self._client, self._state, self._create = client, state, create
        self._clock, self._now_ms = clock, now_ms
        self._latencies: dict[int, list[float]] = {}
        """By broker, in ms, since the last `take`."""
        self._failed: dict[int, int] = {}
        self._pending: dict[int, _Pending] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._problem, self._was_used = "", False
        self._refusal = ""
        """Why the last record was refused; empty if it was accepted."""
        self._measured_at: float | None = None
        """When there were latencies last, or when `take` was called first; None while it does not run."""
        self._create_at = self._refresh_at = self._often_until = float("-inf")

    async def run(self) -> None:
        """See `Probes.run`: probe the brokers in turn."""
        self._often_until = self._clock.now() + LEARN_SECONDS
        # What was measured before the last stop may be hours old.
        self._latencies.clear()
        self._failed.clear()
        try:
            while True:
                await self._prepare()
                await self._round()
        finally:
            await cancel(*self._tasks)
            self._pending.clear()
            self._measured_at = None

    def take(self) -> Taken:
        """See `Probes.take`. A request that takes long counts with the time until now."""
        now, partitions = self._clock.now(), self._partitions()
        probes = []
        for broker in sorted(self._state.cluster.live):
            latencies = self._latencies.pop(broker, [])
            pending, late = self._pending.get(broker), 0
            if pending is not None and now - pending.began > PENDING_SECONDS:
                latencies.append((now - pending.began) * 1000)
                late = int(now - pending.began > LATE_SECONDS)
            partition = partitions.get(broker)
            followers = () if partition is None else tuple(r for r in partition.replicas if r != broker)
            probes.append(Probe(broker, followers, latencies, late + self._failed.pop(broker, 0)))
        self._was_used |= bool(partitions)
        source = Source.CANARY if partitions else Source.ROUND_TRIPS
        why = self._problem
        if not why and not partitions and self._was_used:
            why = f"the canary topic {self._topic} is missing"
        if self._measures_nothing(now, probes):
            source, why = Source.NONE, why or "no broker answers the canary"
        return Taken(source, probes, why and f"{why}; pace follows {source.value}")

    def _measures_nothing(self, now: float, probes: Sequence[Probe]) -> bool:
        """Return whether nothing is measured.

        If records are refused, round trips are measured from now on.
        """
        if self._measured_at is None or any(probe.latencies for probe in probes):
            self._measured_at = now
        elif now - self._measured_at > NOTHING_SECONDS and self._refusal:
            self._note(self._refusal)
            self._refusal, self._measured_at = "", now
        return now - self._measured_at > NOTHING_SECONDS

    async def close(self) -> None:
        """See `Probes.close`."""
        await self._client.close()

    @property
    def _topic(self) -> str:
        return cluster_value(self._state, PACE_TOPIC)

    def _partitions(self) -> Mapping[int, Partition]:
        """Return by broker the first partition of the canary that it leads.

        The result is empty while the canary is not used.
        """
        return {} if self._problem else self._led()

    def _led(self) -> Mapping[int, Partition]:
        found: dict[int, Partition] = {}
        for partition in self._state.cluster.partitions.get(self._topic, ()):
            if partition.leader in self._state.cluster.live:
                found.setdefault(partition.leader, partition)
        return found

    async def _prepare(self) -> None:
        """Create the topic if it is missing, and update addresses."""
        now, name = self._clock.now(), self._topic
        if now - self._refresh_at >= REFRESH_SECONDS:
            self._refresh_at = now
            try:
                await self._client.refresh()
            except BrokerError as error:
                log.debug("the canary cannot refresh its brokers: %s", error)
        if now - self._create_at < CREATE_SECONDS or not self._state.cluster.live:
            return
        if name in self._state.cluster.topics and not self._problem:
            return
        self._create_at = now
        why = await self._create(name, sorted(self._state.cluster.live))
        self._note(why or await self._refused_still())

    async def _refused_still(self) -> str:
        """Return why records are still refused if they were; empty if one is accepted now."""
        led = self._led() if self._problem else {}
        for broker, partition in led.items():
            try:
                code = await self._produce(broker, partition)
            except BrokerError:
                return self._problem
            return problem(partition.topic, code, None)
        return ""

    def _note(self, text: str) -> None:
        if text and text != self._problem:
            log.warning("%s; pace follows round trips of requests", text)
        self._problem = text

    async def _round(self) -> None:
        """Probe each live broker once, one after the other with equal pauses."""
        brokers = sorted(self._state.cluster.live)
        state = self._state
        often = state.in_flight or state.pace.pacer.comparing or self._clock.now() < self._often_until
        pause = BUSY_SECONDS if often else IDLE_SECONDS
        pause = max(pause, len(brokers) / MOST_PER_SECOND)
        if not brokers:
            await self._clock.sleep(pause)
        for broker in brokers:
            if broker not in self._pending:
                task = asyncio.create_task(self._probe(broker, self._partitions().get(broker)), name="canary")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            await self._clock.sleep(pause / len(brokers))

    async def _probe(self, broker: int, partition: Partition | None) -> None:
        began = self._clock.now()
        self._pending[broker] = _Pending(partition, began)
        try:
            if partition is not None:
                answered = self._is_accepted(broker, partition.topic, await self._produce(broker, partition))
            else:
                await self._client.ask(MetadataRequest((), allow_auto_topic_creation=False), broker)
                answered = True
            if answered:
                latency = (self._clock.now() - began) * 1000
                self._latencies.setdefault(broker, []).append(latency)
        except BrokerError as error:
            # A broker that is not there is found offline by others.
            log.debug("the canary gets no answer: %s", error)
        finally:
            self._pending.pop(broker, None)

    async def _produce(self, broker: int, partition: Partition) -> int:
        """Produce a record; return the error code."""
        topic = self._state.cluster.topics.get(partition.topic)
        record = BatchRecord(None, bytes(RECORD_BYTES))
        data = encode_batch([record], Producer(NO_PRODUCER, -1), -1, self._now_ms(), False)
        rows = (PartitionProduceData(partition.partition, data),)
        topic_id = bytes(16) if topic is None else topic.id
        request = ProduceRequest(
            None, -1, round(LATE_SECONDS * 1000), (TopicProduceData(partition.topic, topic_id, rows),)
        )
        answer = await self._client.ask(request, broker)
        for topic_answer in answer.responses:
            for row in topic_answer.partition_responses:
                return int(row.error_code)
        raise RequestLostError(f"the answer of broker {broker} to Produce has no partition")

    def _is_accepted(self, broker: int, topic: str, code: int) -> bool:
        """Return whether a record was accepted; note why not."""
        self._refusal = ""
        if code == ErrorCode.REQUEST_TIMED_OUT:
            self._failed[broker] = self._failed.get(broker, 0) + 1
        elif code in REFUSED:
            self._note(problem(topic, code, None))
        elif code != ErrorCode.NONE:
            self._refusal = problem(topic, code, None)
        return code == ErrorCode.NONE
