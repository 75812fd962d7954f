"""Load during a scenario: a producer, and a consumer that checks every record and the order."""

from collections import defaultdict

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.clients.in_thread import InThread

READ_SECONDS = 60
PAUSE_SECONDS = 0.002

FILLER = b"fill"
"""Prefix of the values that were written before the load."""


class Load(InThread):
    """An idempotent producer with acks=all that sends numbered records until the `with` block ends.

    `login`: the security settings of kafka-python.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, **login: str) -> None:
        super().__init__("load")
        self._topic, self._partitions = topic, partitions
        self._cluster = {"bootstrap_servers": bootstrap, **login}
        self._producer = KafkaProducer(
            **self._cluster, acks="all", enable_idempotence=True, delivery_timeout_ms=120_000
        )
        self.sent = 0
        """Number of records sent to each partition."""

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._producer.flush()
        self._producer.close()

    def check(self) -> None:
        """Check that every record was acknowledged and is stored once, in order."""
        assert self.errors == []
        read = self._read()
        expected = list(range(self.sent))
        assert [len(read[partition]) for partition in range(self._partitions)] == [
            self.sent
        ] * self._partitions
        assert all(numbers == expected for numbers in read.values())

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            for partition in range(self._partitions):
                value = str(self.sent).encode().ljust(200, b".")
                self._producer.send(self._topic, value, partition=partition).add_errback(self.errors.append)
            self.sent += 1

    def _read(self) -> dict[int, list[int]]:
        partitions = [TopicPartition(self._topic, number) for number in range(self._partitions)]
        consumer = KafkaConsumer(**self._cluster, auto_offset_reset="earliest", group_id=None)
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning(*partitions)
        read: dict[int, list[int]] = defaultdict(list)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            polled = consumer.poll(timeout_ms=READ_SECONDS * 1000)
            assert polled, "no more records within READ_SECONDS"
            for partition, records in polled.items():
                values = (record.value for record in records if not record.value.startswith(FILLER))
                read[partition.partition] += [int(value.rstrip(b".")) for value in values]
        consumer.close()
        return read
