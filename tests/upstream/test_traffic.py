"""A stock producer and consumer around a move: the yardstick for all that moves through the gateway."""

import asyncio

from backends.upstream.client import UpstreamClient
from tests.upstream.topics import create, move, moving, replicas, until
from tests.upstream.traffic import Traffic
from tools.kafka_cluster import KafkaCluster

BEFORE = [(1, 2), (2, 3)]
AFTER = [(3, 4), (4, 1)]


async def test_nothing_is_lost_while_partitions_move(client: UpstreamClient, kafka: KafkaCluster) -> None:
    topic = await create(client, BEFORE)
    with Traffic(kafka.addresses(), topic, partitions=2) as traffic:
        await asyncio.to_thread(traffic.wait_for, 50)
        assert (await move(client, topic, AFTER)).error_code == 0
        await until(lambda: replicas(client, topic), AFTER)
        await until(lambda: moving(client), [])
        await asyncio.to_thread(traffic.wait_for, 50)
    await asyncio.to_thread(traffic.check)
    assert sum(map(len, traffic.acknowledged.values())) >= 100
