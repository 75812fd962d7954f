"""Servers under test: the embedded cluster, reassignd in front of Kafka 4.1, and Kafka 4.1 itself."""

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
"""Size of each partition: copying takes minutes with the SLOW throttle and a moment without it."""

EMBEDDED_OVERRIDES = {
    "embedded.partition.bytes": str(PARTITION_BYTES),
    "embedded.produce.bytes.per.second": "0",
    "embedded.network.bytes.per.second": "100000000",
}


@dataclass(frozen=True)
class Server:
    """A server under test.

    `kind` selects the expected result where reassignd differs from Kafka on purpose.
    """

    kind: Literal["reassignd", "kafka"]
    bootstrap: str
    embedded: bool = False

    def fill(self, topic: str, partitions: int) -> None:
        """Write PARTITION_BYTES to each partition.

        Partitions of the embedded cluster have this size from the start.
        """
        if self.embedded:
            return
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, acks="all")
        for partition in range(partitions):
            for _ in range(PARTITION_BYTES // 8_000):
                producer.send(topic, value=bytes(8_000), partition=partition)
        producer.flush()
        producer.close()


def embedded(data_dir: Path) -> Reassignd:
    """Return a reassignd with the embedded cluster; it is not started."""
    return Reassignd(data_dir, EMBEDDED_OVERRIDES)


def gateway(data_dir: Path, kafka: KafkaCluster) -> Reassignd:
    """Return a reassignd in front of this Kafka cluster; it is not started."""
    return Reassignd(data_dir, {}, len(kafka.brokers), kafka.addresses())


@contextlib.contextmanager
def running_server(kind: str, folder: Path) -> Iterator[Server]:
    """Run a server of this kind with its files in the folder: embedded, gateway or kafka."""
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
