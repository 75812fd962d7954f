"""Producers and consumers that we did not write, to see that nothing is lost while partitions move: kafka-python's."""

import threading
import time
from typing import Any, Self

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

Numbers = dict[int, list[int]]
"""Partition -> the numbers of its records, in their order."""

READ_SECONDS = 60


class Traffic:
    """Sends numbered records to all partitions by turns while it is entered; idempotent, acks=all.

    `security` is what kafka-python wants beside the address: `security_protocol`, `sasl_mechanism` and so on.
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
        self.acknowledged: Numbers = {partition: [] for partition in range(partitions)}
        self.errors: list[BaseException] = []
        self._bootstrap, self._topic, self._security = bootstrap, topic, security
        self._pause = 1 / per_second
        self._padding = bytes(size - 8)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="traffic")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for(self, records: int) -> None:
        """Return when that many more were acknowledged. Raises TimeoutError, or the producer's error."""
        expected = self._count() + records
        deadline = time.monotonic() + READ_SECONDS
        while self._count() < expected:
            if self.errors:
                raise self.errors[0]
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expected - self._count()} of {records} records were not acknowledged")
            time.sleep(0.01)

    def check(self) -> None:
        """ReadRequest everything back: each acknowledged record is there once, and in its topic_partition."""
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
        except Exception as error:  # noqa: BLE001 (told to the test, which is another thread)
            self.errors.append(error)
        finally:
            producer.close()

    def _send(self, producer: Any, partition: int, number: int) -> None:
        sent = producer.send(self._topic, number.to_bytes(8, "big") + self._padding, partition=partition)
        sent.add_callback(lambda _: self.acknowledged[partition].append(number))
        sent.add_errback(self.errors.append)


def read_back(bootstrap: str, topic: str, partitions: int, **security: Any) -> Numbers:
    """All that is in the topic. Raises TimeoutError when it cannot be read to its end."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, **security)
    numbers: Numbers = {partition: [] for partition in range(partitions)}
    try:
        partitions_to_read = [TopicPartition(topic, partition) for partition in range(partitions)]
        consumer.assign(partitions_to_read)
        consumer.seek_to_beginning(*partitions_to_read)
        ends = consumer.end_offsets(partitions_to_read)
        deadline = time.monotonic() + READ_SECONDS
        while any(
            consumer.position(topic_partition) < ends[topic_partition]
            for topic_partition in partitions_to_read
        ):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} could not be read to its end within {READ_SECONDS} s")
            for topic_partition, records in consumer.poll(timeout_ms=200).items():
                numbers[topic_partition.partition] += (
                    int.from_bytes(record.value[:8], "big") for record in records
                )
    finally:
        consumer.close()
    return numbers
