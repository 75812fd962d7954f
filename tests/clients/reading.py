"""Read partitions to their end with kafka-python."""

import time
from typing import Any

from kafka import KafkaConsumer, TopicPartition

READ_SECONDS = 60

NEW_METADATA = {"metadata_max_age_ms": 1000}
"""A consumer of kafka-python 3.0 that looks for the end of a log with old metadata asks the former leader
again and again, without asking for new metadata: until a timeout, or for ever where it has none."""


def read_to_end(topic: str, partitions: int, **settings: Any) -> dict[int, list[bytes]]:
    """Return the values of all records by partition, in order. `settings` are those of kafka-python.

    Raises TimeoutError after READ_SECONDS.
    """
    deadline = time.monotonic() + READ_SECONDS
    consumer = KafkaConsumer(auto_offset_reset="earliest", group_id=None, **NEW_METADATA, **settings)
    values: dict[int, list[bytes]] = {partition: [] for partition in range(partitions)}
    try:
        assigned = [TopicPartition(topic, partition) for partition in range(partitions)]
        consumer.assign(assigned)
        ends = consumer.end_offsets(assigned, timeout_ms=READ_SECONDS * 1000)
        consumer.seek_to_beginning(*assigned)
        # A position is not known, which is None, if it was not found in time.
        while any((consumer.position(each, timeout_ms=1000) or 0) < ends[each] for each in assigned):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} could not be read to its end within {READ_SECONDS} s")
            for read, records in consumer.poll(timeout_ms=200).items():
                values[read.partition] += [record.value for record in records]
    finally:
        consumer.close()
    return values
