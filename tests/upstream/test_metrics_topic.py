"""Cruise Control's metrics topic in a real Kafka, with reports that a real producer packs with gzip."""

import time

from kafka import KafkaProducer

from backends.client.handshake import ClientSettings
from backends.load.asking import BrokerFrames
from backends.load.problems import Problems
from backends.load_sources.metrics_topic import WINDOW_MS, MetricsTopic
from backends.load_sources.reports import CPU_OF_BROKER, TOPIC_IN, TOPIC_OUT
from backends.load_sources.told import Expected, Told
from common.clock import RealClock
from common.off_loop import InlineExecutor
from controller.model.cluster import Broker
from controller.modes import GATEWAY
from controller.state.settings import SettingsState
from controller.state.state import State
from tests.backends.load_sources.test_metrics_topic import of_broker, of_topic
from tests.clients.cluster import Cluster
from tools.kafka_cluster import KafkaCluster

REPORTS = 2_000
"""Of topics that are not known, with each report: they make several fetches of several batches."""


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


async def told(kafka: KafkaCluster, topic: str, leaders: list[int], problems: Problems) -> Told | None:
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


async def test_the_reports_of_a_real_topic_are_read(kafka: KafkaCluster, direct: Cluster) -> None:
    topic, problems, now = direct.create_topic([[1, 2], [2, 3]], filled=False), Problems(), time.time()
    write_reports(kafka, topic, int(now * 1000) - 2 * WINDOW_MS)
    write_reports(kafka, topic, int(now * 1000))
    found = await told(kafka, topic, [1, 2], problems)
    assert found is not None
    assert list(problems.lines()) == []
    assert found.bytes_out == {broker: {"hot.one": 1_000.0 * broker} for broker in kafka.brokers}
    assert found.cpu == {broker: 0.125 * broker for broker in kafka.brokers}
