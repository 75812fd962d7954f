"""The audit log of several instances on a real cluster outlives each of them."""

from kafka import KafkaConsumer, TopicPartition

from backends.upstream.client import UpstreamClient
from tests.upstream.instances import Instance
from tests.upstream.test_instances import eventually, limit, pair, role
from tools.kafka_cluster import KafkaCluster

__all__ = ["pair"]


def actions(instance: Instance) -> list[tuple[int, str]]:
    return [(row["id"], row["action"]) for row in instance.get("/v1/audit")["entries"]]


async def test_entries_are_shown_by_the_next_active_instance(
    pair: tuple[Instance, Instance], client: UpstreamClient
) -> None:
    first, second = pair
    await limit(first.bootstrap, "3")
    await limit(second.bootstrap, "4")
    eventually(lambda: actions(first), [(2, "limits"), (1, "limits")])
    first.kill()
    eventually(lambda: role(second), "role: active")
    await limit(second.bootstrap, "5")
    eventually(lambda: actions(second), [(3, "limits"), (2, "limits"), (1, "limits")])


async def test_entries_are_in_the_audit_topic(pair: tuple[Instance, Instance], kafka: KafkaCluster) -> None:
    first, _ = pair
    await limit(first.bootstrap, "3")
    partition = TopicPartition(f"{first.topic}_audit", 0)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", group_id=None)
    consumer.assign([partition])
    eventually(lambda: [row.key for rows in consumer.poll(1000).values() for row in rows], [b'["audit",1]'])
    consumer.close()
