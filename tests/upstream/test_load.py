"""The measured load of a real Kafka, compared with what was written and committed in the same time.

Nothing is written at the first and at the last sample, so the sums are those of the test, however slow the
machine is. A sample is taken every 5 s, offsets are read every 10 s, and the broker deletes every second.
`python -m bench.load_truth` does the same for longer, with the broker's own counters beside it.
"""

import time
from collections.abc import Iterator

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic

from backends.client.handshake import ClientSettings
from backends.load import columns
from backends.load.asking import BrokerFrames
from backends.load.problems import Problems
from backends.load.sampler import Timing
from backends.load_sources.metrics_topic import WINDOW_MS, MetricsTopic
from backends.load_sources.reports import CPU_OF_BROKER, TOPIC_IN, TOPIC_OUT
from backends.load_sources.source import Expected, Figures
from bench.load_truth import CLEANING, LOADS, compare
from common.clock import RealClock
from common.off_loop import InlineExecutor
from controller.model.cluster import Broker
from controller.modes import GATEWAY
from controller.state.settings import SettingsState
from controller.state.state import State
from tests.backends.load_sources.test_metrics_topic import of_broker, of_topic
from tools.kafka_cluster import KafkaCluster, admin_client, running_kafka
from tools.kafka_settings import Spec

pytestmark = pytest.mark.timeout(300)

TIMING = Timing(sample=5, groups=10, window=1_000, timeout=20)
ROUNDS = 9
REPORTS = 2_000
"""Of topics that are not known, with each report: they make several fetches of several batches."""


@pytest.fixture(scope="module")
def cleaning() -> Iterator[KafkaCluster]:
    """Two brokers that delete and compact all the time."""
    settings = CLEANING | {"log.retention.check.interval.ms": "1000"}
    with running_kafka(Spec(2, "4.1", settings=settings)) as cluster:
        yield cluster


async def test_what_producers_and_consumers_did_is_found(
    cleaning: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "LATE_FRACTION", 1.0)  # When an answer was made does not matter here.
    outcome = await compare(cleaning, TIMING, ROUNDS)
    assert outcome.problems == []
    exact = {each.topic: each.error for each in outcome.found if not each.estimated}
    estimated = {each.topic: each.error for each in outcome.found if each.estimated}
    assert estimated.keys() == {"deleted", "compacted", "mixed"}
    assert exact.keys() == LOADS.keys() - estimated.keys()
    assert max(exact.values()) <= 0.02, exact
    assert max(estimated[each] for each in ("deleted", "compacted")) <= 0.1, estimated
    # A few short intervals tell less of records of 0 to 20 KB than the minutes of a window.
    assert estimated["mixed"] <= 0.2, estimated
    assert outcome.consumer <= 0.05
    # Only the first answers of each broker are walked by topic: sizes, and offsets of the one that leads.
    assert outcome.walked <= 6


def write_reports(kafka: KafkaCluster, topic: str, at_ms: int) -> None:
    producer = KafkaProducer(bootstrap_servers=[kafka.bootstrap], compression_type="gzip", linger_ms=50)
    for broker in kafka.brokers:
        values = [
            of_topic(TOPIC_OUT, broker, "hot_one", 1_000.0 * broker, at_ms),
            of_topic(TOPIC_IN, broker, "hot_one", 5.0, at_ms),
            of_broker(CPU_OF_BROKER, broker, 0.125 * broker, at_ms),
            *(of_topic(TOPIC_OUT, broker, f"other-{each}", 1.0, at_ms) for each in range(REPORTS)),
        ]
        for value in values:
            producer.send(topic, value, partition=broker % 2, timestamp_ms=at_ms)
    producer.flush()
    producer.close()


async def told(kafka: KafkaCluster, topic: str, leaders: list[int], problems: Problems) -> Figures | None:
    state = State(GATEWAY, settings=SettingsState(lambda _: None))
    for broker in kafka.brokers:
        host, port = kafka.address(broker).split(":")
        state.put(Broker(broker, host, int(port), None, 0))
    brokers = BrokerFrames(state, ClientSettings(), RealClock())
    source = MetricsTopic(lambda: topic, lambda _: leaders, brokers.exchange, InlineExecutor())
    expected = Expected(dict.fromkeys(kafka.brokers, "127.0.0.1"), {}, ["hot.one"])
    try:
        return await source.measure(expected, lambda: int(time.time() * 1000), problems.add)
    finally:
        await brokers.close()


async def test_the_reports_of_a_real_topic_are_read(cleaning: KafkaCluster) -> None:
    topic, problems, now = "reports", Problems(), int(time.time() * 1000)
    with admin_client(cleaning.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, replica_assignments={0: [1, 2], 1: [2, 1]})])
    write_reports(cleaning, topic, now - 2 * WINDOW_MS)
    write_reports(cleaning, topic, now)
    found = await told(cleaning, topic, [1, 2], problems)
    assert found is not None
    assert list(problems.lines()) == []
    assert found.bytes_out == {broker: {"hot.one": 1_000.0 * broker} for broker in cleaning.brokers}
    assert found.cpu == {broker: 0.125 * broker for broker in cleaning.brokers}
