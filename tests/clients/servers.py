"""What the scenarios run against: reassignd with its embedded cluster or before a real Kafka 4.1, and that Kafka alone."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kafka import KafkaProducer

from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SMALL_FETCHES, Spec
from tools.processes import Reassignd

PARTITION_BYTES = 200_000
"""The size of each partition: minutes under the throttle that holds moves in flight, next to nothing without one."""

EMBEDDED_OVERRIDES = {
    "embedded.partition.bytes": str(PARTITION_BYTES),
    "embedded.produce.bytes.per.second": "0",
    "embedded.network.bytes.per.second": "100000000",
}


@dataclass(frozen=True)
class Server:
    """A server under test. Where the two kinds differ on purpose, a test looks at `kind`."""

    kind: Literal["reassignd", "kafka"]
    bootstrap: str
    embedded: bool = False

    def fill(self, topic: str, partitions: int) -> None:
        """Gives each partition PARTITION_BYTES. The embedded cluster's have them from the start."""
        if self.embedded:
            return
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, acks="all")
        for partition in range(partitions):
            for _ in range(PARTITION_BYTES // 8_000):
                producer.send(topic, value=bytes(8_000), partition=partition)
        producer.flush()
        producer.close()


def embedded(data_dir: Path) -> Reassignd:
    """A reassignd with partitions of that size, not started yet."""
    return Reassignd(data_dir, EMBEDDED_OVERRIDES)


def gateway(data_dir: Path, kafka: KafkaCluster) -> Reassignd:
    """A reassignd before this Kafka, not started yet."""
    return Reassignd(data_dir, {}, len(kafka.brokers), kafka.addresses())


@contextlib.contextmanager
def running_server(kind: str, folder: Path) -> Iterator[Server]:
    """A server of that kind, with its files in the folder, for the length of a `with`."""
    with contextlib.ExitStack() as stack:
        if kind == "embedded":
            reassignd = embedded(folder / "data")
        else:
            kafka = stack.enter_context(running_kafka(Spec(settings=SMALL_FETCHES), folder=folder))
            if kind == "kafka":
                yield Server("kafka", kafka.bootstrap)
                return
            reassignd = gateway(folder / "data", kafka)
        reassignd.start()
        yield Server("reassignd", reassignd.bootstrap, embedded=kind == "embedded")
        assert reassignd.stop() == 0
