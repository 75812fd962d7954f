"""Load during a scenario: a producer, and a consumer that checks every record and the order."""

from kafka import KafkaProducer

from tests.clients.in_thread import InThread
from tests.clients.reading import READ_SECONDS, read_to_end

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
        self._producer.flush(READ_SECONDS)
        self._producer.close(READ_SECONDS)

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
        read = read_to_end(self._topic, self._partitions, **self._cluster)
        return {
            partition: [int(value.rstrip(b".")) for value in values if not value.startswith(FILLER)]
            for partition, values in read.items()
        }
