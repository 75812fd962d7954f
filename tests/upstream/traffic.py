"""Producers and consumers of kafka-python that detect lost records during reassignments."""

import time
from typing import Any

from kafka import KafkaConsumer, KafkaProducer

from tests.clients.in_thread import InThread
from tests.clients.reading import NEW_METADATA, READ_SECONDS, read_to_end

Numbers = dict[int, list[int]]
"""The numbers of the records of each partition, in order."""


class Traffic(InThread):
    """Sends numbered records to all partitions in turn during the `with` block; idempotent, acks=all.

    `security`: the security settings of kafka-python, e.g. `security_protocol` and `sasl_mechanism`.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        *,
        per_second: int = 100,
        size: int = 1000,
        **security: Any,
    ) -> None:
        super().__init__("traffic")
        self.acknowledged: Numbers = {partition: [] for partition in range(partitions)}
        self._bootstrap, self._topic, self._security = bootstrap, topic, security
        self._pause = 1 / per_second
        self._padding = bytes(size - 8)

    def wait_for(self, records: int) -> None:
        """Wait until this number of further records is acknowledged.

        Raises TimeoutError, or the producer's error.
        """
        expected = self._count() + records
        deadline = time.monotonic() + READ_SECONDS
        while self._count() < expected:
            if self.errors:
                raise self.errors[0]
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expected - self._count()} of {records} records were not acknowledged")
            time.sleep(0.01)

    def check(self) -> None:
        """Read all records: each acknowledged record is stored once, and in order."""
        assert self.errors == []
        read = read_back(self._bootstrap, self._topic, len(self.acknowledged), **self._security)
        assert read == self.acknowledged

    def _count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def _run(self) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap, acks="all", enable_idempotence=True, **self._security
        )
        number = 0
        try:
            while not self._stop.wait(self._pause) and not self.errors:
                partition = number % len(self.acknowledged)
                self._send(producer, partition, number)
                number += 1
            producer.flush(READ_SECONDS)
        except Exception as error:  # noqa: BLE001 (the test thread raises it)
            self.errors.append(error)
        finally:
            producer.close(READ_SECONDS)

    def _send(self, producer: Any, partition: int, number: int) -> None:
        sent = producer.send(self._topic, number.to_bytes(8, "big") + self._padding, partition=partition)
        sent.add_callback(lambda _: self.acknowledged[partition].append(number))
        sent.add_errback(self.errors.append)


def number_of(value: bytes) -> int:
    """Return the number of a record that `Traffic` has sent."""
    return int.from_bytes(value[:8], "big")


def read_back(bootstrap: str, topic: str, partitions: int, **security: Any) -> Numbers:
    """Return the numbers of all records of the topic. Raises TimeoutError."""
    read = read_to_end(topic, partitions, bootstrap_servers=bootstrap, **security)
    return {partition: list(map(number_of, values)) for partition, values in read.items()}


class Reader(InThread):
    """A consumer in a group, which reads the numbered records of `Traffic` during the `with` block."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__("reader")
        self.read: Numbers = {partition: [] for partition in range(partitions)}
        self._bootstrap, self._topic = bootstrap, topic

    def wait_for(self, expected: Numbers) -> None:
        """Wait until it has read the expected records, each first in order.

        A member that its group has lost reads again what it had not committed. `Traffic.check` finds records
        that are stored twice.
        """
        deadline = time.monotonic() + READ_SECONDS
        while self._first_reads() != expected and not self.errors and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self.errors == []
        found = self._first_reads()
        assert found == expected, [(len(found[each]), len(expected[each])) for each in expected]

    def _first_reads(self) -> Numbers:
        return {partition: list(dict.fromkeys(numbers)) for partition, numbers in self.read.items()}

    def _run(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=f"of-{self._topic}",
            auto_offset_reset="earliest",
            **NEW_METADATA,  # The broker that answers first may not know a new topic yet.
        )
        try:
            consumer.subscribe([self._topic])
            while not self._stop.is_set():
                for partition, records in consumer.poll(timeout_ms=200).items():
                    self.read[partition.partition] += [number_of(record.value) for record in records]
        except Exception as error:  # noqa: BLE001 (the test thread reports it)
            self.errors.append(error)
        finally:
            consumer.close()
