"""The measured load of a real Kafka, compared with what was written and committed in the same time.

Nothing is written at the first and at the last sample, so the sums are those of the test, however slow the
machine is. A sample is taken every 5 s, offsets are read every 10 s, and the broker deletes every second.
`--log-cli-level info` shows the errors.
"""

import asyncio
import logging
from collections.abc import Iterator

import numpy as np
import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from backends.client.handshake import ClientSettings
from backends.load import columns
from backends.load.asking import BrokerFrames
from backends.load.profile_file import ProfileFile
from backends.load.sampler import Sampler, Timing
from backends.prometheus.source import Prometheus
from backends.upstream.client import UpstreamClient
from common.clock import RealClock, wall_clock
from common.off_loop import WorkerThread
from common.tasks import cancel, spawn
from controller.model.cluster import Broker, Partition, Topic
from controller.modes import GATEWAY
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import NO_PRODUCER, BatchRecord, Producer, encode_batch
from tests.upstream.conftest import bootstrap
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec

log = logging.getLogger(__name__)

pytestmark = pytest.mark.timeout(300)

TIMING = Timing(sample=5, groups=10, window=1_000, timeout=20)
ROUNDS, PAUSE = 9, 0.1
TOPICS = {
    "small": (4, 1_000, {}),
    "large": (1, 100_000, {}),
    "deleted": (12, 10_000, {"segment.bytes": "1048576", "retention.bytes": "8388608"}),
}
"""Records of a batch, their bytes, and configs."""


@pytest.fixture(scope="module")
def cleaning() -> Iterator[KafkaCluster]:
    """Two brokers that delete and compact all the time."""
    settings = {
        "log.retention.check.interval.ms": "1000",
        "log.cleaner.backoff.ms": "1000",
        "log.initial.task.delay.ms": "1000",
    }
    with running_kafka(Spec(2, "4.1", settings=settings)) as cluster:
        yield cluster


class Written:
    """What was written to a topic."""

    def __init__(self) -> None:
        self.bytes = self.records = 0


async def write(client: UpstreamClient, topic: str, written: Written) -> None:
    """Write batches until cancelled."""
    count, size, _ = TOPICS[topic]
    number = 0
    rng = np.random.default_rng(29)
    while True:
        number += 1
        keys = [f"key-{number * count + each}".encode() for each in range(count)]
        records = [BatchRecord(key, rng.bytes(size)) for key in keys]
        batch = encode_batch(records, Producer(NO_PRODUCER, -1), -1, wall_clock())
        row = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, batch)])
        answer = await client.ask(ProduceRequest(None, -1, 20_000, [row]), 1, version=9)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer
        written.bytes += len(batch)
        written.records += count
        await asyncio.sleep(PAUSE)


def commit(consumer: KafkaConsumer, records: int) -> None:
    """Commit as the offset of a group what was written to the topic `small`."""
    consumer.commit({TopicPartition("small", 0): OffsetAndMetadata(records, "", -1)})


async def rounds(sampler: Sampler, count: int) -> None:
    """Wait until so many rounds have ended."""
    seen = 0
    view = sampler.view
    while seen < count:
        await asyncio.sleep(0.1)
        seen, view = seen + (sampler.view is not view), sampler.view


@pytest.fixture
async def state(cleaning: KafkaCluster) -> State:
    """The topics, each with one partition that broker 1 leads."""
    client = UpstreamClient([bootstrap(cleaning)])
    state = State(GATEWAY, settings=SettingsState(lambda _: None))
    for broker in (1, 2):
        host, port = cleaning.address(broker).split(":")
        state.put(Broker(broker, host, int(port), None, 0))
        state.cluster.live.add(broker)
    for topic, (_, _, configs) in TOPICS.items():
        rows = [CreatableReplicaAssignment(0, (1, 2))]
        given = [CreatableTopicConfig(name, value) for name, value in configs.items()]
        created = await client.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows, given)], 30_000))
        assert created.topics[0].error_code == 0, created
        state.put(Topic(topic, topic.encode().ljust(16)))
        state.put(Partition(topic, 0, (1, 2), (1, 2), 1))
    await client.close()
    return state


async def test_what_producers_and_consumers_did_is_found(
    cleaning: KafkaCluster, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "LATE_FRACTION", 1.0)  # When an answer was made does not matter here.
    client, clock, off_loop = UpstreamClient([bootstrap(cleaning)]), RealClock(), WorkerThread()
    await client.refresh()
    servers, written = [cleaning.bootstrap], {topic: Written() for topic in TOPICS}
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id="readers", enable_auto_commit=False)
    consumer.assign([TopicPartition("small", 0)])
    await asyncio.to_thread(commit, consumer, 0)
    brokers = BrokerFrames(state, ClientSettings(), clock)
    prometheus = Prometheus(lambda: None, off_loop)
    sampler = Sampler(brokers, state, off_loop, clock, wall_clock, TIMING, ProfileFile(None), prometheus)
    run = spawn(sampler.run(), "load")
    await rounds(sampler, 1)
    tasks = [spawn(write(client, topic, each), topic) for topic, each in written.items()]
    await rounds(sampler, ROUNDS)
    await cancel(*tasks)
    await asyncio.to_thread(commit, consumer, written["small"].records)
    await rounds(sampler, 4)
    await cancel(run)
    await asyncio.to_thread(consumer.close)
    await brokers.close()
    await client.close()
    off_loop.close()
    assert list(sampler.summary.problems) == []
    samples, errors, estimated = sampler.samples, {}, {}
    for topic, each in written.items():
        row = samples.layout.row(topic, 0)
        errors[topic] = abs(float(samples.wrote[row]) / each.bytes - 1)
        estimated[topic] = bool(samples.estimated[row])
    read = float(samples.profile.read[samples.layout.row("small", 0)])
    errors["consumer"] = abs(read / written["small"].bytes - 1)
    log.info("errors: %s", {name: f"{error:.2%}" for name, error in errors.items()})
    assert estimated == {"small": False, "large": False, "deleted": True}
    assert max(errors["small"], errors["large"]) <= 0.02
    assert errors["deleted"] <= 0.1
    assert errors["consumer"] <= 0.05
