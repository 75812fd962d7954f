"""The steps of AdminTour.java with confluent-kafka (librdkafka). Arguments: BOOTSTRAP TOPIC FROM.

librdkafka cannot reassign partitions, so there is no such step. Prints one line for each step.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

T = TypeVar("T")
PATIENCE_SECONDS = 30


def main(bootstrap: str, topic: str, replicas: list[int]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    cluster = admin.describe_cluster().result()
    nodes = sorted(node.id for node in cluster.nodes)
    print("brokers", nodes)
    print("controller listed", str(cluster.controller.id in nodes).lower())
    new = NewTopic(topic, num_partitions=1, replica_assignment=[replicas])
    admin.create_topics([new])[topic].result()

    def described() -> list[int]:
        description = admin.describe_topics(TopicCollection([topic]))[topic].result()
        return [node.id for node in description.partitions[0].replicas]

    print("created", retry_until(described, lambda _: True))
    entry = ConfigEntry("retention.ms", "12345", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result()
    queried = ConfigResource(ResourceType.TOPIC, topic)

    def retention() -> str:
        return str(admin.describe_configs([queried])[queried].result()["retention.ms"].value)

    print("retention", retry_until(retention, lambda answer: answer == "12345"))
    admin.delete_topics([topic])[topic].result()
    print("deleted")


def retry_until(ask: Callable[[], T], accepted: Callable[[T], bool]) -> T:
    """Repeat the request until the answer is accepted or PATIENCE_SECONDS are over.

    A broker may learn of a change late.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            answer = ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        else:
            if accepted(answer) or time.monotonic() > deadline:
                return answer
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(part) for part in sys.argv[3].split(",")])
