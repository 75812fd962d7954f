"""Tests of `Traffic`, the producer and consumer that detect lost records."""

import asyncio
from typing import Any

import pytest

from backends.upstream.client import UpstreamClient
from tests.upstream.conftest import bootstrap
from tests.upstream.topics import create, move, moving, replicas, until
from tests.upstream.traffic import Reader, Traffic
from tools.kafka_cluster import KafkaCluster

BEFORE = [(1, 2), (2, 3)]
AFTER = [(3, 4), (4, 1)]


async def test_no_record_is_lost_during_a_reassignment(client: UpstreamClient, kafka: KafkaCluster) -> None:
    topic = await create(client, BEFORE)
    servers = kafka.addresses()
    with Reader(servers, topic, 2) as reader:
        with Traffic(servers, topic, 2) as traffic:
            await asyncio.to_thread(traffic.wait_for, 50)
            assert (await move(client, topic, AFTER)).error_code == 0
            await until(lambda: replicas(client, topic), AFTER)
            await until(lambda: moving(client), [])
            await asyncio.to_thread(traffic.wait_for, 50)
        await asyncio.to_thread(reader.wait_for, traffic.acknowledged)
    await asyncio.to_thread(traffic.check)
    assert sum(map(len, traffic.acknowledged.values())) >= 100


async def test_traffic_logs_in_to_a_secured_cluster(secured: KafkaCluster) -> None:
    client = UpstreamClient([bootstrap(secured)])
    topic = await create(client, [(1, 2)])
    await client.close()
    login: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "admin",
        "sasl_plain_password": "admin-secret",
    }
    with Traffic(secured.addresses("SASL_PLAINTEXT"), topic, partitions=1, **login) as traffic:
        await asyncio.to_thread(traffic.wait_for, 10)
    await asyncio.to_thread(traffic.check)


async def test_a_missing_record_is_detected(client: UpstreamClient, kafka: KafkaCluster) -> None:
    topic = await create(client, [(1, 2)])
    with Traffic(kafka.bootstrap, topic, partitions=1) as traffic:
        await asyncio.to_thread(traffic.wait_for, 10)
    traffic.acknowledged[0].append(10_000)
    with pytest.raises(AssertionError):
        await asyncio.to_thread(traffic.check)
